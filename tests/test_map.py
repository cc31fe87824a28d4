"""`tierwise map`: one pass gives what a plain LRU misses and writes back at every size; a server's page requests beside its counters."""

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from conftest import empty
from support import said, said_as_json, shared
from tierwise.advisor.memory_map import reads_left
from tierwise.cli import app
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.core.vocabulary import IoMode
from tierwise.devices.model import build
from tierwise.devices.spec import load_device
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.page_counts import PageCounter
from tierwise.postgres.settings import loading_settings, measuring_settings, one_value
from tierwise.recorders import page_requests
from tierwise.recorders.reads import find_server
from tierwise.recorders.trace_command import trace
from tierwise.simulate import shared_buffers
from tierwise.simulate.page_cache import replay
from tierwise.simulate.page_trace import TraceOptions, simulate_trace
from tierwise.simulate.stack_distances import NearCounts, SampledCurve, curve_of
from tierwise.simulate.table_reads import duration_s, whole
from tierwise.simulate.trace_stream import NEAR_PAGES, read_stream

Plain = dict[int, list[int]]  # read misses, write misses and write-backs of a relation


def plain_lru(pages: list[int], writes: list[bool], relation: list[int], size: int) -> Plain:
    held: OrderedDict[int, bool] = OrderedDict()
    counts: Plain = {each: [0, 0, 0] for each in relation}
    for page, write in zip(pages, writes, strict=True):
        if page in held:
            held[page] |= write
            held.move_to_end(page)
            continue
        counts[relation[page]][int(write)] += 1
        if len(held) == size:
            gone, dirty = held.popitem(last=False)
            counts[relation[gone]][2] += dirty
        held[page] = write
    return counts


def numbered(requests: int, pages: int, seed: int) -> Any:
    chance = np.random.default_rng(seed)
    found = np.unique(chance.zipf(1.2, requests) % pages, return_inverse=True)[1].astype(np.int32)
    relation = chance.integers(0, 3, found.max() + 1).astype(np.int32)
    return found, chance.random(requests) < 0.3, relation


