"""How true the emulated mount is to its device models, and how much it can take: a table, and data/validation/emulator.json.

Run: ``make bench``, or ``python benchmarks/emulator.py [PART...]``; about five minutes, fio needed. Direct I/O on files in the page cache
below the mount. The mount logs a device's requests, and the log is replayed through the same model, new: what fio saw is held against
that. Of random writes those count that come after a filling, twice what the device's caches hold but no longer than `FILLING_SECONDS`;
whether that is a steady state is not tested. The limits are measured beside the plain directory and an empty server in C.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import polars as pl
import psutil

from tierwise.analysis.statistics import geometric_estimate
from tierwise.core import paths
from tierwise.core.errors import TierwiseError
from tierwise.core.files import write_whole
from tierwise.core.host import fingerprint
from tierwise.core.units import GIB, KIB, MIB, PAGE_BYTES
from tierwise.devices.geometry import Spiral
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec, HddSpec, load_device
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.mounting import mount, unmount
from tierwise.tiers.scheduling import WAKING, AwakeProcessors, real_time

DRIVES, SPREAD = ("sata-7k2-x6", "sas-10k-raid10", "st3000dm001"), "sata-7k2"
SEED: Final = 1
FILE_BYTES, FLASH_FILE_BYTES = 2 * GIB, 64 * MIB
DISK_LIMIT, FLASH_LIMIT, BESIDE_BOUND = 0.03, 0.08, 0.5
FILLING_SECONDS, ROUNDS = 12, 8
FLASH_IOPS, MOUNT_IOPS = 20_000, 60_000
RESULT: Final = paths.data() / "validation" / "emulator.json"

FLASH: Final = "flash-250us"
FLASH_TOML: Final = """
kind = "ssd"
name = "250 us for 8 KiB"
description = "for this benchmark"
capacity = { value = 32, unit = "GB", source = "assumed" }
channels = { value = 32, unit = "1", source = "assumed" }
read_latency = { value = 241.808, unit = "us", source = "assumed" }
write_latency = { value = 241.808, unit = "us", source = "assumed" }
flush_latency = { value = 100, unit = "us", source = "assumed" }
read_rate = { value = 1000, unit = "MB/s", source = "assumed" }
write_rate = { value = 1000, unit = "MB/s", source = "assumed" }
"""


@dataclass(frozen=True)
class Load:
    """What fio does: like its own options; with `total_bytes` it takes each block once and ends after these or after `seconds`."""

    rw: str
    depth: int = 1
    jobs: int = 1
    bytes: int = PAGE_BYTES
    seconds: int = 2  # fio knows no fractions
    total_bytes: int = 0
    urgent: bool = True  # at real-time priority, as the daemon is with the delays on: others on the machine count less

    def __str__(self) -> str:
        size = f"{self.bytes // MIB} MiB" if self.bytes >= MIB else f"{self.bytes // KIB} KiB"
        return f"{self.rw:9} {size} {f'{self.jobs} jobs' if self.jobs > 1 else f'depth {self.depth}'}"


@dataclass(frozen=True)
class Ran:
    load: Load
    mean_s: float
    iops: float
    begun_s: float  # CLOCK_MONOTONIC
    ended_s: float
    daemon_s: float  # processor time of the daemon per request
    foreign: float  # share of the processors that neither fio nor the daemon had


def run(path: Path, load: Load, daemon: psutil.Process | None = None, *, seed: int = SEED) -> Ran:
    length = f"--io_size={load.total_bytes}" if load.total_bytes else "--time_based --norandommap"
    options = (
        f"--rw={load.rw} --bs={load.bytes} --size={path.stat().st_size} --numjobs={load.jobs} --iodepth={load.depth} --direct=1 {length} "
        f"--ioengine={'psync' if load.depth == 1 else 'libaio'} --runtime={load.seconds} --randrepeat=0 --randseed={seed} "
        "--thread --group_reporting --output-format=json"
    )
    before, begun_s = _spent_s(daemon), time.monotonic()
    real_time(load.urgent)  # fio inherits it
    said = subprocess.run(["fio", "--name=bench", f"--filename={path}", *options.split()], check=False, capture_output=True, text=True)
    real_time(False)
    if said.returncode:
        raise TierwiseError(f"fio failed: {said.stderr or said.stdout}")
    ended_s = time.monotonic()
    busy_s, ours_s, daemon_s = (now_s - then_s for now_s, then_s in zip(_spent_s(daemon), before, strict=True))
    foreign = (busy_s - ours_s - daemon_s) / (ended_s - begun_s) / (os.cpu_count() or 1)
    seen: dict[str, Any] = json.loads(said.stdout[said.stdout.index("{") :])["jobs"][0]["write" if "write" in load.rw else "read"]
    return Ran(load, seen["lat_ns"]["mean"] / 1e9, seen["iops"], begun_s, ended_s, daemon_s / max(1, seen["total_ios"]), max(0.0, foreign))


def _spent_s(daemon: psutil.Process | None) -> tuple[float, float, float]:
    """Return the processor time of the machine, of our children and of `daemon`."""
    spent, mine = psutil.cpu_times(), os.times()
    busy_s = sum(spent) - spent.idle - spent.iowait - spent.guest - spent.guest_nice
    return busy_s, mine.children_user + mine.children_system, sum(daemon.cpu_times()[:2]) if daemon else 0.0


def replay(model: DeviceModel, log: pl.DataFrame) -> pl.DataFrame:
    """`log` with `done_s`, when `model` alone completes each request."""
    done_s: dict[int, float] = {}
    for tag, (came_s, operation, address, size) in enumerate(log.select("time_s", "operation", "address_bytes", "size_bytes").iter_rows()):
        done_s |= model.advance(came_s)
        model.submit(came_s, tag, Operation[operation.upper()], address, size)
    while (event_s := model.next_event_s()) < math.inf:
        done_s |= model.advance(event_s)
    return log.with_columns(pl.Series("done_s", [done_s[tag] for tag in range(len(log))], pl.Float64))


def expected(replayed: pl.DataFrame, ran: Ran) -> float:
    """Return what fio would have seen of the model alone: bytes a second of 1 MiB requests, else the mean time of one."""
    mine = replayed.filter(pl.col("time_s").is_between(ran.begun_s, ran.ended_s))
    done_s, came_s = mine["done_s"].to_numpy(writable=True), mine["time_s"].to_numpy()
    if ran.load.bytes == MIB:
        return len(mine) * MIB / float(done_s.max() - came_s.min())
    done_s.sort()
    done_s[-ran.load.depth :] = done_s[-1]  # at its end fio looks at what is out when all of it is through
    return float(done_s.mean() - came_s.mean())


@contextmanager
def mounted(folder: Path, device: str, file_bytes: int, *, stretch: float = 1.0) -> Iterator[tuple[Emulated, Path, psutil.Process]]:
    """Provide a tier without delays, a file on it, and its daemon."""
    tier = Emulated("bench", device, work=folder / device, stretch=stretch, seed=SEED, owner=(os.getuid(), os.getgid()))
    tier.start()
    try:
        path = tier.directory / "file"
        with path.open("wb", buffering=0) as file:
            for _ in range(file_bytes // MIB):
                file.write(bytes(MIB))
        tier.reset_io()
        yield tier, path, psutil.Process(tier.daemon.pid)
        path.unlink()
    finally:
        tier.stop()
        shutil.rmtree(folder / device)


class Table:
    """Figures, printed as they come."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.beside: dict[str, float] | None = None
        print(f"{'':53} {'measured':>14} {'expected':>14} {'ratio':>6} {'target':15} daemon a request, others", flush=True)

    def add(
        self, part: str, subject: str, ran: Ran, unit: str, measured: float, *, expected: float | None = None, limit: float | None = None
    ) -> None:
        """Add one figure; `limit` is the largest deviation from `expected` or, where nothing is expected, the least that is enough."""
        ratio, load = measured / expected if expected else None, ran.load
        met = None if limit is None else abs(ratio - 1) <= limit if ratio else measured >= limit
        target = "" if limit is None else f"{f'+-{limit:.0%}' if ratio else f'>={limit:,.0f}':>8} {'met' if met else 'MISSED'}"
        figures = f"{_shown(unit, measured):>14} {_shown(unit, expected):>14} {f'{ratio:.3f}' if ratio else '':>6} {target:15}"
        print(f"{subject:26} {load!s:26} {figures} {ran.daemon_s * 1e6:8.1f} us {ran.foreign:4.0%}", flush=True)
        row: dict[str, Any] = {"part": part, "subject": subject, "operation": load.rw}
        row |= {name: getattr(load, name) for name in ("bytes", "depth", "jobs")}
        row |= {"unit": unit, "measured": measured, "expected": expected, "limit": limit, "met": met}
        row |= {"daemon_s": ran.daemon_s, "foreign": ran.foreign}
        self.rows.append({name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in row.items()})

    def near(self, part: str, subject: str, ran: Ran, expected: float, limit: float | None) -> None:
        """Add what should be `expected`: the bandwidth of 1 MiB requests, the mean time of others."""
        unit, measured = ("B/s", ran.iops * MIB) if ran.load.bytes == MIB else ("s", ran.mean_s)
        self.add(part, subject, ran, unit, measured, expected=expected, limit=limit)


