"""The latency study's histograms, the method that finds their modes, the verdicts on its claims, and the replay variants."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from latency_rows import AS_PUBLISHED, RUN, Histograms, latency_run
from support import shared
from tierwise.analysis.causes import Cause
from tierwise.analysis.claims import published_series
from tierwise.analysis.rules import COUNTS, Verdict
from tierwise.analysis.views import open_views
from tierwise.bench.replaying import models
from tierwise.core.pairs import load_pair
from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.report.study_registry import judge_all
from tierwise.studies.read_latency.measuring.replay_variants import RECORD_BYTES, REPLAY_VARIANTS, replay_variants
from tierwise.studies.read_latency.reading.histograms import READ_HISTOGRAMS, published
from tierwise.timings.reads import buckets

SPACES = {"pg_clog": 596, "ts_ssd": 3931, "ts_aux": 1263, "ts_main": 8744}

pytestmark = pytest.mark.usefixtures("by_replicates_alone")


def verdicts(raw: Path) -> dict[str, Verdict]:
    return {verdict.id: verdict.verdict for verdict in judge_all(raw, RUN) if verdict.source == "L" and not verdict.unjudged}


def by_rows(raw: Path) -> dict[str, Verdict]:
    """Return the same by the rows alone, whether or not the models meet the rates that the source states."""
    found = {one.id: {case.verdict for case in one.cases} for one in judge_all(raw, RUN) if one.source == "L" and one.cases}
    return {name: Verdict.CONTRADICTED if Verdict.CONTRADICTED in said else next(iter(said)) for name, said in found.items()}


def with_buckets(**changed: dict[int, int]) -> Histograms:
    return {**AS_PUBLISHED, **changed}


def test_the_published_reads_of_all_tablespaces_add_up() -> None:
    held = published_series(READ_HISTOGRAMS)
    totals = dict(held.group_by("tablespace").agg(pl.col("reads").sum()).iter_rows())
    assert totals == {"all": 14_534, **SPACES}
    assert sum(SPACES.values()) == 14_534
    by_bucket = held.with_columns(whole=pl.col("tablespace") == "all").group_by("from_ns", "whole").agg(pl.col("reads").sum())
    for from_ns in set(held["from_ns"]):
        whole, parts = (by_bucket.filter(from_ns=from_ns, whole=which)["reads"].to_list() for which in (True, False))
        assert whole == parts, f"bucket {from_ns}"


def test_every_published_bucket_stands_in_the_source_with_its_count() -> None:
    lines = [
        line.split("|") for line in shared("seeds", "001_912a83b3c0036e82.txt").read_text(encoding="utf-8").splitlines() if "|" in line
    ]
    printed = [(int(parts[0]), int(parts[1].split()[-1])) for parts in lines if parts[1].split()[-1] != "count"]
    assert sorted((from_ns, reads) for from_ns, reads in printed if reads) == sorted(
        published_series(READ_HISTOGRAMS).select("from_ns", "reads").iter_rows()
    )


def test_a_read_falls_into_the_bucket_of_the_published_histograms() -> None:
    edges = pl.DataFrame({"latency_s": [8192e-9, 16383e-9, 16384e-9, 262143e-9, 262144e-9, 524287e-9, 1.0, 1e-9, 0.0]})
    assert edges.select(buckets(pl.col("latency_s")))["latency_s"].to_list() == [13, 13, 14, 17, 18, 18, 29, 0, 0]


def test_the_method_finds_the_modes_that_the_source_speaks_of(tmp_path: Path) -> None:
    latency_run(tmp_path)
    with open_views(tmp_path, RUN) as connection:
        table = (
            published()
            .with_columns(run_id=pl.lit(""), pair=pl.lit(""), io_mode=pl.lit(""), variant=pl.lit(""), replicate=pl.lit(0))
            .to_arrow()
        )
        connection.register("source", table)
        rows = connection.execute("select tablespace, bucket, zone from read_latency_modes_in('source', 'source') order by all").fetchall()
    found = {space: [(bucket, zone) for name, bucket, zone in rows if name == space] for space, _, _ in rows}
    assert found["all"] == [(14, "memory"), (18, "ssd"), (22, "hdd")]  # his three zones
    assert [bucket for bucket, _ in found["ssd"]] == [18, 20]  # 250 us, and the sub-spike
    assert [bucket for bucket, _ in found["hdd"]] == [18, 22]
    assert [bucket for bucket, _ in found["aux"]] == [22]
    assert [bucket for bucket, _ in found["cached"]] == [14]


def test_histograms_like_the_published_ones_confirm_what_was_published(tmp_path: Path) -> None:
    latency_run(tmp_path)
    assert set(verdicts(tmp_path).values()) == {Verdict.CONFIRMED}


def test_no_read_and_every_read_at_250_us_are_counts_and_judged_as_such(tmp_path: Path) -> None:
    """No bucket has a neighbour, so that no replicate differs from another: modes decide nothing then, shares do."""
    for name, bucket, verdict in (("none", 19, Verdict.CONTRADICTED), ("all", 18, Verdict.CONFIRMED)):
        latency_run(tmp_path / name, with_buckets(ssd={bucket: 300}, hdd={22: 600}))
        found = {one.id: one for one in judge_all(tmp_path / name, RUN)}
        beside = {
            one
            for one in found["L2"].conditions
            if one.startswith(("the reference run says ", "by published (buffered)", "by replicates alone"))
        }
        assert (found["L2"].verdict, set(found["L2"].conditions) - beside) == (verdict, {COUNTS})
        assert (found["L3"].verdict, found["L3"].cause) == (Verdict.UNDECIDED, Cause.FLAT)


@pytest.mark.parametrize(
    ("changed", "contradicted"),
    [
        ({"ssd": {17: 300, 18: 60, 20: 200}}, {"L2"}),
        ({"aux": {23: 9, 24: 60}}, {"L3", "L7"}),
        ({"ssd": {18: 300, 19: 120, 20: 60, 21: 30}}, {"L6"}),
        ({"hdd": {18: 600, 19: 20}, "aux": {18: 100, 19: 9}}, {"L3", "L4", "L5"}),
    ],
)
def test_a_mode_elsewhere_contradicts_what_speaks_of_it(tmp_path: Path, changed: dict[str, dict[int, int]], contradicted: set[str]) -> None:
    latency_run(tmp_path, with_buckets(**changed))
    assert {name for name, verdict in by_rows(tmp_path).items() if verdict is Verdict.CONTRADICTED} == contradicted


def test_what_a_drive_s_own_cache_serves_beside_the_ssd_does_not_hide_its_zone(tmp_path: Path) -> None:
    """Emulated, some 180 of them lay in the bucket above the SSD's: more or fewer than its own there, by the load of the machine."""
    for name, hits in (("fewer", 40), ("more", 400)):
        latency_run(tmp_path / name, with_buckets(ssd={17: 200, 18: 60}, aux={18: hits, 22: 80}))
        assert by_rows(tmp_path / name)["L5"] is Verdict.CONFIRMED, name
        latency_run(tmp_path / f"{name}, the SSD's merge with memory's", with_buckets(ssd={16: 200, 15: 60}, aux={18: hits, 22: 80}))
        assert verdicts(tmp_path / f"{name}, the SSD's merge with memory's")["L5"] is not Verdict.CONFIRMED, name


