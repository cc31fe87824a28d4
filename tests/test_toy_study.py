"""A study on an existing data set runs with its own files and lines in two others: a toy is planned, measured, judged and rendered."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from checkout import Home, new_home
from support import needs_fuse
from tierwise.analysis.claims import load_claims
from tierwise.analysis.views import connect
from tierwise.core import data_sets, paths, studies
from tierwise.report.formats import number, percent
from tierwise.timings.manifest import Manifest

pytestmark = needs_fuse
TOY = Path(__file__).parent / "toy_study"
NAME, PAIR, REPLICATES = "toy_x", "toy-x", 5
CHAPTER = "show-toy_x.qmd"
NEW = {path.relative_to(TOY).as_posix() for path in TOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts} - {
    "data/published/claims.toml"
}
"""Files that the toy adds."""
LONGER = {"data/published/claims.toml", "report/_quarto.yml"}  # files that it adds lines to


def tracked() -> list[str]:
    reported = subprocess.run(["git", "ls-files", "-z"], cwd=paths.home(), capture_output=True, text=True, check=True).stdout
    return [name for name in reported.split("\0") if name and (paths.home() / name).is_file()]


def lay_out(copy: Path) -> None:
    """Copy the checkout, with the toy in it, and with what Python and numba have compiled of it: that takes longer than the toy."""
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(paths.home() / name, copy / name)
    for kept in (paths.home() / "src").rglob("__pycache__"):
        shutil.copytree(kept, copy / kept.relative_to(paths.home()), ignore=shutil.ignore_patterns("*.pyc.*"), dirs_exist_ok=True)
    for name in NEW:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOY / name, copy / name)
    claims = copy / "data" / "published" / "claims.toml"
    claims.write_text(claims.read_text(encoding="utf-8") + (TOY / "data" / "published" / "claims.toml").read_text(encoding="utf-8"))
    quarto = copy / "report" / "_quarto.yml"
    before = "    - show-cost.qmd\n"
    assert before in quarto.read_text(encoding="utf-8")
    quarto.write_text(quarto.read_text(encoding="utf-8").replace(before, f"    - {CHAPTER}\n{before}"), encoding="utf-8")


class Checkout:
    def __init__(self, home: Home):
        self.home, self.folder = home, home.folder / "checkout"
        lay_out(self.folder)

    def run(self, *arguments: str) -> str:
        environment = self.home.environment(PYTHONPATH=str(self.folder / "src"))
        environment.pop("TIERWISE_HOME", None)
        done = subprocess.run([sys.executable, *arguments], env=environment, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tierwise(self, *arguments: str) -> str:
        return self.run("-m", "tierwise", *arguments)


@pytest.fixture(scope="module")
def checkout() -> Iterator[Checkout]:
    with new_home() as home:
        yield Checkout(home)


@pytest.fixture(scope="module")
def run(checkout: Checkout) -> Manifest:
    checkout.tierwise("run", NAME)
    (made,) = checkout.home.runs().values()
    return made


@pytest.fixture(scope="module")
def page(checkout: Checkout, run: Manifest) -> BeautifulSoup:
    site = checkout.home.folder / "site"
    checkout.run("scripts/page.py", NAME, "--run", run.run_id, "--to", str(site))
    return BeautifulSoup((site / "show-toy_x.html").read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def claims(checkout: Checkout, run: Manifest) -> dict[str, dict[str, Any]]:
    reported = json.loads(checkout.tierwise("claims", "--run", run.run_id, "--format", "json"))["claims"]
    return {claim["id"]: claim for claim in reported}


def observed(checkout: Checkout, run: Manifest, sql: str) -> list[tuple[float, ...]]:
    """Return what `sql` finds in the store's own view of the run's rows, without any code of the toy's."""
    with connect(checkout.home.folder / "raw", run.run_id) as store:
        return store.execute(sql).fetchall()


def test_the_toy_adds_its_own_files_and_lines_to_two_others(checkout: Checkout) -> None:
    known = set(tracked())
    assert not NEW & known
    changed = {name for name in known if (checkout.folder / name).read_bytes() != (paths.home() / name).read_bytes()}
    assert changed == LONGER
    assert NAME not in studies.names()
    assert "sky" in data_sets.names()


