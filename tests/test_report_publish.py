"""Versions of the report, and what is published of one: whole, checked, and nothing of the machine."""

import json
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nbformat
import polars as pl
import pytest
import yaml
from bs4 import BeautifulSoup

from report_built import Built, placed
from report_run import RUN_ID
from support import SHIPPED_RUN as FOLDER
from support import said, said_as_json
from test_report_browser import dead_links
from tierwise import __version__
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.report import pandoc_engine, versions
from tierwise.report.display import MADE_MIME, VEGA_MIME
from tierwise.report.page import open_shared
from tierwise.report.publish import publish
from tierwise.report.reference import CELL, compare
from tierwise.report.render import render
from tierwise.report.run import open_run
from tierwise.report.site import ORDER, PDFS, QUARTO
from tierwise.report.versions import commit_of
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parts import read_rows

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
        assert said_as_json("diff", "reference", "2000")["run"] == RUN_ID
        with pytest.raises(InputError, match="cannot be compared with itself"):
            said("diff", "2000", "latest")


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
        beside = said_as_json("diff", "reference", "latest")
        text = said("diff", "reference", RUN_ID)
        found = open_shared(open_run(RUN_ID), "provenance").own
    assert (beside["run"], beside["reference"], beside["reference_of"]) == (RUN_ID, FOLDER.name, ORIGIN)
    assert f" {len(beside['cells'])} cells" in shown
    assert len(beside["cells"]) == text.count("(emulated)") >= 20
    other = [claim["id"] for claim in beside["claims"] if claim["verdict"] != claim["reference_verdict"]]
    assert found["differing"] == len(other) > 0


