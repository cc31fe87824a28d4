"""The conditions of verdicts stand where a reader looks, in the table of claims and in the ledger; cases are named as readers call them."""

from pathlib import Path

import pytest

from rows import make_rows, save_run
from tierwise.analysis.causes import phrase
from tierwise.analysis.claims import load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import COUNTS, Verdict
from tierwise.core.vocabulary import IoMode
from tierwise.report.display import Table
from tierwise.report.page import open_shared
from tierwise.report.run import Run, open_run
from tierwise.report.values import ledger
from tierwise.report.values.verdicts import judged
from tierwise.report.words import case_name, short_conditions, spelled

pytestmark = pytest.mark.usefixtures("by_replicates_alone")
RUN = "20260102-030405-abcd"


@pytest.fixture
def run(raw: Path) -> Run:
    save_run(raw, make_rows(run_id=RUN, io_mode=IoMode.BUFFERED, ratios={("cold", state): 0.05 for state in ("FL", "PR", "NV")}))
    return open_run(RUN)


def test_a_verdict_names_its_conditions_beside_itself_and_in_the_ledger(run: Run) -> None:
    found = dict(judged(run).select("claim", "conditions").rows())
    assert found["M1"] == "by replicates alone; no time to compare"
    table = open_shared(run, "summary").exhibit("tbl-claims")
    assert isinstance(table, Table)
    (row,) = (row for row in table.rows if row[0] == "M1")
    assert row[table.header.index("Verdict")] == f"**confirmed** ({found['M1']})"
    (verdict,) = ledger.cases(run).filter(claim="M1", found="")["verdict"]
    assert phrase("conditions.replicates_alone") in " ".join(verdict.split())


def test_what_is_counted_says_that_it_is_no_time() -> None:
    counts = [claim.counts for claim in load_claims().claims if claim.counts]
    for what in counts:
        verdict = ClaimVerdict(verdict=Verdict.CONTRADICTED, conditions=(COUNTS, phrase("conditions.counted", what=what)))
        assert short_conditions(verdict) == ["the same in every replicate", f"{what.split()[0]}, not times"]
    assert {what.split()[0] for what in counts} == {"pages", "requests"}


def test_each_condition_is_said_once_in_few_words_and_an_unknown_one_stays() -> None:
    said = (
        "tiers slowed 48-fold",
        phrase("conditions.one_setting", axes="memory and clients"),
        phrase("conditions.replicates_alone"),
        phrase("conditions.not_comparable"),
        phrase("conditions.not_comparable"),
        phrase("conditions.other_mode", decider="published", wanted="published (buffered)"),
        "a condition of another kind",
    )
    short = ["slowed 48-fold", "at one setting of memory and clients", "by replicates alone", "no time to compare", "by direct I/O"]
    assert short_conditions(ClaimVerdict(verdict=Verdict.CONFIRMED, conditions=said)) == [*short, said[-1]]


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("FL", "Florida"),
        ("FL->PR", "Puerto Rico after Florida"),
        ("FL/PR", "Florida over Puerto Rico"),
        ("FL->PR/PR", "Puerto Rico after Florida over Puerto Rico"),
        ("FL->PR on disks/FL->PR on SSD", "Puerto Rico after Florida on disks over Puerto Rico after Florida on SSD"),
        ("one index, PR/two indexes, PR", "one index, PR over two indexes, PR"),
    ],
)
def test_each_half_of_an_order_has_its_own_name(case: str, name: str) -> None:
    assert case_name(case) == name


def test_a_reason_names_the_cases_as_the_table_does() -> None:
    assert spelled("a bound: FL->PR/PR, NV") == "a bound: Puerto Rico after Florida over Puerto Rico, Nevada"
