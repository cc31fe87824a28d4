"""The chapter on what would change the verdicts, from the reference run: every claim once, with its quotation, and what agrees with it."""

import polars as pl
import pytest

from tierwise.analysis.causes import Cause
from tierwise.analysis.claims import load_claims
from tierwise.report import words
from tierwise.report.chapters import ledger
from tierwise.report.display import Table
from tierwise.report.figures import verdicts
from tierwise.report.run import Run
from tierwise.report.words import estimated


@pytest.fixture(scope="module")
def run(reference: Run) -> Run:
    return reference


@pytest.fixture(scope="module")
def table(run: Run) -> pl.DataFrame:
    return ledger.frame(run)


def test_every_claim_stands_in_one_of_two_tables_with_its_quotation(run: Run, table: pl.DataFrame) -> None:
    rows = [*ledger.judged(run, table).rows, *ledger.reported(run, table).rows]
    assert sorted(row[0] for row in rows) == sorted(claim.id for claim in load_claims().claims)
    quotations = {claim.id: words.quoted(claim) for claim in run.verdicts}
    rest = [row[1].removeprefix(quotations[row[0]]) for row in rows]
    assert all(bounds == "" or bounds.startswith(" Bounds: ") for bounds in rest)


def test_cases_stand_once_with_their_intervals_and_the_table_of_verdicts_refers_to_them(run: Run, table: pl.DataFrame) -> None:
    several = {claim.id: len(claim.cases) for claim in run.verdicts if len(claim.cases) > 1}
    told = {row[0]: row[2] for row in ledger.judged(run, table).rows}
    assert several
    assert all(told[claim].startswith(f"{number} cases, see @tbl-ledger-cases") for claim, number in several.items() if claim in told)
    assert all("@tbl-ledger-cases" not in found for claim, found in told.items() if claim not in several)


def test_flips_are_those_of_the_verdicts_and_the_sentence_names_them(run: Run, table: pl.DataFrame) -> None:
    flips = {claim.id for claim in run.verdicts if claim.flip and claim.flip.flips}
    assert flips
    assert set(table.filter(pl.col("flips"))["claim"]) == flips
    rows = pl.DataFrame({"clean": [90], "observed": [100]})
    told = ledger.answer(run, table, rows).text
    assert all(name in told.split("moved by half")[1].split(".")[0] for name in flips)
    assert "90 clean of 100 observations" in told


def test_every_case_of_several_is_shown_with_its_interval_and_its_p_values(run: Run) -> None:
    shown = ledger.cases(run)
    assert isinstance(shown, Table)
    several = [(claim, case) for claim in run.verdicts if len(claim.cases) > 1 for case in claim.cases]
    assert [row[0] for row in shown.rows] == [claim.id for claim, _ in several]
    assert all(row[2].startswith(estimated(case)) for row, (_, case) in zip(shown.rows, several, strict=True))
    assert any("; " in row[3] for row in shown.rows), "Holm's correction is more than the p-value"
    strip = verdicts.judged(run)
    for claim, case in several:
        (found,) = strip.filter(claim=claim.id)["found"]
        assert estimated(case) in found


def test_rules_that_changed_stand_with_the_verdict_under_either(run: Run) -> None:
    rows = {row[0]: row[1:] for row in ledger.changed(run).rows}
    assert {claim.id for claim in load_claims().claims if claim.before} <= rows.keys()
    assert rows["L2"][1:] == ["**contradicted**", "**contradicted**"]
    told = {claim.id: claim for claim in run.verdicts}
    for name in rows.keys() - {claim.id for claim in load_claims().claims if claim.before}:
        found = told[name]
        differing = {one.verdict for one in found.others} - {found.verdict}  # ways of I/O had to agree
        corrected = found.cause is Cause.STRADDLES and len(found.cases) > 1  # another of its cases holds a bound, and hides the chance
        assert found.cause in {Cause.FLAT, Cause.CHANCE} or differing or corrected, "nothing else was changed for every claim"
