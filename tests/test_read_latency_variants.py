"""The replay variants of the latency study: the requests of a window replayed with whole records, or with flash that erases."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from latency_rows import AS_PUBLISHED, RUN, latency_run
from tierwise.analysis.rules import Verdict
from tierwise.bench.replaying import models
from tierwise.core.pairs import load_pair
from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.report.study_registry import judge_all
from tierwise.studies.read_latency.measuring.replay_variants import RECORD_BYTES, REPLAY_VARIANTS, replay_variants

TESTBED: Any = SimpleNamespace(pair=load_pair("source-l"), stretch=1.0, seed=1)  # what the models of a pair need of a testbed
ALONE_S = 75e-6 + 8 * KIB / 250e6
RECORD_S = 75e-6 + RECORD_BYTES / 250e6

pytestmark = pytest.mark.usefixtures("by_replicates_alone")


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