def test_its_code_passes_the_checks_where_a_copy_lies(checkout: Checkout) -> None:
    for check in (("check",), ("format", "--check")):
        checkout.run("-m", "ruff", *check, f"src/tierwise/studies/{NAME}")


def test_the_first_page_is_made_with_it_and_counts_none_of_its_claims(checkout: Checkout) -> None:
    """`tierwise` alone shows the reference run, which has no row of the toy's."""
    assert f"of {len(load_claims().claims)} published statements" in checkout.tierwise()


def test_it_is_planned(checkout: Checkout) -> None:
    planned = json.loads(checkout.tierwise("plan", "--format", "json"))
    (line,) = (line for line in planned["lines"] if line["study"] == NAME)
    assert (line["pair"], line["evidence"], line["cells"], line["replicates"]) == (PAIR, "emulated", 2, REPLICATES)
    assert line["minutes"] is None, "no run has recorded it"


def test_it_is_measured_with_its_data_set_named(run: Manifest) -> None:
    assert run.status == "partial"
    (record,) = run.studies
    assert (record.name, record.pair, record.replicates) == (NAME, PAIR, REPLICATES)
    assert {(data.name, data.studies, data.rows) for data in run.datasets} == {("sky", (NAME,), 4_710)}
    assert len({data.sha256 for data in run.datasets}) == REPLICATES, "each replicate has rows of its own"


def test_every_search_was_cold_and_found_the_same(checkout: Checkout, run: Manifest) -> None:
    sql = "select count(*), count(distinct result_rows), min(result_rows), count(*) filter (cache = 'cold') from timings"
    ((rows, answers, found, cold),) = observed(checkout, run, sql)
    assert (rows, cold) == (2 * REPLICATES, 2 * REPLICATES)
    assert answers <= REPLICATES, "one for each replicate's rows"
    assert found > 0


def test_its_statement_is_judged(claims: dict[str, dict[str, Any]]) -> None:
    own = claims["X1"]
    assert (own["verdict"], own["rule_newer"], own["rule_after_results"]) == ("confirmed", False, False)


def test_its_statement_is_not_counted_among_the_published_ones(checkout: Checkout, run: Manifest) -> None:
    text = " ".join(checkout.tierwise("claims", "--run", run.run_id).split())
    assert f"of {len(load_claims().claims)} decided" in text
    assert "X1 confirmed" in text


def test_its_chapter_is_rendered_with_the_numbers_of_its_rows(checkout: Checkout, run: Manifest, page: BeautifulSoup) -> None:
    chapter = page.select_one("#sec-toy-x")
    assert chapter is not None
    assert "Source X: does a search gain on flash?" in " ".join(chapter.get_text().split())
    figure = page.select_one("#fig-toy-x-times")
    assert figure is not None
    assert f"n = {2 * REPLICATES} searches" in " ".join(figure.get_text().split())
    cells = [[cell.get_text() for cell in row.select("td")] for row in page.select("#tbl-toy-x-seconds tbody tr")]
    sql = "select cell ->> 'tier' as tier, median(elapsed_s), min(result_rows) from timings group by all order by tier"
    expected = [(number(middle_s), int(found)) for _, middle_s, found in observed(checkout, run, sql)]
    assert [row[0] for row in cells] == ["on disks", "on flash"]
    assert [(row[3], int(row[2].replace(",", ""))) for row in cells] == expected
    assert "X1" in page.get_text()
    assert "confirmed" in page.get_text()
    assert "The source says" not in page.get_text()


def test_its_text_has_the_estimate_that_was_judged(claims: dict[str, dict[str, Any]], page: BeautifulSoup) -> None:
    judged = claims["X1"]
    text = " ".join(page.get_text().split())
    low, high = percent(judged["low"]), percent(judged["high"])
    assert " ".join(f"{percent(judged['estimate'])} of its time on disks (95 % interval: {low} to {high})".split()) in text
    assert "The search takes less than half of the time on flash." in text
    assert "This run did not measure the search." not in text