@pytest.mark.parametrize(("requests", "pages"), [(1, 1), (500, 5), (4000, 60), (90_000, 700)])
def test_every_size_counts_as_a_plain_lru_does(requests: int, pages: int) -> None:
    """The longest one has more requests than there are marks: pages are marked anew."""
    found, writes, relation = numbered(requests, pages, requests)
    curve, most = curve_of(found, writes, relation, 3), len(relation)
    for size in sorted({1, 2, 3, 17, most // 2, most - 1, most, most + 9} - {0}):
        expected = plain_lru(found.tolist(), writes.tolist(), relation.tolist(), size)
        counted = np.array(curve.at(size))
        assert {each: counted[:, each].tolist() for each in expected} == expected, size


def test_a_curve_has_the_misses_of_replays_of_a_large_trace() -> None:
    found, writes, relation = numbered(400_000, 60_000, 1)
    curve = curve_of(found, writes, relation, 3)
    for size in (10, 1000, 20_000):
        assert curve.at(size).reads.sum() + curve.at(size).writes.sum() == replay(found.astype(np.int64), size).misses


@pytest.mark.parametrize(("most", "chunk"), [(1, 7), (50, 3), (50, 1000), (900, 400)])
def test_small_caches_are_counted_exactly_while_only_their_pages_are_held(most: int, chunk: int) -> None:
    found, writes, relation = numbered(4000, 700, 3)
    near, curve = NearCounts(most), curve_of(found, writes, relation, 3)
    for begin in range(0, len(found), chunk):
        part = found[begin : begin + chunk]
        near.add(part.astype(np.int64), writes[begin : begin + chunk], relation[part])
    small = near.curve(3)
    for size in range(1, most + 1):
        assert np.array_equal(small.at(size), curve.at(size)), size


def test_the_oltp_trace_has_the_published_misses_and_shards_comes_near_them() -> None:
    """The bounds hold for the mean over a hundred sizes, spread evenly, over orders of magnitude, and beyond those counted exactly."""
    path = shared("realdata", "traces", "OLTP.lis.zst")
    found = said_as_json("map", str(path), "--pages", "15000,1000,5000", "--policy", "clock")
    assert (found["requests"], found["exact"], found["distinct_pages"]) == (914_145, True, 186_880)
    assert [(size["pages"], size["misses"]) for size in found["sizes"]] == [(1000, 614_023), (5000, 423_702), (15_000, 323_294)]
    assert found["sizes"][1]["replayed_misses"] == 422_067
    whole = read_stream([path], TraceOptions())
    curve = curve_of(whole.pages, whole.is_write, whole.relation, 1)
    spread = (np.linspace(1868, 186_880, 100), np.geomspace(1, 186_880, 100), np.geomspace(NEAR_PAGES, 186_880, 100))
    for rate, bound in ((0.01, 0.02), (0.1, 0.005)):
        sample = read_stream([path], TraceOptions(), sample_rate=rate)
        estimate = SampledCurve(curve_of(sample.pages, sample.is_write, sample.relation, 1), rate, sample.near)
        for sizes in spread:
            off = [abs(int(estimate.at(int(size)).reads[0] - curve.at(int(size)).reads[0])) / whole.requests for size in sizes]
            assert np.mean(off) < bound
    assert not said_as_json("map", str(path), "--pages", "5000", "--sample", "0.1")["exact"]


MSR = "1,vol,1,Write,0,8192,3\n4,vol,1,Read,8192,8192,3\n9,vol,2,Read,0,8192,3\n"


@pytest.fixture
def traces(tmp_path: Path) -> list[str]:
    (tmp_path / "a.csv").write_text(MSR)
    (tmp_path / "b.csv").write_text(MSR.replace("1,vol,1,W", "5,vol,1,W").replace("4,vol", "7,vol").replace("9,vol", "8,vol"))
    return [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]


def test_files_are_one_stream_in_order_or_merged_by_time(traces: list[str]) -> None:
    def pages(timed: bool) -> list[int]:
        found: list[int] = read_stream([Path(file) for file in traces], TraceOptions(timed=timed)).pages.tolist()
        return found

    assert pages(timed=False) == [0, 1, 2, 0, 1, 2]
    assert pages(timed=True) == [0, 1, 0, 1, 2, 2]


def test_a_relation_is_a_file_or_a_device_of_a_trace(traces: list[str]) -> None:
    same = said_as_json("map", *traces, "--relation", "table=vol.1", "--pages", "1,2")
    assert same["relation_pages"] == {"table": 2, "vol.2": 1}
    assert same["sizes"][0]["relations"]["table"] == {"read_misses": 2, "write_misses": 2, "write_backs": 2, "replayed_misses": None}
    apart = said_as_json("map", *traces, "--relation", f"first={traces[0]}", "--relation", f"second={traces[1]}", "--pages", "9")
    assert apart["relation_pages"] == {"first": 3, "second": 3}
    assert (apart["sizes"][0]["misses"], apart["sizes"][0]["write_backs"], apart["writes"]) == (6, 0, 2)


def test_objects_of_two_relations_are_others(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("0,key,3,9,1,get,0\n1,key,3,9,1,get,0\n")
    names = [str(tmp_path / name) for name in ("a", "b")]
    assert said_as_json("map", *names, "--pages", "5")["sizes"][0]["misses"] == 1
    assert said_as_json("map", *names, "--pages", "5", "--relation", f"x={names[0]}")["sizes"][0]["misses"] == 2


def test_reads_of_a_device_are_marked_and_tell_of_no_larger_cache(tmp_path: Path) -> None:
    path = tmp_path / "reads"
    pl.DataFrame({"relation": ["t", "i", "t"], "page": [3, 0, 3], "size_bytes": [8192] * 3, "time_s": [1.0, 2.0, 3.0]}).write_parquet(path)
    assert "recorded behind 4 pages" in said("map", str(path), "--behind", "4", "--pages", "2,4")
    assert [size["pages"] for size in said_as_json("map", str(path), "--behind", "1")["sizes"]] == [1]
    for options in ([], ["--behind", "4", "--pages", "5"]):
        error = CliRunner().invoke(app, ["map", str(path), *options]).exception
        assert isinstance(error, InputError)
        assert "behind" in str(error)


def test_each_placement_has_its_device_time_and_its_cost(traces: list[str]) -> None:
    options = ("--pages", "1,100000", "--tiers", "today-server", "--on", "2026-11-01")
    found = said_as_json("map", *traces, *options)
    small, large = ({tuple(one["placement"].values()): one for one in size["placements"]} for size in found["sizes"])
    assert set(small) == {(first, second) for first in found["tiers"] for second in found["tiers"]}
    assert small["hdd", "hdd"]["device_s"] > small["hdd", "ssd"]["device_s"] > small["ssd", "ssd"]["device_s"]
    assert all(large[each]["device_s"] <= small[each]["device_s"] for each in small)
    dearer = said_as_json("map", *traces, *options, "--price", "ram=1000")["sizes"][1]["placements"]
    assert dearer[0]["cost_a_month"] > large[tuple(dearer[0]["placement"].values())]["cost_a_month"] > small["hdd", "hdd"]["cost_a_month"]
    assert "USD a month" in said("map", *traces, *options)


def page_requests_of(path: Path, requests: list[tuple[str, int, bool]]) -> Path:
    relation, page, ring = map(list, zip(*requests, strict=True))
    columns = {"relation": relation, "page": page, "size_bytes": [PAGE_BYTES] * len(page), "ring": ring}
    pl.DataFrame(columns).write_parquet(path, metadata=page_requests.KIND)
    return path


def test_reads_left_by_twice_the_cache_are_counted_without_the_first_read_of_each_page(tmp_path: Path) -> None:
    turns = page_requests_of(tmp_path / "turns", [("table", page % 12, False) for page in range(60)])
    assert reads_left(turns, 8 * PAGE_BYTES) == 0.0, "sixteen pages hold the twelve that take turns"
    assert reads_left(turns, 5 * PAGE_BYTES) == 1.0
    assert reads_left(turns, 12 * PAGE_BYTES) is None, "no page is read again"
    pl.read_parquet(turns).write_parquet(turns)
    with pytest.raises(InputError, match="reads of a device"):
        reads_left(turns, 5 * PAGE_BYTES)


@pytest.mark.parametrize(
    ("buffers", "scanned"), [(1000, [(page, 1) for page in (*range(5), *range(7, 40))]), (5000, [(0, 5), (7, 16), (23, 16), (39, 1)])]
)
def test_a_scan_reads_missed_pages_together_as_far_as_its_share_of_the_buffers_allows(
    tmp_path: Path, buffers: int, scanned: list[tuple[int, int]]
) -> None:
    single = [("index", 0, False), ("table", 5, False), ("table", 6, False)]
    path = page_requests_of(tmp_path / "requests", single + [("table", page, True) for page in range(40)])
    stream = read_stream([path], TraceOptions())
    reads = shared_buffers.reads(stream, shared_buffers.misses(stream, buffers), buffers, {"table"})
    assert [(read.page % 2048, read.size_bytes // PAGE_BYTES) for read in reads] == [(5, 1), (6, 1), *scanned]


def test_a_scan_takes_the_time_of_a_sequential_read_and_the_same_pages_at_random_much_more(tmp_path: Path) -> None:
    pages, options = 8000, ("--pages", "5000", "--policy", "postgresql", "--tiers", "today-server")
    scan = page_requests_of(tmp_path / "scan", [("table", page, True) for page in range(pages)])
    drawn = np.random.default_rng(1).permutation(pages).tolist()
    random = page_requests_of(tmp_path / "random", [("table", page, False) for page in drawn])
    in_order, scattered = (
        {one["placement"]["table"]: one["device_s"] for one in said_as_json("map", str(path), *options)["sizes"][0]["placements"]}
        for path in (scan, random)
    )
    for tier, device in said_as_json("map", str(scan), *options)["tiers"].items():
        model = build(load_device(device), seed=2)
        expected_s = duration_s(model, whole(pages * PAGE_BYTES, request_bytes=128 * KIB), pages * PAGE_BYTES, requests=400, seed=1)
        assert in_order[tier] == pytest.approx(expected_s, rel=0.15)
        assert scattered[tier] > 4 * in_order[tier]


def test_without_sizes_they_are_powers_of_two_until_nothing_more_is_gained(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("".join(f"{page} 1 0 0\n" for page in (*range(3000), *range(3000))))
    found = said_as_json("map", str(tmp_path / "trace"))
    assert [(size["pages"], size["misses"]) for size in found["sizes"]] == [(1024, 6000), (2048, 6000), (3000, 3000)]
    assert simulate_trace(tmp_path / "trace", 2048)["misses"] == 6000


@pytest.mark.parametrize(
    ("options", "said_so"),
    [
        (["--pages", "0"], "--pages"),
        (["--pages", "1,x"], "--pages is '1,x'"),
        (["--sample", "0"], "--sample is 0"),
        (["--sample", "0.5", "--policy", "clock"], "--policy"),
        (["--policy", "arc"], "--policy is 'arc'"),
        (["--relation", "table"], "--relation is 'table'"),
        (["--relation", "table=c.csv"], "no such trace.*a.csv.*vol.1"),
        (["--tiers", "local"], "no device model"),
        (["--device", "vol.9"], "--device is 'vol.9'"),
    ],
)
def test_an_option_that_cannot_be_is_named(traces: list[str], options: list[str], said_so: str) -> None:
    with pytest.raises(InputError, match=said_so):
        CliRunner().invoke(app, ["map", *traces, *options], catch_exceptions=False)


def test_a_format_without_times_cannot_be_merged_by_time(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("7 1 0 1\n")
    with pytest.raises(InputError, match="times is 'ARC': this format has none"):
        CliRunner().invoke(app, ["map", str(tmp_path / "trace"), "--by-time"], catch_exceptions=False)


RELATIONS = ("census", "pob", "pgbench_accounts", "pgbench_accounts_pkey")
INDEX_SCANS = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off"
BITMAP_SCANS = "SET enable_indexscan = off; SET enable_bitmapscan = on"
COUNT = "SELECT count(*) FROM census WHERE pob = 12"
TABLE = "CREATE TABLE census AS SELECT i AS id, i * 7919 % 97 AS pob, repeat('x', 150) AS rest FROM generate_series(1, 60000) AS i"


@pytest.fixture(scope="module")
def server(cluster18: Cluster) -> Iterator[Cluster]:
    cluster18.start(loading_settings())
    try:
        page_requests.require(find_server(cluster=cluster18.data))
    except MissingError as why:
        pytest.skip(str(why))
    pgbench.initialise(cluster18, 1, tables="pg_default", indexes="pg_default")
    with cluster18.connect() as connection:
        connection.execute(f"{TABLE}; CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
        connection.execute("VACUUM (FREEZE, ANALYZE) census")
    cluster18.stop()
    yield cluster18
    empty(cluster18)


@pytest.mark.parametrize("buffers", [120, 400])
def test_requests_and_replayed_misses_are_those_that_the_server_counts(server: Cluster, tmp_path: Path, buffers: int) -> None:
    """Index scans, a bitmap scan, a sequential scan with its ring, and lookups by pgbench."""
    server.start(measuring_settings(server.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=buffers * PAGE_BYTES))
    with page_requests.recorded(find_server(cluster=server.data), seconds=60) as recording, server.connect() as connection:
        nodes = {one_value(connection, "SELECT pg_relation_filenode(%s)", [name]): name for name in RELATIONS}
        with PageCounter(connection, RELATIONS) as counter:
            connection.execute(
                f"{INDEX_SCANS}; {COUNT}; {COUNT}; {BITMAP_SCANS}; {COUNT}; RESET ALL; SELECT count(id) FROM census; {COUNT}"
            )
            with pgbench.Load(server, pgbench.Mix(0.0, 0.0), clients=1, seed=1, transactions=2000):
                pass
    server.stop()
    recording.reads.write_parquet(tmp_path / "requests", metadata=page_requests.KIND)
    names = {relation: relation.split("/")[1].split("_")[0] for relation in recording.reads["relation"].unique()}
    named = [f"--relation={nodes[int(node)]}={relation}" for relation, node in names.items() if int(node) in nodes]
    found = said_as_json("map", str(tmp_path / "requests"), f"--pages={buffers}", "--policy=postgresql", *named)
    pages = recording.reads.group_by(pl.col("relation").replace(names)).agg(pl.col("size_bytes").sum() // PAGE_BYTES)
    requested = dict(pages.iter_rows())
    for node, name in nodes.items():
        assert requested[str(node)] == pytest.approx(counter.pages[name].accesses, rel=0.01), name
        replayed = found["sizes"][0]["relations"][name]["replayed_misses"]
        assert replayed == pytest.approx(counter.pages[name].reads, rel=0.02, abs=4), name


def test_the_command_records_a_file_that_is_behind_no_cache(server: Cluster, tmp_path: Path) -> None:
    server.start(measuring_settings(server.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=400 * PAGE_BYTES))
    out = tmp_path / "requests.parquet"
    with pgbench.Load(server, pgbench.Mix(0.0, 0.0), clients=1, seed=1):
        said("trace", "--cluster", str(server.data), "--seconds", "1", "--requests", "--out", str(out))
    server.stop()
    assert pl.read_parquet(out).schema == page_requests.REQUESTS
    assert said_as_json("map", str(out), "--pages=1000000")["behind_pages"] is None


def test_page_requests_need_a_file(cluster18: Cluster) -> None:
    cluster18.start(loading_settings())
    with pytest.raises(InputError, match=r"--requests.*give --out"):
        trace(cluster=cluster18.data, pid=None, seconds=1, out=None, requests=True)
    cluster18.stop()
