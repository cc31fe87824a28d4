"""Move the relations of watched servers one by one, and compare what each move saves with what `advise` predicted.

python scripts/validate_advice.py [LOAD...] [--seconds 600] [--watch 300]    (up to ten hours; writes data/validation/advice.json)

Each load has a server on two emulated tiers, slowed eight-fold. It is watched in real time with everything on the disk. Then placements
are measured, in an order drawn by a seed: every unit above 5 % of the waiting, every pair of the first three, and drawn sets of units up
to eight (two units have three sets only). A placement is measured until its saving is known within a tenth of a transaction's time.
What the file has is not done again.

Since 29 November 2026, fixed before the measurements that it concerns: placements of loads that only read, at no fixed rate, are measured
in virtual time. The four loads with the log on the same disk are measured at least three times, and a placement's time is the mean of all
its measurements. `earlier` in a row has those that came before, put there by hand; the prediction is the last watch's.
`earlier_watch` marks a row whose placement the last watch did not plan.
Since 30 November 2026, fixed before the measurements that it concerns: the stated range of a saving has the noise of both means that it
is the difference of, as shares of the whole transaction's time (before, noise was a share of the saving). Loads with moves below 15 %
are watched and measured again with it.
Loads may run side by side, each with its own TIERWISE_WORK and --out.
"""

import argparse
import datetime as dt
import json
import random
import shutil
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.stats import t as student

from server_loads import CLIENTS, DEPTHS, LOADS, Site, copy_mb_s, pgbench, read_ms, site, sync_ms
from tierwise.advisor.server_advice import advise_server, relative_noise, saving
from tierwise.advisor.server_plan import KINDS
from tierwise.advisor.server_question import LOG, Limits, Question, Unit
from tierwise.advisor.server_tiers import ServerTier
from tierwise.bench.testbed import Testbed
from tierwise.bench.window import by_clock
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.progress import say
from tierwise.core.session_group import session_group
from tierwise.core.vocabulary import ClockKind
from tierwise.costs.book import load_book
from tierwise.postgres.pgbench import Load
from tierwise.postgres.processes import reclaim as reclaim_servers
from tierwise.postgres.workspace import open_workspace
from tierwise.report.values.validation import SMALL, measured_s, moves
from tierwise.tiers.reclaim import reclaim as reclaim_tiers
from tierwise.watch.answer import answer
from tierwise.watch.recording import Request, watch
from tierwise.watch.service_times import ServiceTimes

OUT: Final = "validation/advice.json"
SEED: Final = 47
SLOWDOWN: Final = 8.0
SETTINGS: Final = {"shared_buffers": "8MB", "debug_io_direct": "data", "autovacuum": "off", "checkpoint_timeout": "60s"}
WARM_S: Final = 10.0
LEAST_SHARE, LEAST_PLACEMENTS, PAIRED = 0.05, 8, 3
KNOWN: Final = 0.1
BLOCK_S: Final = {False: 10.0, True: 60.0}  # loads that write have a checkpoint in each block
LEAST_BLOCKS, CONFIDENCE = 3, 0.975
VIRTUAL_BLOCKS, TRANSACTIONS = 20, 4000  # of all sessions, in virtual time; the first block warms up
OPEN: Final = {"TPC-B, log apart": (0.5, 0.8), "census": (0.5, 0.8)}
SPENT: Final = (
    "SELECT active_time + idle_in_transaction_time, xact_commit, extract(epoch FROM clock_timestamp())::float8"
    " FROM pg_stat_database WHERE datname = current_database()"
)


@dataclass(frozen=True)
class Measured:
    """The mean time of a transaction, and half of its 95 % interval."""

    mean_s: float
    half_s: float
    rate: float
    blocks: int


@dataclass(frozen=True)
class Running:
    """A load's script, at `rate` transactions a second or as fast as it goes, and how long each block of its windows is."""

    script: Path
    block_s: float
    rate: float | None = None

    def scripts(self, _accounts: int) -> dict[str, tuple[str, int]]:
        return {"load": (self.script.read_text(encoding="utf-8"), 1)}

    @property
    def options(self) -> list[str]:
        return [f"--file={self.script}", *([f"--rate={self.rate}"] if self.rate else [])]


