"""What limits a campaign of 10,000 replicates on 10, 100 and 1,000 machines: a simulation of its queue with recorded times.

The client's costs (a look into the store, the check of an attempt) are measured here on a store in a folder; to each request to the
store 30 ms are added, which is assumed for object storage in the same region. The times of replicates are those of `data/plan`.
"""

import json
import random
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Final

from tierwise.cluster.attempts import ROWS, Attempt, Surveyor, new_name, put_attempt
from tierwise.cluster.client import POLL_S, SURVEY_S
from tierwise.cluster.store import FolderStore
from tierwise.core import host, studies
from tierwise.core.profiles import load_profile
from tierwise.plan.estimate import load_recorded

REPLICATES: Final = 10_000
MACHINES: Final = (10, 100, 1000)
REQUEST_S: Final = 0.03
"""Time of a request to object storage (assumed)."""
FIRST_S: Final = 60.0
"""What a new machine needs before its first replicate: it generates or downloads data (assumed)."""
PAGE: Final = 1000
"""Objects that one request lists."""
OBJECTS: Final = 3
"""Objects of an attempt: rows, transactions or reads, and the manifest."""
ROWS_BYTES: Final = 300_000
"""Size of an attempt's tables (assumed; those of the tests' smallest campaign have 20 to 60 kB)."""
SPREAD: Final = 0.1
"""How far the times of equal replicates lie apart, as the sigma of their logs (assumed)."""


@dataclass(frozen=True)
class ClientCosts:
    check_s: float  # of one attempt
    list_s: float  # of 1,000 objects


@dataclass(frozen=True)
class Outcome:
    machines: int
    hours: float
    busy: float  # share of the machines' time in which they measure
    client: float  # share of the time in which the client is at work
    ideal_hours: float  # without client and store
    tail_hours: float  # in which some machine had nothing left to do


def client_costs() -> ClientCosts:
    """Measure both costs with 200 attempts in a folder, and add the time of the requests."""
    attempts = 200
    with tempfile.TemporaryDirectory() as folder:
        store, now = FolderStore(Path(folder)), datetime.now(UTC)
        for number in range(attempts):
            attempt = Attempt(
                run_id="r",
                study="s",
                replicate=number,
                attempt=new_name(),
                outcome="whole",
                machine="m",
                host=host.fingerprint(),
                code_version="",
                fingerprint="",
                prices="",
                started_at=now,
                finished_at=now,
            )
            put_attempt(store, attempt, {ROWS: random.Random(number).randbytes(ROWS_BYTES)})
        surveyor = Surveyor(store, "r")
        began_s = time.perf_counter()
        surveyor.survey("s")
        first_s = time.perf_counter() - began_s
        surveyor.survey("s")
        again_s = time.perf_counter() - began_s - first_s
    return ClientCosts((first_s - again_s) / attempts + OBJECTS * REQUEST_S, again_s / (2 * attempts) * PAGE + REQUEST_S)


def replicate_times(seed: int) -> list[float]:
    """Return seconds of 10,000 replicates: those of a full run of every study, again and again."""
    recorded, profile, draw = load_recorded().profiles["full"].studies, load_profile("full"), random.Random(seed)
    each = {name: recorded[name].seconds / profile.replicates_of(name) for name in studies.names()}
    every = [each[name] for name in studies.names() for _ in range(profile.replicates_of(name))]
    return [every[number % len(every)] * draw.lognormvariate(0.0, SPREAD) for number in range(REPLICATES)]


def simulate(machines: int, costs: ClientCosts, seed: int = 1) -> Outcome:
    """Run the client's loop: it sees what has ended, looks into the store, gives work to idle machines, and waits."""
    left, measured_s, used_s, ended, now_s = replicate_times(seed)[::-1], 0.0, 0.0, 0, 0.0
    running: list[float] = []  # when each ends
    fresh, first_idle_s, surveyed_s = machines, 0.0, 0.0
    while ended < REPLICATES:
        done = 0
        while running and running[0] <= now_s:
            heappop(running)
            done += 1
        work_s = done * (costs.check_s + REQUEST_S)  # a replicate's attempts are listed by one request
        if now_s + work_s - surveyed_s > SURVEY_S:
            work_s += costs.list_s * OBJECTS * (ended + done) / len(studies.names()) / PAGE
            surveyed_s = now_s + work_s
        ended += done
        while left and len(running) < machines:
            took_s = left.pop()
            start_s = now_s + work_s + (FIRST_S if fresh else 0.0)
            fresh = max(0, fresh - 1)
            measured_s += took_s
            heappush(running, start_s + took_s)
        if not left and not first_idle_s:
            first_idle_s = now_s
        used_s += work_s
        now_s += POLL_S + work_s
    ideal = [0.0] * machines
    heapify(ideal)
    for took_s in replicate_times(seed):
        heappush(ideal, heappop(ideal) + took_s)
    return Outcome(
        machines, now_s / 3600, measured_s / now_s / machines, used_s / now_s, (max(ideal) + FIRST_S) / 3600, (now_s - first_idle_s) / 3600
    )


def main() -> None:
    """Print the measured costs, then a line for each number of machines."""
    costs = client_costs()
    print(json.dumps({"check_s": costs.check_s, "list_1000_s": costs.list_s}))
    print("machines   hours   without client and store   machines busy   client busy   hours of the last replicates")
    for machines in MACHINES:
        one = simulate(machines, costs)
        print(f"{machines:8}{one.hours:8.2f}{one.ideal_hours:27.2f}{one.busy:16.1%}{one.client:14.1%}{one.tail_hours:31.2f}")


if __name__ == "__main__":
    main()