def _shown(unit: str, value: float | None) -> str:
    return "" if value is None else {"s": f"{value * 1e6:,.1f} us", "B/s": f"{value / 1e6:,.1f} MB/s", "IOPS": f"{value:,.0f} IOPS"}[unit]


def accuracy(device: str) -> Callable[[Table, Path], None]:
    """One device, as new before what leaves its caches alone and before what fills them."""
    spec = load_device(device)
    caches = [spec.write_cache.size.base] if isinstance(spec, ArraySpec) and spec.write_cache else []
    caches += [spec.cache.base] if isinstance(spec, HddSpec) and spec.write_back.value else []
    orderly = [*(Load("randread", depth) for depth in (1, 8, 32)), Load("read", bytes=MIB), Load("write", bytes=MIB)]
    writes = [Load("randwrite", depth) for depth in (1, 8, 32)]
    unjudged: dict[Load, str] = {}
    if caches:
        filling = Load("randwrite", 32, seconds=FILLING_SECONDS, total_bytes=2 * int(sum(caches)))
        unjudged = {Load("randwrite", seconds=1): "empty cache", filling: "filling it"}

    def measure(table: Table, folder: Path) -> None:
        with mounted(folder, device, FILE_BYTES) as (tier, path, daemon):
            for loads in (orderly, [*unjudged, *writes]):
                tier.delays(True)  # the device is as new
                tier.reset_io()
                ran = [run(path, load, daemon, seed=seed) for seed, load in enumerate(loads, start=SEED)]
                replayed = replay(build(spec, seed=SEED), tier.requests())
                tier.delays(False)
                for each in ran:
                    subject, limit = f"{device} {unjudged.get(each.load, '')}".strip(), None if each.load in unjudged else DISK_LIMIT
                    table.near("accuracy", subject, each, expected(replayed, each), limit)

    return measure


