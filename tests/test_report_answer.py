"""The first screen: short, made from the run's numbers by rules, and true of any run."""

import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from rejected_run import RUN_ID, rejected_run
from tierwise.advisor.advice import Question, advise
from tierwise.advisor.ranking import DISKS, Gain, advised, gains_of
from tierwise.advisor.workload import fixed
from tierwise.analysis import heat
from tierwise.analysis.rules import Verdict
from tierwise.report.chapters import answer
from tierwise.report.chapters.answer import EVERYTHING, INDEXES, MOST_WORDS, TABLES, Compared, compared, finding
from tierwise.report.chapters.conclusion_rows import gather, name_of
from tierwise.report.display import Figure, Sentence
from tierwise.report.prices import book_of
from tierwise.report.run import Run, open_run

REPLICATES = range(5)
HEADS = ("What was found", "What to do", "What it costs", "How far to trust it")


def shares(run: Run) -> pl.DataFrame:
    """Return the rows of the chart."""
    return answer.shares(run, run.query(heat.every()))


@pytest.fixture(scope="module")
def rejected(tmp_path_factory: pytest.TempPathFactory) -> Run:
    raw: Path = tmp_path_factory.mktemp("raw")
    rejected_run(raw)
    return open_run(RUN_ID, raw)


def case(shares: Mapping[str, float], scatter: float = 0.01) -> Compared:
    """Return a workload whose placements leave these shares of the time, in five replicates."""
    gains = (
        Gain(name, {replicate: share * (1 + scatter * (-1) ** replicate * (len(name) % 3)) for replicate in REPLICATES})
        for name, share in shares.items()
    )
    return Compared("a workload", "emulated", tuple(gains))


def words_of(text: str) -> int:
    return sum(bool(re.search(r"\w", word)) for word in text.split())  # a sign of percent is none


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ({INDEXES: 0.9, TABLES: 0.4}, Verdict.CONFIRMED),
        ({INDEXES: 0.4, TABLES: 0.9}, Verdict.CONTRADICTED),
        ({INDEXES: 0.9, "Source ssd": 1.0, "Detection ssd": 0.4}, Verdict.CONFIRMED),  # the better of its tables
        ({INDEXES: 0.9, EVERYTHING: 0.1}, Verdict.NOT_MEASURED),  # everything there is neither
        ({TABLES: 0.4}, Verdict.NOT_MEASURED),
    ],
)
def test_tables_come_first_where_the_interval_of_table_over_indexes_lies_below_one(shares: Mapping[str, float], verdict: Verdict) -> None:
    assert case(shares).tables_first is verdict


def test_an_interval_that_holds_one_decides_nothing() -> None:
    assert case({INDEXES: 0.9, TABLES: 0.9}, scatter=0.2).tables_first is Verdict.UNDECIDED


def test_the_answer_has_its_four_parts_in_few_words(reference: Run, rejected: Run) -> None:
    for run in (reference, rejected):
        text = answer.answer(run).text
        assert re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE) == list(HEADS)
        assert words_of(text) <= MOST_WORDS
        assert not re.search(r"\bnan\b|\bNone\b|\binf\b", text)
        for topic in ("WAL: ", "Cloud, published prices: ", "Random reads: ", "RAM or SSD: "):
            assert topic in text


def test_the_chart_s_title_is_the_finding_and_its_rows_are_clean_repeats(reference: Run) -> None:
    every = compared(gather(reference))
    assert every
    shown = answer.gains(reference, shares(reference))
    assert isinstance(shown, Figure)
    assert shown.chart.title == finding(every)
    assert shown.rows.height == sum(len(gain.ratios) for one in every for gain in one.gains)
    assert len({one.workload for one in every}) == len(every), "no two workloads have one name"
    workloads = gather(reference).workloads
    names = heat.brief(map(name_of, workloads))
    measured = {names[name_of(one)]: one.measured for one in workloads}
    for one in every:
        job_s = {placement: found.job_s for placement, found in measured[one.workload].items()}
        for gain in one.gains:
            assert gain.ratios == pytest.approx(
                {replicate: job_s[gain.placement][replicate] / job_s[DISKS][replicate] for replicate in gain.ratios}
            )


@pytest.mark.parametrize(
    ("names", "brief"),
    [
        (["large set, tiers slowed 8-fold"], ["large set"]),
        (["small set", "small set, tiers slowed 8-fold"], ["small set", "small set, slowed"]),
        ([f"small set, tiers slowed {factor}-fold" for factor in (4, 8)], [f"small set, tiers slowed {factor}-fold" for factor in (4, 8)]),
        (["Study `x`, small, tiers slowed 8-fold, on `mine`"], ["Study `x`, small, on `mine`"]),  # what else is between commas stays
    ],
)
def test_a_short_name_still_tells_a_workload_from_the_others(names: list[str], brief: list[str]) -> None:
    assert heat.brief(names) == dict(zip(names, brief, strict=True))


@pytest.mark.parametrize(
    ("shares", "scatter", "chosen"),
    [
        ({TABLES: 0.41, EVERYTHING: 0.40}, 0.001, TABLES),  # less than a twentieth apart: the smaller move
        ({TABLES: 0.45, EVERYTHING: 0.40}, 0.001, EVERYTHING),
        ({TABLES: 0.45, EVERYTHING: 0.40}, 0.2, TABLES),  # the interval of their ratio holds 1
        ({TABLES: 0.97, EVERYTHING: 0.96}, 0.001, None),  # less than a twentieth gained
        ({TABLES: 0.9, EVERYTHING: 0.9}, 0.4, None),  # the interval of the gain holds 1
    ],
)
def test_the_smallest_move_that_is_as_fast_as_the_fastest_is_advised(
    shares: Mapping[str, float], scatter: float, chosen: str | None
) -> None:
    gains = [
        Gain(name, {replicate: share * (1 + scatter * (-1) ** (replicate + number)) for replicate in REPLICATES}, moved_bytes=number)
        for number, (name, share) in enumerate(shares.items())
    ]
    best = advised(gains)
    assert (best.placement if best else None) == chosen


def test_the_advice_for_a_workload_is_the_same_on_every_page_and_in_the_command(reference: Run) -> None:
    for workload in gather(reference).workloads:
        best = advised(gains_of(workload))
        found = advise(workload, Question(ssd_gib=100), book_of(reference))
        assert found.placement == fixed(workload)[best.placement if best else DISKS]
        assert found.chosen_by is workload.evidence


def test_the_chart_is_of_the_rows_that_it_gets(reference: Run) -> None:
    rows = shares(reference)
    one = compared(gather(reference))[0]
    shown = answer.gains(reference, rows.filter(workload=rows["workload"][0]))
    assert isinstance(shown, Figure)
    assert shown.chart.title == finding([one])
    assert shown.rows.height == sum(len(gain.ratios) for gain in one.gains)
    assert answer.gains(reference, rows.clear()) == Sentence("")


def test_a_run_in_which_nearly_all_is_rejected_says_so_and_shows_the_reference_run_s(rejected: Run, reference: Run) -> None:
    text = answer.answer(rejected).text
    assert "no answer yet, since no workload has 5 clean repeats" in text
    assert "rows are rejected" in text
    assert "No advice yet" in text
    shown = answer.gains(rejected, shares(answer.answering(rejected)))
    assert not isinstance(shown, Sentence)
    assert str(shown.chart.title).startswith("No answer yet; the reference run: on the SSD")
    assert reference.run_id in shown.caption
