"""What a scan will take: rows against a real server, read-ahead against a real mount, physics, and the command `predict-scan`."""

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from conftest import empty
from emulation import emulated, new_folder
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.page_counts import PageCounter
from tierwise.postgres.settings import Connection
from tierwise.scans import prediction
from tierwise.scans.kernel import CachedFile, OpenFile, Run
from tierwise.scans.prediction import Prediction, Scan, predict
from tierwise.scans.processor import Buffers, IoMethod, ScanMethod
from tierwise.scans.rows import Table, lossy_share, pages_in_order, touched_pages

ROWS = 20
PAGES = 3_000
SELECTIVITIES = (0.02, 0.2, 1.0)
PERCENTS = (100, 99, 90, 0)
ONLY = {
    ScanMethod.SEQUENTIAL: {"enable_indexscan": "off", "enable_bitmapscan": "off"},
    ScanMethod.INDEX: {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off"},
    ScanMethod.BITMAP: {"enable_seqscan": "off", "enable_indexscan": "off", "enable_indexonlyscan": "off"},
}
SMALL = {"autovacuum": "off", "shared_buffers": "256MB", "max_parallel_workers_per_gather": "0", "work_mem": "64MB"}


def said(
    table: Table,
    method: ScanMethod,
    *,
    device: str = "local-nvme",
    cache: Buffers = Buffers.COLD,
    io_method: IoMethod = IoMethod.WORKER,
    workers: int = 3,
    concurrency: int = 16,
    processors: int | None = None,
) -> Prediction:
    return predict(Scan(device, table, method, cache, io_method, workers, concurrency, processors=processors))


@pytest.fixture(scope="module")
def strewn(cluster18: Cluster) -> Iterator[Cluster]:
    cluster18.start(SMALL)
    with cluster18.connect() as conn:
        for percent in PERCENTS:
            table = Table(PAGES, PAGES * ROWS, percent / 100, 1.0)
            order = {100: "k", 0: "random()"}.get(percent, f"k + random_normal(0, {table.jitter_rows})")
            filler = (PAGE_BYTES - 24) // ROWS - 4 - 24 - 8 - 8
            conn.execute("SELECT setseed(0.5)")
            conn.execute(f"CREATE TABLE c{percent} (k bigint, f text STORAGE PLAIN)")
            conn.execute(
                f"INSERT INTO c{percent} SELECT k, repeat('x', {filler}) FROM generate_series(0, {table.rows - 1}) k ORDER BY {order}"
            )
            conn.execute(f"CREATE INDEX ON c{percent} (k)")
            conn.execute(f"VACUUM ANALYZE c{percent}")
    cluster18.stop()
    yield cluster18
    empty(cluster18)


def blocks_read(conn: Connection, table: str, scan: Table, method: ScanMethod) -> int:
    conn.execute("; ".join(f"SET {name} = {value}" for name, value in ONLY[method].items()))
    query = f"SELECT count(f) FROM {table} WHERE k BETWEEN {scan.first} AND {scan.first + scan.matched - 1}"
    (plan,) = conn.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone() or ([],)
    node = plan[0]["Plan"]["Plans"][0]["Node Type"]
    assert node == {"sequential": "Seq Scan", "index": "Index Scan", "bitmap": "Bitmap Heap Scan"}[method]
    with PageCounter(conn, [table]) as counter:
        conn.execute(query)
    return counter.pages[table].reads


@pytest.mark.parametrize("selectivity", SELECTIVITIES)
@pytest.mark.parametrize("method", ScanMethod)
def test_the_pages_are_those_that_a_server_reads(strewn: Cluster, method: ScanMethod, selectivity: float) -> None:
    strewn.start(SMALL)  # with empty buffers
    with strewn.connect() as conn:
        for percent in PERCENTS:
            row = conn.execute("SELECT correlation FROM pg_stats WHERE tablename = %s AND attname = 'k'", [f"c{percent}"]).fetchone()
            assert row is not None
            assert row[0] == pytest.approx(percent / 100, abs=0.02)
            table = Table(PAGES, PAGES * ROWS, percent / 100, selectivity)
            read = blocks_read(conn, f"c{percent}", table, method)
            found = said(table, method, cache=Buffers.WARM).pages
            assert found == pytest.approx(read, rel=0.03 if read >= 1_000 else 0.1, abs=2), percent
    strewn.stop()


@pytest.mark.parametrize("kib", [64, 128])
def test_a_bitmap_forgets_the_rows_of_as_many_pages_as_in_a_server(strewn: Cluster, kib: int) -> None:
    strewn.start(SMALL)
    with strewn.connect() as conn:
        conn.execute("; ".join(f"SET {name} = {value}" for name, value in ONLY[ScanMethod.BITMAP].items()))
        conn.execute(f"SET work_mem = '{kib}kB'")
        for percent, selectivity in product((100, 0), SELECTIVITIES):
            table = Table(PAGES, PAGES * ROWS, percent / 100, selectivity)
            query = f"SELECT count(f) FROM c{percent} WHERE k BETWEEN {table.first} AND {table.first + table.matched - 1}"
            (plan,) = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}").fetchone() or ([],)
            node = plan[0]["Plan"]["Plans"][0]
            touched = touched_pages(table)
            assert node["Exact Heap Blocks"] + node["Lossy Heap Blocks"] == pytest.approx(touched, rel=0.03)
            assert lossy_share(touched, kib * KIB) * touched == pytest.approx(node["Lossy Heap Blocks"], rel=0.1)
    strewn.stop()


