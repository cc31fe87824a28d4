"""A reader's run held against the run that ships."""

import json

import polars as pl
from typer.testing import CliRunner

from report_built import Built, placed
from report_run import RUN_ID
from tierwise.analysis.views import open_views
from tierwise.cli import app
from tierwise.core import paths
from tierwise.report.page import open_shared
from tierwise.report.reference import CELL, compare
from tierwise.report.run import open_run
from tierwise.timings.manifest import load_manifest

(FOLDER,) = paths.reference().glob("[!.]*/")
HOST = load_manifest(FOLDER).host
ORIGIN = f"{load_manifest(FOLDER).started_at:%Y-%m-%d}, {HOST.cpu}, {HOST.cores} cores"


def test_a_run_of_ones_own_stands_beside_it_cell_by_cell(built: Built) -> None:
    with placed(built.root, built.root / "_site"):
        found = compare("reference", RUN_ID)
    assert {"index_placement"} == set(found.cells["study"])
    assert f"The profiles differ (quick here, {load_manifest(FOLDER).profile['name']} there)" in found.caution
    assert not found.run.is_reference
    assert not found.cells.select(CELL).is_duplicated().any()
    (row,) = found.cells.filter(pl.col("cell") == "published: cold, NV, table on hdd, index on ssd").rows(named=True)
    for folder, median, n in (
        (built.root / "raw" / RUN_ID, row["median"], row["n"]),
        (FOLDER, row["median_reference"], row["n_reference"]),
    ):
        with open_views(folder.parent, folder.name) as connection:
            behind = connection.execute(
                "select median(elapsed_s), count(*) from timings where len(flags) = 0 and pair = 'source-m' and cache = 'cold' "
                "and trial = 'index=ssd/io_mode=buffered/start=NV/table=hdd/variant=published'"
            ).fetchone()
        assert behind == (median, n)
    assert row["ratio"] == row["median"] / row["median_reference"]


def test_the_report_and_the_command_tell_it(built: Built) -> None:
    section = built.page.select_one("#sec-reference")
    assert section is not None
    shown = " ".join(section.get_text(" ").split())
    assert f"{FOLDER.name} ({ORIGIN})" in shown
    with placed(built.root, built.root / "_site"):
        said = json.loads(CliRunner().invoke(app, ["diff", "reference", "latest", "--format", "json"]).stdout)
        text = CliRunner().invoke(app, ["diff", "reference", RUN_ID]).stdout
    assert (said["run"], said["reference"], said["reference_of"]) == (RUN_ID, FOLDER.name, ORIGIN)
    assert f" {len(said['cells'])} cells" in shown
    assert len(said["cells"]) == text.count("(emulated)") >= 20
    other = [claim["id"] for claim in said["claims"] if claim["verdict"] != claim["reference_verdict"]]
    with placed(built.root, built.root / "_site"):
        found = open_shared(open_run(RUN_ID), "provenance").own
    assert found["differing"] == len(other) > 0
