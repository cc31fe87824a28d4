"""Whether an assumed read-ahead decides a verdict: rows with known times, and records that are lent to the same query on other tiers."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

from kept_smoke import RAW
from report_run import pair_as_recorded
from rows import make_rows, save_run
from tierwise.advisor.recorded_queries import RecordedQuery, recorded_queries
from tierwise.analysis import heat
from tierwise.analysis.judging import named
from tierwise.analysis.rules import Verdict
from tierwise.core.vocabulary import IoMode
from tierwise.pipeline import runs_in
from tierwise.report.chapters import ledger_ahead, ledger_reach
from tierwise.report.chapters.ledger_reach import Held, Reach
from tierwise.report.display import Table
from tierwise.report.run import Run, open_run
from tierwise.timings.manifest import load_manifest

COLD = {("cold", state): 0.05 for state in ("FL", "PR", "NV")}
"""An index on SSD takes a twentieth of the time, which is what the source says."""


def made(raw: Path, *io_modes: IoMode) -> Run:
    """Return a run whose times are all its devices', but for hot queries, by each of `io_modes`."""
    waits = pl.when(pl.col("cache") != "hot").then(pl.col("elapsed_s")).otherwise(0.0)
    rows = pl.concat(make_rows(ratios=COLD, io_mode=io_mode, variant="published") for io_mode in io_modes).with_columns(device_s=waits)
    folder = save_run(raw, rows)
    manifest = load_manifest(folder)
    manifest.model_copy(update={"pairs": {"source-m": pair_as_recorded("source-m")}}).save(folder)
    return open_run(raw=raw)


def bounds_of(run: Run, *, least: Mapping[tuple[str, str], float], most: Mapping[tuple[str, str], float]) -> pl.DataFrame:
    """Return a row for each query past the page cache; its factors by the tiers of table and index, 1 where none is named."""
    found = run.query(
        "select distinct study, pair, trial, step, io_mode, cell, cache from timings where io_mode = 'direct' and device_s > 0"
    )
    tiers = [(row["table"], row["index"]) for row in found["cell"].str.json_decode(pl.Struct({"table": pl.String, "index": pl.String}))]
    ends = [pl.Series(name, [by.get(at, 1.0) for at in tiers]) for name, by in (("least", least), ("most", most))]
    return found.with_columns(*ends, lent=pl.lit(value=False), as_assumed_s=pl.lit(1.0))


def of(reach: Reach, claim: str, io_mode: str = "published") -> Held:
    (found,) = (one for one in reach.held if (one.claim, named(one.as_assumed)) == (claim, io_mode))
    return found


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def smoke() -> Iterator[Run]:
    with runs_in(RAW):
        yield open_run()


def test_a_verdict_flips_where_its_times_leave_the_bounds_and_only_there(raw: Path) -> None:
    run = made(raw, IoMode.DIRECT)
    reach = ledger_reach.judged(run, bounds_of(run, least={("hdd", "ssd"): 4.0}, most={("hdd", "ssd"): 1.1, ("hdd", "hdd"): 1.1}))
    flipping, staying = of(reach, "M1"), of(reach, "M3")
    assert flipping.decides
    assert flipping.as_assumed.verdict is Verdict.CONFIRMED
    assert flipping.ends["least"].verdict is Verdict.CONTRADICTED
    assert flipping.ends["least"].estimate == pytest.approx(4 * (flipping.as_assumed.estimate or 0.0), rel=0.05)
    assert flipping.flips == (ledger_ahead.LEAST,)
    assert flipping.ends["most"].estimate == pytest.approx(flipping.as_assumed.estimate)
    assert staying.as_assumed.verdict is Verdict.CONTRADICTED
    assert staying.moves
    assert staying.flips == ()
    reported = ledger_reach.answer(run, reach).text
    assert "M1 (confirmed as assumed, contradicted with 256 KiB)" in reported
    assert "M3" not in reported
    shown = ledger_reach.table(run, reach)
    assert isinstance(shown, Table)
    verdicts = {row[0]: row[-1] for row in shown.rows}
    assert (verdicts["M1"], verdicts["M3"]) == ("**flips with 256 KiB**", "stays")


def test_a_verdict_on_times_that_stay_is_reported_as_one_that_no_disk_decides(raw: Path) -> None:
    run = made(raw, IoMode.DIRECT)
    reach = ledger_reach.judged(run, bounds_of(run, least={}, most={}))
    assert [one.flips for one in reach.held] == [()] * len(reach.held)
    assert reach.moved == []
    assert {"M1", "M7"} <= set(reach.unmoved)
    assert "M1" in ledger_reach.answer(run, reach).text


def test_one_query_that_nobody_recorded_leaves_its_claim_open_and_flash_needs_no_record(raw: Path) -> None:
    run = made(raw, IoMode.DIRECT)
    bounds = bounds_of(run, least={("hdd", "hdd"): 2.0}, most={})
    word = pl.col("cell").str.json_path_match
    on_flash = (word("$.table") == "ssd") & (word("$.index") == "ssd")
    without_flash = ledger_reach.judged(run, bounds.filter(~on_flash))
    assert of(without_flash, "M1").ends
    lacking = (word("$.start") == "NV") & (word("$.table") == "hdd") & (word("$.index") == "hdd") & (pl.col("cache") == "cold")
    reach = ledger_reach.judged(run, bounds.filter(~lacking))
    assert not of(reach, "M1").ends
    assert of(reach, "M3").ends, "the queries from a cross cache are all there"


def test_every_statement_of_a_whole_run_is_reported_and_factors_of_one_change_none(smoke: Run) -> None:
    known = pl.DataFrame(
        [(one.study, one.pair, one.trial, one.step, 1.0, 1.0) for one in recorded_queries(smoke.connection, smoke.folder)],
        schema=["study", "pair", "trial", "step", "least", "most"],
        orient="row",
    )
    reach = ledger_reach.judged(smoke, known)
    assert len({one.claim for one in reach.held}) > 10
    assert reach.moved == []
    reported = {one.claim for one in reach.held} | set(reach.unrecorded)
    assert reported == {claim.id for claim in smoke.verdicts if claim.verdict not in ledger_reach.NOT_JUDGED}


def test_a_query_without_a_record_has_that_of_the_same_one_on_other_tiers(smoke: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def wanted() -> dict[int, RecordedQuery]:
        found = recorded_queries(smoke.connection, smoke.folder)
        return {one.step: one for one in found if one.trial == hidden and one.study == "index_placement"}

    hidden = "index=hdd/io_mode=direct/start=NV/table=hdd/variant=published"
    own = wanted()
    assert not any(one.lent for one in own.values())
    recorded = heat.recorded
    monkeypatch.setattr(
        "tierwise.advisor.recorded_queries.heat.recorded",
        lambda folder, study, pair, trial: None if trial == hidden else recorded(folder, study, pair, trial),
    )
    lent = wanted()
    assert lent.keys() == own.keys() == {0, 2}
    for step, one in lent.items():
        assert one.lent
        columns = ["relation", "page", "size_bytes", "operation", "after", "tier"]
        assert one.query.requests.select(columns).equals(own[step].query.requests.select(columns))