def test_a_bitmap_larger_than_its_memory_has_the_rows_of_whole_pages_looked_at() -> None:
    table = Table(200_000, 40_000_000, 0.0, 0.1)
    scan = Scan("local-nvme", table, ScanMethod.BITMAP, Buffers.WARM)
    small, large = predict(scan), predict(replace(scan, work_mem_mib=64))
    assert lossy_share(200_000, 4 * MIB) == pytest.approx(5 * 32_768 / 200_000), "65,536 fit, and 32,768 are forgotten at a time"
    assert lossy_share(65_536, 4 * MIB) == 0
    assert small.pages == large.pages
    assert small.time_s - large.time_s == pytest.approx(163_840 * 180 * 0.042e-6, rel=0.01)
    assert predict(replace(scan, cache=Buffers.COLD)).time_s > predict(replace(scan, cache=Buffers.COLD, work_mem_mib=64)).time_s + 0.5
    assert " 82% " in small.notes[-1]
    assert " 0% " in large.notes[-1]


@pytest.mark.parametrize("correlation", [0.9999, 0.99, 0.9, 0.5, 0.1])
def test_the_jitter_gives_the_correlation_and_the_pages_that_are_reckoned(correlation: float) -> None:
    table = Table(20_000, 400_000, correlation, 1.0)
    pages = pages_in_order(table, np.random.default_rng(1))
    assert np.corrcoef(np.arange(len(pages)), pages)[0, 1] == pytest.approx(correlation, abs=0.005)
    for selectivity in (0.01, 0.1, 0.7):
        part = Table(20_000, 400_000, correlation, selectivity)
        assert touched_pages(part) == pytest.approx(len(np.unique(pages_in_order(part, np.random.default_rng(2)))), rel=0.03)


