"""The chapters of advice and conclusion: every number is drawn from rows, and what was not measured says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from advice_run import counts_run, record_counts
from tierwise.analysis.questions import Questions
from tierwise.core.errors import InputError
from tierwise.core.toml import validate
from tierwise.report import no_answer
from tierwise.report.chapters import advice, conclusion
from tierwise.report.display import Sentence, Table
from tierwise.report.run import open_run

if TYPE_CHECKING:  # pytest keeps annotations until the end, and DuckDB complains then of types that are still there
    from tierwise.report.run import Run

TOPIC = {"topic": "t", "claims": ["M1", "V1"], "meeting": "agree", "says": "s", "why": ["cache"], "explanation": "e", "shown_by": "none"}
QUESTION = {"name": "q", "title": "t", "claims": ["M1", "V1"]}


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    return tmp_path


@contextmanager
def opened(raw: Path) -> Iterator["Run"]:
    run = open_run()
    try:
        yield run
    finally:
        run.connection.close()


def slower(folder: Path, factor: float) -> None:
    """Have counts on the disks take `factor` as long."""
    path = folder / "timings.parquet"
    on_disks = pl.col("trial").str.contains("index=hdd/.*table=hdd/variant=published") & (pl.col("cache") == "cold")
    rows = pl.read_parquet(path).with_columns(elapsed_s=pl.when(on_disks).then(pl.col("elapsed_s") * factor).otherwise(pl.col("elapsed_s")))
    rows.write_parquet(path)


def told(table: Table | Sentence) -> str:
    return table.text if isinstance(table, Sentence) else f"{table.markdown()}\n{table.caption}"


def row_of(table: Table | Sentence, first: str) -> list[str]:
    assert isinstance(table, Table)
    (found,) = (list(row) for row in table.rows if first in row)
    return found


def test_each_measured_placement_stands_beside_its_prediction(raw: Path) -> None:
    record_counts(counts_run(raw), {"pob": [3, 900], "census": list(range(0, 9000, 3))})
    with opened(raw) as run:
        found = advice.advised(run, "index_placement", "source-m")
        table = advice.check(found)
        assert isinstance(table, Table)
        assert [row[0] for row in table.rows] == ["all on HDD", "indexes on SSD", "tables on SSD", "all on SSD"]
        assert row_of(table, "all on SSD")[-1] == "taken from it"
        errors = advice.check_errors(found)
        assert errors.keys() == {"all hdd", "indexes ssd", "tables ssd"}
        for name, error in errors.items():
            assert found.workload is not None
            measured = found.workload.measured[name]
            predicted_s = found.predicted_s(measured.placement)
            assert predicted_s is not None
            assert predicted_s / (measured.estimate.value or 0.0) - 1 == pytest.approx(error)
        assert "**simulated** from **emulated** requests" in table.caption


def test_the_advice_of_the_chapter_is_never_worse_than_what_fits(raw: Path) -> None:
    counts_run(raw)
    with opened(raw) as run:
        found = advice.advised(run, "index_placement", "source-m")
        assert [one.ssd_gib for one in found.advice] == sorted(one.ssd_gib for one in found.advice)
        for one in found.advice:
            assert one.exhaustive is not None
            assert one.exhaustive.regret == pytest.approx(0.0, abs=1e-9)
            assert all(other.regret <= 1e-9 for other in one.alternatives if other.fits)
        table = advice.recommendation(found)
        assert isinstance(table, Table)
        assert len(table.rows) == 4
        assert "`census`, `census_pkey` and `pob`" in told(table)
        assert len(told(advice.moves(found)).splitlines()) == 2 + 12 + 1
        assert "`pob`" in told(advice.relations(found))


def test_a_run_without_placements_says_so(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(no_answer, "open_reference", lambda: None)  # test_rejected_report reads what it says
    path = counts_run(raw) / "timings.parquet"
    pl.read_parquet(path).with_columns(study=pl.lit("another")).write_parquet(path)
    with opened(raw) as run:
        found, gathered = advice.advised(run, "index_placement", "source-m"), conclusion.gather(run)
        for shown in (advice.relations(found), advice.recommendation(found), advice.check(found), advice.moves(found)):
            assert isinstance(shown, Sentence)
            assert "measured no study whose relations can be placed" in shown.text
        assert "Placements are not ranked" in told(conclusion.strategies(gathered))
        assert conclusion.answer(gathered).text.startswith("**No answer yet** from this run")
        (here,) = (row[1] for row in conclusion.meetings(gathered).rows if row[0].startswith("**Tables before indexes.**"))
        assert here.endswith(". Not measured.")


def test_a_changed_raw_row_changes_what_the_conclusion_says(raw: Path) -> None:
    folder = counts_run(raw)
    with opened(raw) as run:
        found = conclusion.gather(run)
        before = [told(part) for part in (conclusion.strategies(found), conclusion.meetings(found), conclusion.questions(run))]
        assert "M1 **contradicted**" in told(conclusion.questions(run))
    slower(folder, 20.0)
    with opened(raw) as run:
        found = conclusion.gather(run)
        after = [told(part) for part in (conclusion.strategies(found), conclusion.meetings(found), conclusion.questions(run))]
        assert "M1 **confirmed**" in told(conclusion.questions(run))
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_placements_are_ranked_by_each_measure(raw: Path) -> None:
    counts_run(raw)
    with opened(raw) as run:
        table = conclusion.strategies(conclusion.gather(run))
        assert isinstance(table, Table)
        assert next(row[1] for row in table.rows) == "all on SSD"
        ranks = [[int(row[column].split("(")[1].rstrip(")")) for row in table.rows] for column in (2, 3, 4)]
        assert all(set(of) <= {1, 2, 3, 4} and min(of) == 1 for of in ranks)
        assert ranks[0] == [1, 2, 3, 4]
        assert "**emulated**" in table.caption
        assert "The quickest placement is *all on SSD*" in conclusion.answer(conclusion.gather(run)).text


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ({"questions": [QUESTION, {**QUESTION, "name": "p"}]}, "these answer two: M1, V1"),
        ({"questions": [{**QUESTION, "claims": ["M1"]}], "meetings": [TOPIC]}, "answer no question: V1"),
        ({"questions": [QUESTION], "meetings": [{**TOPIC, "says": "it saves 90 %"}]}, "meetings.0.says is 'it saves 90 %'"),
        ({"questions": [QUESTION], "meetings": [{**TOPIC, "meeting": "ignore"}]}, "meetings.0.meeting is 'ignore'"),
        ({"questions": [{**QUESTION, "claims": ["q1"]}]}, "questions.0.claims.0 is 'q1'"),
    ],
)
def test_questions_that_break_a_rule_are_refused(table: object, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(table, Questions, where="questions.toml")
    assert rule in str(caught.value)