def scale(table: Table, folder: Path) -> None:
    """Measure a file stretched to 1 x and 10 x its size, and over a whole disk, where the disk's data sheet says what to expect."""
    spec = load_device(SPREAD)
    assert isinstance(spec, HddSpec)
    turn_s = 1 / spec.rotation.base
    disk = Spiral(int(spec.capacity.base), turn_s, spec.outer_rate.base, spec.inner_rate.base, int(spec.surfaces.base))
    whole = disk.cylinders / disk.spot(FILE_BYTES)[1]
    for name, stretch, seconds in (("1 x", 1.0, 4), ("10 x", 10.0, 4), ("whole disk", whole, 40)):
        with mounted(folder, SPREAD, FILE_BYTES, stretch=stretch) as (tier, path, daemon):
            tier.delays(True)
            ran = run(path, Load("randread", seconds=seconds), daemon)
            replayed = replay(build(spec, seed=SEED, stretch=stretch), tier.requests())
            tier.delays(False)
        table.near("scale", f"{SPREAD} {name}", ran, expected(replayed, ran), DISK_LIMIT)
    stated_s = spec.average_seek.base + turn_s / 2 + PAGE_BYTES / spec.outer_rate.base
    table.near("data sheet", f"{SPREAD} data sheet", ran, stated_s, DISK_LIMIT)


ALONE: Final = Load("randread", urgent=False)
MOST: Final = tuple(Load("randread", depth, jobs, urgent=False) for depth, jobs in ((32, 1), (8, 4), (1, 8)))


def limits(table: Table, folder: Path) -> None:
    """Measure what the mount adds and takes, beside nothing and an empty server; processors kept awake, as with the delays on."""
    wakefulness = AwakeProcessors()
    wakefulness.hold()
    plain = folder / "plain"
    plain.write_bytes(bytes(FLASH_FILE_BYTES))
    subprocess.run(["sync", plain], check=True)
    _limit(table, "plain directory", plain)
    with mounted(folder, FLASH, FLASH_FILE_BYTES) as (tier, path, daemon):
        run(path, ALONE, daemon)  # the mount has loaded what answers many reads
        load = _limit(table, "mount, no delays", path, daemon, least=MOUNT_IOPS)
        try:
            with empty_server(folder) as (other, server):
                _beside(table, (path, daemon, load), (other, server, _limit(table, "empty server in C", other, server)))
        except (FileNotFoundError, subprocess.CalledProcessError) as absent:
            print(f"empty server in C: left out, because it could not be built: {absent}")
        wakefulness.release()
        tier.delays(True)
        for load in (Load("randread"), Load("randwrite")):
            table.near("accuracy", FLASH, run(path, load, daemon), 250e-6, FLASH_LIMIT)
        ran = run(path, Load("randread", jobs=8), daemon)
        table.add("accuracy", FLASH, ran, "IOPS", ran.iops, limit=FLASH_IOPS)
        tier.delays(False)