def test_without_order_the_pages_are_yaos_and_in_order_they_follow_each_other() -> None:
    pages, rows = 50_000, 1_000_000
    assert touched_pages(Table(pages, rows, 0.0, 0.03)) == pytest.approx(pages * (1 - 0.97**20), rel=1e-9)
    assert touched_pages(Table(pages, rows, 1.0, 0.03)) == pages * 0.03
    assert touched_pages(Table(pages, rows, 0.3, 1.0)) == pytest.approx(pages)
    assert touched_pages(Table(pages, rows // 40, 0.0, 1.0)) == rows // 40, "no more pages than rows"
    assert touched_pages(Table(10**8, 2 * 10**9, 0.999999, 1e-6)) == pytest.approx(touched_pages(Table(10**8, 2 * 10**9, -0.999999, 1e-6)))


def patterns() -> dict[str, list[Run]]:
    draw = random.Random(1)
    strewn = [Run(page, 1) for page in draw.sample(range(1, 1_500), 300)]
    near = sorted(range(1, 600), key=lambda page: page + draw.gauss(0, 12))
    return {
        "in order": [Run(page, 1) for page in range(200)],
        "in order, from the middle": [Run(page, 1) for page in range(700, 900)],
        "in order by 128 KiB": [Run(page, 16) for page in range(0, 512, 16)],
        "strewn": strewn,
        "every other page": [Run(page, 1) for page in range(3, 600, 2)],
        "skips": [Run(page, draw.choice([1, 2, 3, 5])) for page in sorted(draw.sample(range(1, 1_500), 200))],
        "jittered": [Run(page, 1) for page in near],
        "backwards": [Run(page, 1) for page in range(300, 100, -1)],
    }


@pytest.fixture(scope="module")
def mounted(workspace: Path) -> dict[str, list[tuple[int, int]]]:
    """Return pattern -> which pages a real kernel requested of a real mount, as (first, count), in the order of the file."""
    requested = {}
    with emulated(new_folder(workspace), cached=True) as tier:
        for name, reads in patterns().items():
            path = tier.directory / name.replace(" ", "-")
            path.write_bytes(bytes(1_600 * PAGE_BYTES))
            os.sync()
            tier.empty_cache()
            tier.reset_io()
            descriptor = os.open(path, os.O_RDONLY)
            for run in reads:
                os.pread(descriptor, run.length * PAGE_BYTES, run.first * PAGE_BYTES)
            os.close(descriptor)
            log = tier.requests().filter((pl.col("operation") == "read") & (pl.col("file") == path.name))
            requested[name] = sorted(
                (at // PAGE_BYTES, size // PAGE_BYTES) for at, size in log.select("offset_bytes", "size_bytes").iter_rows()
            )
    return requested


@pytest.mark.parametrize("name", patterns())
def test_the_kernel_asks_for_what_the_model_says(mounted: dict[str, list[tuple[int, int]]], name: str) -> None:
    opened = OpenFile(CachedFile(1_600))
    runs: list[Run] = []
    for read in patterns()[name]:
        for page in range(read.first, sum(read)):
            runs += opened.reached(page, sum(read) - page)
        opened.end = sum(read)
    assert sorted((run.first, run.length) for run in runs) == mounted[name]


def test_the_local_nvme_returns_the_two_given_figures() -> None:
    pages = 200_000
    in_order = said(Table(pages, pages * ROWS, 1.0, 0.01), ScanMethod.SEQUENTIAL)
    assert in_order.time_s / pages == pytest.approx(1.56e-6, rel=0.03)
    strewn = said(Table(pages, pages * ROWS, 0.0, 0.0005), ScanMethod.INDEX)
    assert strewn.time_s / strewn.pages == pytest.approx(39.3e-6, rel=0.03)


@pytest.mark.parametrize("device", ["micron-7450", "micron-9550"])
def test_a_page_at_random_takes_about_as_many_ordered_ones_from_data_sheets_as_was_given_of_local_ssds(device: str) -> None:
    pages = 200_000
    in_order = said(Table(pages, pages * ROWS, 1.0, 0.01), ScanMethod.SEQUENTIAL, device=device).time_s / pages
    strewn = said(Table(pages, pages * ROWS, 0.0, 0.0005), ScanMethod.INDEX, device=device)
    assert 20 < strewn.time_s / strewn.pages / in_order < 40, "25 to 35 in general; nothing of these drives was fitted"


@pytest.mark.parametrize("device", ["local-nvme", "sata-7k2"])
@pytest.mark.parametrize("correlation", [1.0, 0.9, 0.0])
def test_more_rows_take_longer_and_memory_is_quicker(device: str, correlation: float) -> None:
    for method in ScanMethod:
        found = [said(Table(3_000, 60_000, correlation, share), method, device=device) for share in (0.001, 0.01, 0.1, 1.0)]
        times_s, pages = [one.time_s for one in found], [one.pages for one in found]
        if method is ScanMethod.SEQUENTIAL:
            assert set(pages) == {3_000}
            assert times_s[-1] == pytest.approx(times_s[0], rel=0.2)
        else:
            # Where pages lie side by side the kernel reads ahead and reads are combined, so a few more of them can be quicker.
            assert all(more > less * 0.75 for less, more in pairwise(times_s))
            assert times_s[0] < times_s[-1] / 1.2
            assert pages == sorted(pages)
            assert pages[-1] == 3_000
        assert all(one.low_s < one.time_s < one.high_s for one in found)
        warm = said(Table(3_000, 60_000, correlation, 0.1), method, device=device, cache=Buffers.WARM)
        assert warm.time_s == pytest.approx(found[2].cpu_s, rel=0.01)
        assert warm.time_s < found[2].time_s


def test_reads_side_by_side_are_limited_by_workers_or_by_the_concurrency_and_an_index_scan_has_none() -> None:
    table = Table(50_000, 1_000_000, 0.0, 0.002)

    def bitmap_s(io_method: IoMethod, workers: int, concurrency: int) -> float:
        return said(table, ScanMethod.BITMAP, io_method=io_method, workers=workers, concurrency=concurrency).time_s

    alone_s = bitmap_s(IoMethod.SYNC, 3, 0)
    assert alone_s / bitmap_s(IoMethod.WORKER, 3, 16) == pytest.approx(3, rel=0.2)
    assert alone_s / bitmap_s(IoMethod.WORKER, 1, 16) == pytest.approx(1, rel=0.2)
    assert bitmap_s(IoMethod.WORKER, 12, 16) < bitmap_s(IoMethod.WORKER, 3, 16) / 2
    assert alone_s / bitmap_s(IoMethod.IO_URING, 3, 4) == pytest.approx(4, rel=0.25)
    assert bitmap_s(IoMethod.SYNC, 3, 16) < alone_s / 4, "posix_fadvise announces sixteen"
    index_s = {said(table, ScanMethod.INDEX, io_method=one).time_s for one in IoMethod}
    assert len(index_s) == 1
    for method in (ScanMethod.SEQUENTIAL, ScanMethod.BITMAP):
        assert len({said(table, method, io_method=one, concurrency=0).time_s for one in IoMethod}) == 1, (
            "without any, all read as sync does"
        )


def test_processes_share_the_processors_that_there_are() -> None:
    """The session and three workers compute on a quick drive, and wait on a slow disk; a session that reads by itself needs one."""
    table = Table(4_000, 80_000, 1.0, 1.0)

    def scan_s(processors: int | None, *, io_method: IoMethod = IoMethod.WORKER, device: str = "local-nvme") -> float:
        return said(table, ScanMethod.BITMAP, device=device, io_method=io_method, processors=processors).time_s

    one_s, two_s, four_s, each_s = map(scan_s, (1, 2, 4, None))
    assert four_s == each_s
    assert 1.05 * four_s < two_s
    assert one_s == pytest.approx(2 * two_s, rel=0.15), "both are busy nearly all of the time"
    assert scan_s(1, device="sata-7k2") < 1.1 * scan_s(None, device="sata-7k2")
    assert scan_s(1, io_method=IoMethod.SYNC) == scan_s(None, io_method=IoMethod.SYNC)


@pytest.mark.parametrize("method", ScanMethod)
@pytest.mark.parametrize("device", ["local-nvme", "hdd-1tb"])
@pytest.mark.parametrize(
    ("correlation", "selectivity"),
    [(0.95, 0.2), *(pytest.param(correlation, 1.0, marks=pytest.mark.soak) for correlation in (0.99999, -0.999999))],
)
def test_a_part_stands_for_the_whole(
    monkeypatch: pytest.MonkeyPatch, method: ScanMethod, device: str, correlation: float, selectivity: float
) -> None:
    table = Table(12_000, 240_000, correlation, selectivity)
    part = said(table, method, device=device)
    monkeypatch.setattr(prediction, "SIMULATED_PAGES", 12_000)
    whole = said(table, method, device=device)
    assert part.time_s == pytest.approx(whole.time_s, rel=0.12)
    assert part.cpu_s == pytest.approx(whole.cpu_s, rel=0.05)


@pytest.mark.parametrize("device", ["local-nvme", "hdd-1tb"])
@pytest.mark.parametrize("cache", Buffers)
@pytest.mark.parametrize("method", ScanMethod)
def test_tiny_tables_and_the_ends_of_every_range_have_an_answer(method: ScanMethod, cache: Buffers, device: str) -> None:
    for (pages, rows), correlation in product([(1, 1), (1, 200), (2, 3), (10, 100), (900, 2)], (-1.0, -1e-9, 0.0, 1 - 1e-7)):
        found = [said(Table(pages, rows, correlation, share), method, device=device, cache=cache) for share in (0.0, 1e-9, 0.5, 1.0)]
        assert all(0 < one.low_s <= one.time_s <= one.high_s < 60 for one in found)
        assert [one.pages for one in found] == sorted(one.pages for one in found)
        assert found[0].pages == (pages if method is ScanMethod.SEQUENTIAL else 0)
        assert found[-1].pages == (pages if method is ScanMethod.SEQUENTIAL else min(pages, rows))


OPTIONS = {
    "--device": "local-nvme",
    "--pages": "20000",
    "--rows": "400000",
    "--selectivity": "0.01",
    "--correlation": "0.9",
    "--method": "bitmap",
    "--cache": "cold",
}


def command(**changed: str) -> Result:
    options = OPTIONS | {"--" + name.replace("_", "-"): value for name, value in changed.items()}
    return CliRunner().invoke(app, ["predict-scan", *(word for option in options.items() for word in option)])


def test_the_answer_has_its_keys_and_postgresqls_defaults() -> None:
    found = json.loads(command(format="json").stdout)
    assert {"time_s", "low_s", "high_s", "pages"} <= found.keys()
    assert 0 < found["low_s"] < found["time_s"] < found["high_s"]
    assert found["pages"] == round(touched_pages(Table(20_000, 400_000, 0.9, 0.01)))
    assert found == json.loads(command(format="json", io_method="worker", io_workers="3", effective_io_concurrency="16").stdout), (
        "and it is the same again"
    )
    assert "parallel" in found["notes"][0]
    assert set(found["fitted"]) == {"read_latency", "ordered_read_latency"}
    assert found["cpu_source"].startswith("measured")
    assert json.loads(command(format="json", device="kingston-dc600m").stdout)["fitted"] == {}
    assert f"{found['pages']:,} distinct pages" in command().stdout
    assert "every process has a processor" in command().stdout
    assert "2 processors for all processes" in command(processors="2").stdout


def test_the_cost_of_a_row_is_an_input() -> None:
    slow, quick = (json.loads(command(cache="warm", method="sequential", cpu_us_per_row=us, format="json").stdout) for us in ("2", "1"))
    assert slow["time_s"] - quick["time_s"] == pytest.approx(400_000e-6)
    slow, quick = (json.loads(command(cache="warm", cpu_speed=speed, format="json").stdout) for speed in ("1", "2"))
    assert slow["time_s"] == pytest.approx(2 * quick["time_s"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pages": "0"}, "--pages is 0: must be 1 to 4294967294"),
        ({"rows": "9000000"}, "--rows is 9000000: must be 1 to 5820000"),
        ({"selectivity": "-0.1"}, "--selectivity is -0.1: must be 0 to 1"),
        ({"correlation": "1.5"}, "--correlation is 1.5: must be -1 to 1"),
        ({"io_workers": "0"}, "--io-workers is 0: must be 1 to 32"),
        ({"processors": "0"}, "--processors is 0: must be 1 to 4096"),
        ({"cpu_speed": "0"}, "--cpu-speed is 0.0: must be above 0"),
        ({"cpu_us_per_row": "-1"}, "--cpu-us-per-row is -1.0: must be above 0"),
        ({"device": "drum"}, "data/devices/drum.toml: no such file"),
        ({"pages": "4000000000", "rows": "4000000000"}, "--pages is 4000000000: must fit on local-nvme"),
    ],
)
def test_bad_input_is_refused_in_one_line(changed: dict[str, str], message: str) -> None:
    done = command(**changed)
    assert done.stdout == ""
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith(message)
    assert "\n" not in str(done.exception)