def measured(at: Site, load: Running, *, most_s: float, known_s: float) -> Measured:
    """Run the load until its mean is known within `known_s`, or for `most_s`."""
    block_s = load.block_s
    blocks: list[tuple[float, float, float]] = []
    began_s = time.monotonic()
    with pgbench(at.cluster, *load.options), at.cluster.connect() as session:
        time.sleep(min(WARM_S, block_s))
        last = session.execute(SPENT).fetchone()
        while True:
            time.sleep(block_s)
            now = session.execute(SPENT).fetchone()
            assert last is not None
            assert now is not None
            spent, done, seconds = (float(new) - float(old) for old, new in zip(last, now, strict=True))
            blocks.append((spent / 1000, max(1.0, done - 1), seconds))
            last = now
            mean_s = sum(one[0] for one in blocks) / sum(one[1] for one in blocks)
            half_s = float("inf")
            if len(blocks) >= LEAST_BLOCKS:
                spread = statistics.stdev(one[0] / one[1] for one in blocks)
                half_s = float(student.ppf(CONFIDENCE, len(blocks) - 1)) * spread / len(blocks) ** 0.5
            if half_s <= known_s or time.monotonic() - began_s + block_s > max(most_s, (LEAST_BLOCKS + 1) * block_s):
                return Measured(mean_s, half_s, sum(one[1] for one in blocks) / sum(one[2] for one in blocks), len(blocks))


def measured_in_virtual_time(at: Site, load: Running) -> Measured:
    """Run the load's transactions by a virtual clock; those of the first block only warm up."""
    assert at.daemon is not None
    testbed = Testbed(load_profile("smoke"), load_pair("today-server"), SEED, at.cluster.folder, at.cluster)
    testbed.tiers, testbed.daemon, testbed.group = dict(at.tiers), at.daemon, at.group
    testbed.go_by(ClockKind.VIRTUAL_SEVERAL)
    delayed(at, on=True)
    within = testbed.started_by(ClockKind.VIRTUAL_SEVERAL)
    with Load(at.cluster, load, clients=CLIENTS, seed=SEED, protocol="prepared", transactions=TRANSACTIONS, within=within) as running:
        pass
    took_s = np.array_split(by_clock(running.transactions, at.daemon)["latency_s"].to_numpy(), VIRTUAL_BLOCKS)[1:]
    delayed(at, on=False)
    testbed.go_by(ClockKind.REAL)
    means_s = [float(block.mean()) for block in took_s]
    half_s = float(student.ppf(CONFIDENCE, len(means_s) - 1)) * statistics.stdev(means_s) / len(means_s) ** 0.5
    mean_s = statistics.mean(means_s)
    return Measured(mean_s, half_s, CLIENTS / mean_s, len(means_s))


def delayed(at: Site, *, on: bool) -> None:
    for tier in at.tiers.values():
        tier.delays(on, slowdown=SLOWDOWN)


def place(at: Site, running: Running, moved: Sequence[str], units: Sequence[Unit], *, log_on_disk: bool) -> None:
    """Put `moved` on the SSD and everything else on the disk, start the server again, and fill its cache; then delays are on."""
    at.cluster.stop()
    delayed(at, on=False)
    if log_on_disk:
        at.move_log("ssd" if any(unit.kind == LOG and unit.name in moved for unit in units) else "hdd")
    with at.group.entered() if at.group else nullcontext():
        at.cluster.start(SETTINGS)
    with at.cluster.connect() as session:
        for unit in units:
            for name in (unit.members or (unit.name,)) if unit.kind in KINDS else ():
                target = "ssd" if unit.name in moved else "hdd"
                session.execute(f"ALTER {KINDS[unit.kind][0]} {name} SET TABLESPACE {target}".encode())
        session.execute("CHECKPOINT")
    with pgbench(at.cluster, *running.options):
        time.sleep(min(WARM_S, running.block_s))
    delayed(at, on=True)