@pytest.fixture
def home(built: Built, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(built.root / "raw", tmp_path / "raw")
    for code in ("abc1234-dirty", "abc1234"):
        site = shutil.copytree(built.site, tmp_path / "_site" / f"2026-01-01-{code}-{RUN_ID}")
        versions.load_version(site).model_copy(update={"version": site.name}).save(site)
        with placed(tmp_path, tmp_path / "_site"):
            versions.put_last(site.name)
    with placed(tmp_path, tmp_path / "_site"):
        yield tmp_path


def test_a_published_folder_is_whole_and_checks_itself(home: Path) -> None:
    made = publish(home / "public")
    assert (made.dirty, made.built.version) == (False, f"2026-01-01-abc1234-{RUN_ID}")
    folder = home / "public"
    documents = "CITATION.cff citation.bib DICTIONARY.md LICENSE README.md artifact.md"
    wanted = f"index.html build.json run/manifest.json run/timings.parquet {documents}"
    assert [name for name in (*wanted.split(), *PDFS.values()) if not (folder / name).is_file()] == []
    assert dead_links(folder) == []
    assert not [path for path in folder.rglob("*") if path.is_symlink()]
    sums = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert len(sums.splitlines()) == len([path for path in folder.rglob("*") if path.is_file()]) - 1
    assert len(read_rows(folder.joinpath("run").rename(folder / RUN_ID))) > 100  # rows as the store reads them
    assert not list(home.glob(".publish-*"))


def test_a_published_folder_names_no_host_no_user_and_no_folder(home: Path) -> None:
    publish(home / "public")
    private = [str(home), str(paths.home()), str(Path.home()) + "/", platform.node()]
    for path in (home / "public").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert [word for word in private if len(word) > 5 and word.encode() in content] == [], path


def test_every_executed_notebook_is_published_with_its_queries_frames_and_charts(home: Path, built: Built) -> None:
    publish(home / "public")
    copies = {path.name: nbformat.read(path, as_version=4) for path in (home / "public" / "notebooks").glob("*.ipynb")}
    assert set(copies) == {path.name for path in built.executed.glob("*.ipynb")}
    cells = {cell.id: cell for cell in copies["show-index_placement.ipynb"].cells if cell.cell_type == "code"}
    (figure,) = (cell for cell in cells.values() if "label: fig-times" in cell.source)
    assert VEGA_MIME in figure.outputs[0].data
    (query,) = figure.outputs[0].data[MADE_MIME]["queries"]
    assert "from index_placement_observations" in query["sql"]
    assert not [copy for copy in copies.values() if "papermill" in str(copy.metadata)]


def test_a_dirty_tree_is_reported(home: Path) -> None:
    assert publish(home / "public", "dirty").dirty
    assert "uncommitted changes" in (home / "public" / "README.md").read_text(encoding="utf-8")
    publish(home / "clean")
    assert "uncommitted changes" not in (home / "clean" / "README.md").read_text(encoding="utf-8")


def test_an_incomplete_run_is_refused(home: Path) -> None:
    run = home / "raw" / RUN_ID
    load_manifest(run).model_copy(update={"status": "running"}).save(run)
    with pytest.raises(InputError, match="is not complete"):
        publish(home / "public")
    assert not (home / "public").exists()


def test_a_folder_with_something_in_it_is_left_alone(home: Path) -> None:
    (home / "public").mkdir()
    (home / "public" / "mine.txt").write_text("precious", encoding="utf-8")
    with pytest.raises(InputError, match="must be a new or an empty folder"):
        publish(home / "public")
    assert [path.name for path in (home / "public").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("where", ["page", "row"])
def test_a_file_that_names_a_folder_of_the_machine_is_refused(home: Path, where: str) -> None:
    if where == "page":
        page = home / "_site" / f"2026-01-01-abc1234-{RUN_ID}" / "index.html"
        page.write_text(f"{page.read_text(encoding='utf-8')}<!-- {home}/raw -->", encoding="utf-8")
    else:
        rows = read_rows(home / "raw" / RUN_ID).with_columns(operation=pl.lit(f"select {home}/raw"))
        rows.write_parquet(home / "raw" / RUN_ID / "timings.parquet")
    with pytest.raises(InputError, match="names no host, no user and no folder"):
        publish(home / "public")
    assert sorted(path.name for path in home.iterdir()) == ["_site", "raw"]


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((paths.home() / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert {"cff-version", "message", "title", "authors", "license", "date-released"} <= citation.keys()


def test_the_commit_is_reported_as_a_whole_where_the_checkout_knows_it() -> None:
    known = subprocess.run(["git", "-C", str(paths.home()), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert commit_of(f"2026-01-01-{known[:9]}-{RUN_ID}", RUN_ID) == known
    assert commit_of(f"2026-01-01-{known[:9]}-dirty-{RUN_ID}", RUN_ID) == f"{known}-dirty"
    assert commit_of(f"2026-01-01-{known[:9]}-{RUN_ID}{QUARTO}", RUN_ID) == known
    assert commit_of(f"2026-01-01-{known[:9]}-dirty-{RUN_ID}{QUARTO}", RUN_ID) == f"{known}-dirty"


def test_the_page_says_how_to_cite_it_with_run_commit_and_bibtex(built: Built) -> None:
    section = built.page.select_one("#sec-cite")
    assert section is not None
    entry = (built.site / "citation.bib").read_text(encoding="utf-8")
    assert section.select_one("pre").get_text().strip() == entry.strip()  # type: ignore[union-attr]
    commit = commit_of(built.site.name, RUN_ID)
    for text in (section.get_text(), entry):
        assert RUN_ID in text
        assert commit in text
    assert entry.count("{") == entry.count("}")
    assert built.page.select_one("#contents a[href='about.html#sec-cite']") is not None


def test_a_symbolic_link_is_refused(home: Path) -> None:
    (home / "_site" / f"2026-01-01-abc1234-{RUN_ID}" / "rows" / "link.csv").symlink_to("fig-times.csv")
    with pytest.raises(InputError, match=r"rows/link\.csv: is a symbolic link"):
        publish(home / "public")