def test_single_reads_are_a_view_beside_the_rows(tmp_path: Path) -> None:
    latency_run(tmp_path, replicates=2)
    with open_views(tmp_path, RUN) as connection:
        counted = connection.execute(
            "select tablespace, bucket::int, count(*) from reads where replicate = 1 group by all order by all"
        ).fetchall()
        reported = connection.execute(
            "select tablespace, bucket, reads from read_latency_buckets where replicate = 1 and tablespace <> 'all' order by all"
        ).fetchall()
    assert counted == reported


TESTBED: Any = SimpleNamespace(pair=load_pair("source-l"), stretch=1.0, seed=1)  # what the models of a pair need of a testbed
ALONE_S = 75e-6 + 8 * KIB / 250e6
RECORD_S = 75e-6 + RECORD_BYTES / 250e6


def log(*requests: tuple[float, str, str, int, float], size_bytes: int = PAGE_BYTES) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "time_s": time_s,
                "operation": operation,
                "file": file,
                "offset_bytes": page * PAGE_BYTES,
                "address_bytes": page * PAGE_BYTES,
                "size_bytes": size_bytes,
                "intended_s": took_s,
                "actual_s": took_s,
            }
            for time_s, operation, file, page, took_s in requests
        ]
    )


def chain(count: int, *, file: str = "PG_18_1/5/16384") -> pl.DataFrame:
    return log(*((number * (1e-3 + ALONE_S), "read", file, 7 * number + 1, ALONE_S) for number in range(count)))