def tiers_of(at: Site, *, log_on_disk: bool, seconds: float) -> dict[str, ServerTier]:
    """Calibrate both tiers on a file as large as the database's largest."""
    with at.cluster.connect() as session:
        row = session.execute("SELECT max(pg_relation_size(oid)) FROM pg_class WHERE relkind IN ('r', 'i', 't')").fetchone()
    assert row is not None
    found = {}
    for name, tier in at.tiers.items():
        file = tier.directory / "calibration"
        tier.delays(False)
        file.write_bytes(bytes(row[0]))
        tier.delays(True, slowdown=SLOWDOWN)
        points = tuple((float(depth), read_ms(file, depth, seconds)) for depth in DEPTHS)
        flushes = tuple((float(depth), sync_ms(file, depth, 2 * seconds)) for depth in DEPTHS) if log_on_disk else ()
        rates = copy_mb_s(file, seconds, write=False), copy_mb_s(file, seconds, write=True)
        file.unlink()
        wal = log_on_disk and name == "hdd"
        found[name] = ServerTier(tablespaces=(name,), wal=wal, read_ms=points, sync_ms=flushes, copy_mb_s=rates, usd_a_month_per_gib=0.1)
    return found


def placements(question: Question, advised: Sequence[str], draw: random.Random) -> list[tuple[str, ...]]:
    waited = sum(unit.waiting_s for unit in question.units)
    large = [unit.name for unit in question.units if unit.waiting_s > LEAST_SHARE * waited and unit.kind in {*KINDS, LOG}]
    found: list[tuple[str, ...]] = [*((name,) for name in large), *combinations(large[:PAIRED], 2)]
    every: list[tuple[str, ...]] = [names for count in range(1, len(large) + 1) for names in combinations(large, count)]
    others = [names for names in every if sorted(names) not in [*map(sorted, found), sorted(advised)]]
    found += [tuple(advised)] if advised and sorted(advised) not in map(sorted, found) else []
    found += draw.sample(others, min(len(others), max(0, LEAST_PLACEMENTS - len(found))))
    draw.shuffle(found)
    return found