def _limit(table: Table, subject: str, path: Path, server: psutil.Process | None = None, *, least: float | None = None) -> Load:
    """Add how long one read takes, and how many are answered at the most; returns the load with which."""
    alone, most = run(path, ALONE, server), max((run(path, load, server) for load in MOST), key=lambda ran: ran.iops)
    table.add("limits", subject, alone, "s", alone.mean_s)
    table.add("limits", subject, most, "IOPS", most.iops, limit=least)
    return most.load


def _beside(table: Table, *both: tuple[Path, psutil.Process, Load]) -> None:
    """Read from the mount and the empty server in turn, both without delays, each with the load of which it takes most."""
    ratios = []
    for number in range(ROUNDS):
        iops = {at: run(path, load, server).iops for at, (path, server, load) in list(enumerate(both))[:: -1 if number % 2 else 1]}
        ratios.append(iops[0] / iops[1])
    found = geometric_estimate(ratios)
    ratio, low, high = (cast("float", one) for one in (found.value, found.low, found.high))  # `ROUNDS` are enough for an interval
    table.beside = {"ratio": ratio, "low": low, "high": high, "rounds": ROUNDS, "bound": BESIDE_BOUND}
    verdict = "met" if low >= BESIDE_BOUND else "MISSED" if high < BESIDE_BOUND else "open"
    interval = f"95 % interval {low:.3f} to {high:.3f} of {ROUNDS} rounds"
    print(f"mount over empty server: {ratio:.3f}, {interval} (bound: at least {BESIDE_BOUND}) {verdict}", flush=True)


@contextmanager
def empty_server(folder: Path) -> Iterator[tuple[Path, psutil.Process]]:
    """Provide a file of an empty_fuse.c that is mounted, and its process."""
    program, mountpoint = folder / "empty_fuse", folder / "empty"
    subprocess.run(["cc", "-O2", "-o", program, Path(__file__).with_name("empty_fuse.c")], check=True, capture_output=True)
    mountpoint.mkdir()
    fuse = mount(mountpoint)
    os.set_blocking(fuse, True)
    with subprocess.Popen([program, str(fuse), str(FLASH_FILE_BYTES)], pass_fds=[fuse]) as server:
        os.close(fuse)
        try:
            yield mountpoint / "file", psutil.Process(server.pid)
        finally:
            unmount(mountpoint)


PARTS: Final[dict[str, Callable[[Table, Path], None]]] = {"limits": limits, "scale": scale, **{name: accuracy(name) for name in DRIVES}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)}; without any all, and the figures are kept")
    wanted = parser.parse_args().part
    if not shutil.which("fio"):
        print("fio is missing. Remedy: apt-get install fio, or conda install fio", file=sys.stderr)
        return 1
    begun_s, load_before = time.monotonic(), os.getloadavg()
    devices, table = paths.data() / "devices", Table()
    try:
        with tempfile.TemporaryDirectory(prefix="tierwise-bench-", dir="/var/tmp") as scratch:
            shutil.copytree(devices, Path(scratch, "data", "devices"))
            Path(scratch, "data", "devices", f"{FLASH}.toml").write_text(FLASH_TOML, encoding="utf-8")
            os.environ["TIERWISE_HOME"] = scratch  # of the daemons, too
            for part in wanted or PARTS:
                PARTS[part](table, Path(scratch))
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1
    judged = [row["met"] for row in table.rows if row["met"] is not None]
    print(f"{sum(judged)} of {len(judged)} targets met, in {time.monotonic() - begun_s:.0f} s; load average {load_before[0]:.1f} before")
    if not wanted:
        keep(table, load_before)
    return 0


def keep(table: Table, load_before: tuple[float, float, float]) -> None:
    kept = {
        "made_by": "benchmarks/emulator.py",
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": fingerprint().model_dump(mode="json"),
        "fio": subprocess.run(["fio", "--version"], check=True, capture_output=True, text=True).stdout.strip(),
        "processors_awake": os.access(WAKING, os.W_OK),
        "load_average_before": load_before[0],
        "mount_over_empty_server": table.beside,
        "rows": table.rows,
    }
    write_whole(RESULT, json.dumps(kept, indent=1) + "\n")
    print(f"kept in data/validation/{RESULT.name}")


if __name__ == "__main__":
    sys.exit(main())