def test_replayed_reads_take_what_they_took_and_whole_records_their_transfer() -> None:
    found = replay_variants(TESTBED, {"ssd": chain(50)})
    assert set(found) == set(REPLAY_VARIANTS)
    assert found["replayed"]["ssd"]["latency_sum_s"] / 50 == pytest.approx(ALONE_S)
    assert found["records"]["ssd"]["latency_sum_s"] / 50 == pytest.approx(RECORD_S)
    assert found["records"]["ssd"]["buckets"] == {"19": 50}, "above the published bucket: the transfer alone takes 524 us"


def test_a_session_asks_as_long_after_an_answer_as_it_did_however_late_that_comes() -> None:
    """Two sessions in one tablespace; were they replayed by the clock, slower answers would heap up."""
    one, other = chain(50), chain(50).with_columns(pl.col("time_s") + 5e-4)
    found = replay_variants(TESTBED, {"ssd": pl.concat([one, other])})
    assert found["records"]["ssd"]["latency_sum_s"] / 100 < 1.5 * RECORD_S


def test_the_tablespace_is_in_the_path_and_what_is_no_relation_is_replayed_and_not_reported() -> None:
    requests = pl.concat([chain(5, file="cached/PG_18_1/5/16390"), log((1.0, "read", "pg_wal/000000010000000000000001", 0, ALONE_S))])
    found = replay_variants(TESTBED, {"aux": requests})["replayed"]
    assert {space: reported["reads"] for space, reported in found.items()} == {"cached": 5}


def test_flash_that_erases_holds_up_reads_the_more_the_more_is_written() -> None:
    """One of ten channels is held up 1.5 ms for each 256 KiB that are written; the log alone writes as much as the source's tables."""
    reads = chain(400)
    writes = log(*((number * 1e-3, "write", "PG_18_1/5/16385", 4000 + 16 * number, 1e-4) for number in range(400)))
    quiet, busy = (replay_variants(TESTBED, {"ssd": requests}) for requests in (reads, pl.concat([reads, writes])))
    assert quiet["erasing"]["ssd"]["buckets"] == quiet["replayed"]["ssd"]["buckets"]
    slow = {name: sum(n for bucket, n in busy[name]["ssd"]["buckets"].items() if int(bucket) >= 20) for name in REPLAY_VARIANTS}
    assert slow["records-erasing"] > slow["erasing"] >= slow["replayed"]
    assert models(TESTBED, seed=1).keys() == {"hdd", "aux", "ssd"}


def test_the_variants_are_judged_beside_the_windows(tmp_path: Path) -> None:
    variants = {
        "records": {"ssd": {19: 300, 20: 60}, "hdd": {22: 200, 23: 300}, "aux": {22: 50, 23: 20}},
        "replayed": {"ssd": {16: 200, 17: 100}, "hdd": {22: 300, 23: 100}, "aux": {22: 50, 23: 20}},
    }
    latency_run(tmp_path, AS_PUBLISHED, variants=variants)
    judged = {claim.id: claim for claim in judge_all(tmp_path, RUN)}
    assert (judged["L2"].verdict, judged["L4"].verdict) == (Verdict.CONFIRMED, Verdict.CONFIRMED), "by the published protocol"
    reported = {name: {found.variant: found for found in judged[name].others} for name in ("L2", "L4")}
    assert {name: found.verdict for name, found in reported["L2"].items()} == {
        "records": Verdict.CONTRADICTED,
        "replayed": Verdict.CONTRADICTED,
    }
    assert judged["L4"].evidence is Evidence.EMULATED
    assert reported["L4"]["replayed"].verdict is Verdict.CONTRADICTED