def rows_of(name: str, share: float | None, folder: Path, limits: argparse.Namespace, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the watch's row, then a row for each placement that `known` does not have."""
    load, script, out = LOADS[name], folder / "load.sql", folder / "before.parquet"
    folder.mkdir(mode=0o755)
    script.write_text(load.script, encoding="utf-8")
    block_s = min(BLOCK_S[load.writes], limits.seconds / (LEAST_BLOCKS + 1))
    with ExitStack() as stack:
        virtual = not load.writes and share is None
        at = stack.enter_context(site(folder, stack.enter_context(session_group()) if virtual else None))
        at.cluster.start({"shared_buffers": "256MB", "max_wal_size": "4GB"})
        with at.cluster.connect() as session:
            for statement in (*load.make, "VACUUM ANALYZE", "CHECKPOINT"):
                session.execute(statement.encode())
        tiers = tiers_of(at, log_on_disk=load.log_on_disk, seconds=min(4.0, block_s))
        running = Running(script, block_s)
        place(at, running, (), (), log_on_disk=load.log_on_disk)
        if share is not None:
            running = Running(script, block_s, share * measured(at, running, most_s=0.0, known_s=float("inf")).rate)
        with pgbench(at.cluster, *running.options):
            time.sleep(min(WARM_S, block_s))
            watch(Request(at.dsn, limits.watch, out))
        times = ServiceTimes({tier: [(depth, ms / 1000) for depth, ms in tiers[tier].read_ms] for tier in tiers})
        question = Question(answer(out, times), tiers, Limits(), load_book(limits.on))
        try:
            advised = advise_server(question)
        except InputError as refused:
            yield {"load": name, "open": share, "placement": None, "refused": str(refused)}
            return
        noise, base_s = relative_noise(question.activity), question.activity.transaction_s or 0.0
        base: dict[str, Any] = {"load": name, "open": share, "placement": [], "watched_s": base_s, "noise": noise, "advised": advised.moved}
        planned = [(), *placements(question, advised.moved, random.Random(f"{SEED} {name} {share}"))]
        base |= {"sizes": {unit.name: unit.size_bytes for unit in question.units}, "planned": len(planned)}
        known_s = KNOWN * base_s / 2**0.5
        for moved in planned:
            if (row_before := known.get(key_of(name, share, moved))) is None:
                place(at, running, moved, question.units, log_on_disk=load.log_on_disk)
                seen = measured_in_virtual_time(at, running) if virtual else measured(at, running, most_s=limits.seconds, known_s=known_s)
            half_s = row_before["half_s"] if row_before else seen.half_s
            if not moved and half_s < KNOWN * base_s:  # what the first placement leaves of a saving's interval
                known_s = ((KNOWN * base_s) ** 2 - half_s**2) ** 0.5
            if row_before:
                continue
            row: dict[str, Any] = {**base, "placement": list(moved), "seen_s": seen.mean_s, "half_s": seen.half_s}
            row |= {"rate": seen.rate, "blocks": seen.blocks}
            if moved:
                row["predicted_s"] = saving(question, moved, noise).model_dump()
                row["said_s"] = base_s - question.predicted(moved)[0 if share is None else 1].transaction_s
            yield row


def key_of(name: str, share: float | None, moved: Sequence[str]) -> str:
    return json.dumps([name, share, sorted(moved)])


def judged(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return how many moves there are, and shares of those whose saving is a fifth to four fifths of a transaction's time, or of all."""
    base = {(row["load"], row["open"]): row for row in rows if row["placement"] == []}
    found = moves(rows)
    medium = [one for one in found if one["medium"]]
    return {
        "moves": len(found),
        "medium": len(medium),
        "medium with the log on the disk": sum(LOADS[one["place"][0]].log_on_disk for one in medium),
        "saving within 20 %": _mean(one["close"] for one in medium),
        "left within a factor of 1.5": _mean(one["left"] for one in medium),
        "interval holds": _mean(one["held"] for one in found),
        "small ones within noise or the interval": _mean(one["held"] or one["within_noise"] for one in found if one["saved"] < SMALL),
        "half-width": _median(one["half_width"] for one in found if one["saved"] > 0),
        "regret": _median(_regrets(base, rows)),
    }


def _mean(values: Iterable[float]) -> float:
    return statistics.mean(map(float, each)) if (each := list(values)) else float("nan")


def _median(values: Iterable[float]) -> float:
    return statistics.median(each) if (each := list(values)) else float("nan")


def _regrets(base: dict[tuple[str, float | None], dict[str, Any]], rows: Sequence[dict[str, Any]]) -> Iterator[float]:
    """Yield how much longer a transaction takes with what was advised than with the best measured placement that needs no more space."""
    for key, first in base.items():
        own = [row for row in rows if (row["load"], row["open"]) == key and row["placement"] is not None]
        space = {id(row): sum(first["sizes"][unit] or 0.0 for unit in row["placement"]) for row in own}
        advised = next((row for row in own if sorted(row["placement"]) == sorted(first["advised"])), None)
        if advised is not None:
            best_s = min(measured_s(row) for row in own if space[id(row)] <= space[id(advised)])
            yield measured_s(advised) / best_s - 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("loads", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=float, default=900.0, help="most for one placement")
    parser.add_argument("--watch", type=float, default=300.0)
    parser.add_argument("--on", default="2026-11-01", type=dt.date.fromisoformat, help="day of the prices")
    parser.add_argument("--out", type=Path, default=paths.data() / OUT)
    limits = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(limits.out.read_text(encoding="utf-8"))["rows"] if limits.out.exists() else []
    folder = open_workspace() / "advice"
    for name in limits.loads or LOADS:
        for share in (None, *OPEN.get(name, ())):
            own = [row for row in rows if (row["load"], row["open"]) == (name, share)]
            if own and len(own) >= own[0].get("planned", 1):
                continue
            known = {key_of(name, share, row["placement"]): row for row in own if row["placement"] is not None}
            reclaim_servers(folder.parent)
            reclaim_tiers(folder.parent)
            shutil.rmtree(folder, ignore_errors=True)
            for row in rows_of(name, share, folder, limits, known):
                say(f"{name}: {row}")
                rows.append(row)
                kept = {"made_by": "scripts/validate_advice.py", "clients": CLIENTS, "slowdown": SLOWDOWN, "rows": rows}
                write_whole(limits.out, json.dumps(kept, indent=1) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(judged(rows), indent=1))


if __name__ == "__main__":
    main()
