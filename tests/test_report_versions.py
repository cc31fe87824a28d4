"""Versions of the report, and a reader's run held against the run that ships."""

import json
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from report_built import Built, placed
from report_run import RUN_ID
from tierwise.analysis.views import open_views
from tierwise.cli import app
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.report import pandoc_engine, versions
from tierwise.report.page import open_shared
from tierwise.report.reference import CELL, compare
from tierwise.report.render import render
from tierwise.report.run import open_run
from tierwise.report.site import ORDER
from tierwise.timings.manifest import load_manifest

EARLIER = versions.Version(version=f"2000-01-01-v0-{RUN_ID}", run_id=RUN_ID)


@pytest.fixture(scope="module")
def second(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("versions") / "_site"
    (site / EARLIER.version).mkdir(parents=True)
    EARLIER.save(site / EARLIER.version)
    (site / ORDER).write_text(json.dumps([EARLIER.version]), encoding="utf-8")
    with placed(built.root, site), pytest.MonkeyPatch.context() as patch:
        patch.setattr(pandoc_engine, "_typeset", lambda *_: None)
        return render(run_id=RUN_ID, executed=built.executed, engine="plain")


def test_versions_are_listed_and_named_by_any_part_that_is_their_own(built: Built, second: Path) -> None:
    listed = BeautifulSoup((second.parent / "index.html").read_bytes(), "html.parser").select("li")
    assert [one.get_text() for one in listed] == [f"{version}run {RUN_ID}" for version in (second.name, EARLIER.version)]
    with placed(built.root, second.parent):
        assert versions.find("2000") == versions.find("v0") == EARLIER
        assert versions.find("latest").version == second.name
        with pytest.raises(InputError, match="no version; there are"):
            versions.find("reference")  # none was built of the run that ships
        with pytest.raises(InputError, match="several versions"):
            versions.find(RUN_ID)
        with pytest.raises(InputError, match="no version; there are: 2000-01-01"):
            versions.find("nonesuch")
        said = json.loads(CliRunner().invoke(app, ["diff", "reference", "2000", "--format", "json"]).stdout)
        same = CliRunner().invoke(app, ["diff", "2000", "latest"]).exception
    assert said["run"] == RUN_ID
    assert "cannot be compared with itself" in str(same)


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
