"""The cheapest placement, RAM and volumes for a workload of any size: counts from the grid, then exact arithmetic on devices and prices.

`page/calculator.js` does the same in a browser, number for number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import floor, inf
from typing import Any, Final, NamedTuple

from pydantic import Field

from tierwise.calculator.device_band import Times, time_band
from tierwise.calculator.grid import ERROR, Counted, Point, least_ram, point, version
from tierwise.calculator.market import DEPTHS, Device, Market, Step, Volume
from tierwise.calculator.shape import entries_of, levels_of
from tierwise.core.errors import InputError, need_above_zero
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES, human_bytes
from tierwise.core.vocabulary import Layout
from tierwise.costs.volume_offers import PIECES
from tierwise.simulate.transactions import UPDATE_BYTES

CHECKPOINT_S: Final = 300.0
LOG_INTERVALS: Final = 2  # the server keeps the log since the checkpoint before the last
STEPS: Final = 40
DOUBLINGS: Final = 10  # how far from the reader's rate another answer is looked for
BISECTIONS: Final = 12
TIE: Final = 1e-9  # costs as near as this are equal: the first placement counts, whatever the order of the sums
TABLE, INDEX, LOG = 1, 2, 4  # what lies on a device, as bits
Placement = tuple[str, str, str]  # devices of table, index and log


class Synthetic(Strict):
    """The reader's workload; without `ram_pages` the cheapest RAM is looked for."""

    table_pages: int
    index_pages: int
    ram_pages: int | None = None
    requests_s: float
    writes: float
    skew: float
    layout: Layout
    clients: int


class Choice(Strict):
    """The cheapest placement with so much RAM: seconds of a request in the storage, and what a month costs."""

    table: str
    index: str
    log: str
    ram_pages: int
    time_s: float
    cost: float


class Turn(Strict):
    """From this rate on, away from the reader's, another placement is the cheapest; `None`: none is fast enough."""

    requests_s: float
    choice: Choice | None


class Volumes(Strict):
    """Equal volumes of one kind, and what each has."""

    count: int
    size_bytes: float
    iops: float
    bytes_per_s: float


class Share(Strict):
    """How much of a drive's space and of its time the workload takes; the larger one is paid."""

    space: float
    time: float


class Answer(Strict):
    """The `next` cheapest choice has another placement. Ends of the time: of what no source states of the devices, of the cost: of the
    prices; and of the grid's `ERROR`. Counts are those of a request. Without a `best` choice, nothing is fast enough.
    """

    workload: Synthetic
    market: str
    on: str
    currency: str
    grid: int
    index_levels: int
    best: Choice | None
    next: Choice | None = None
    time_low_s: float | None = None
    time_high_s: float | None = None
    low: float | None = None
    high: float | None = None
    next_low: float | None = None
    next_high: float | None = None
    table_reads: float | None = None
    index_reads: float | None = None
    write_backs: float | None = None
    log_bytes: float
    volumes: dict[str, Volumes] = Field(default={})
    drives: dict[str, Share] = Field(default={})
    turns: list[Turn]
    by_ram: list[Choice]


class Load(NamedTuple):
    """What a device bears: bytes that lie there, requests, bytes, pages and commits a second."""

    size: float = 0.0
    requests: float = 0.0
    rate: float = 0.0
    pages: float = 0.0
    commits: float = 0.0


@dataclass(frozen=True)
class Solver:
    workload: Synthetic
    market: Market
    point: Point

    @staticmethod
    def rams_of(pages: int) -> list[int]:
        return [floor(pages * least_ram() ** (1 - step / (STEPS - 1)) + 0.5) for step in range(STEPS)]

    @cached_property
    def rams(self) -> list[int]:
        return self.rams_of(self.point.pages)

    @cached_property
    def counts(self) -> dict[int, Counted]:
        return {ram: self.point.counts(ram) for ram in (*self.rams, *([self.workload.ram_pages] if self.workload.ram_pages else []))}

    def prices(self, end: str) -> dict[str, float]:
        return {name: float(getattr(item, end)) for name, item in self.market.items.items()}

    def changed(self, rate: float) -> float:
        """Return pages of the table for each write that the log has whole, and that a checkpoint writes."""
        writes = rate * self.workload.writes * CHECKPOINT_S
        return self.point.changed(writes / self.workload.table_pages) if writes else 0.0

    def log_bytes(self, changed: float) -> float:
        return self.workload.writes * (UPDATE_BYTES + PAGE_BYTES * changed)

    def cheapest(self, ram: int, rate: float, prices: Mapping[str, float], other_than: Placement | None = None) -> Choice | None:
        """Return the cheapest placement with `ram` pages that serves `rate` requests a second."""
        counts, loads, devices = self.counts[ram], self._loads(ram, rate), self.market.devices
        costs = {(name, held): self._month(devices[name], loads, held, prices) for name in devices for held in range(1, 8)}
        best, memory = None, self._memory(ram, prices)
        for on in product(devices, devices, devices):
            time_s = self.time_s(counts, [devices[name].times for name in on])
            if time_s * rate > self.workload.clients or on == other_than:
                continue
            cost = sum((costs[each] for each in _held(on).items()), memory)
            if cost < (inf if best is None else best.cost * (1 - TIE)):
                best = Choice.model_construct(table=on[0], index=on[1], log=on[2], ram_pages=ram, time_s=time_s, cost=cost)
        return best

    def best(self, rate: float, other_than: Placement | None = None) -> Choice | None:
        rams = [self.workload.ram_pages] if self.workload.ram_pages else self.rams
        found = (self.cheapest(ram, rate, self.prices("each"), other_than) for ram in rams)
        return reduce(_cheaper, found)

    def cost(self, choice: Choice, rate: float, end: str) -> float:
        """Return what `choice` costs with every price at one `end` of its band."""
        prices, loads, on = self.prices(end), self._loads(choice.ram_pages, rate), (choice.table, choice.index, choice.log)
        memory = self._memory(choice.ram_pages, prices)
        return sum((self._month(self.market.devices[name], loads, held, prices) for name, held in _held(on).items()), memory)

    def _memory(self, ram: int, prices: Mapping[str, float]) -> float:
        return sum(amount * prices[item] for item, amount in self.market.ram.items()) * ram * PAGE_BYTES

    def bought(self, choice: Choice, rate: float) -> tuple[dict[str, Volumes], dict[str, Share]]:
        """Return the volumes of `choice` and its shares of drives, by device."""
        loads, volumes, drives = self._loads(choice.ram_pages, rate), {}, {}
        for name, held in _held((choice.table, choice.index, choice.log)).items():
            device, load = self.market.devices[name], _together(loads, held)
            if device.volume is None:
                drives[name] = self._share(device, load)
            elif chosen := chosen_volumes(device.volume, load, self.prices("each"))[1]:
                volumes[name] = chosen
        return volumes, drives

    def turns(self) -> list[Turn]:
        return [turn for factor in (0.5, 2.0) if (turn := self._turn(factor))]

    def _turn(self, factor: float) -> Turn | None:
        near = self.workload.requests_s
        own = _placement(self.best(near))
        for _ in range(DOUBLINGS):
            far = near * factor
            other = self.best(far)
            if _placement(other) == own:
                near = far
                continue
            for _ in range(BISECTIONS):
                middle = (near * far) ** 0.5
                found = self.best(middle)
                if _placement(found) == own:
                    near = middle
                else:
                    far, other = middle, found
            return Turn(requests_s=far, choice=other)
        return None

    def time_ends_s(self, choice: Choice) -> tuple[float, float]:
        bands = [time_band(name) for name in (choice.table, choice.index, choice.log)]
        low, high = (self.time_s(self.counts[choice.ram_pages], [band[end] for band in bands]) for end in (0, 1))
        return low * (1 - ERROR), high * (1 + ERROR)

    def time_s(self, counts: Counted, on: Sequence[Times]) -> float:
        """Return seconds of a request with these times of the devices of table, index and log."""
        (table_read_s, table_write_s, _), (index_read_s, _, _), (_, _, commit_s) = on
        read_s = counts.table_reads * table_read_s + counts.index_reads * index_read_s
        return read_s + counts.write_backs * table_write_s + self.workload.writes * commit_s

    def _loads(self, ram: int, rate: float) -> dict[int, Load]:
        counts, changed, writes = self.counts[ram], self.changed(rate), self.workload.writes
        pages = rate * (counts.table_reads + max(counts.write_backs, writes * changed))
        reads, log_rate = rate * counts.index_reads, rate * self.log_bytes(changed)
        return {
            TABLE: Load(self.workload.table_pages * PAGE_BYTES, pages, pages * PAGE_BYTES, pages),
            INDEX: Load(self.workload.index_pages * PAGE_BYTES, reads, reads * PAGE_BYTES, reads),
            LOG: Load(LOG_INTERVALS * CHECKPOINT_S * log_rate, rate * writes, log_rate, 0.0, rate * writes),
        }

    def _month(self, device: Device, loads: Mapping[int, Load], held: int, prices: Mapping[str, float]) -> float:
        load = _together(loads, held)
        if device.volume is not None:
            return chosen_volumes(device.volume, load, prices)[0]
        share = self._share(device, load)
        return max(share.space, share.time) * sum(amount * prices[item] for item, amount in device.bill.items())

    def _share(self, device: Device, load: Load) -> Share:
        depth = max(at for at, depth in enumerate(DEPTHS) if depth <= self.workload.clients)
        busy = load.pages * device.busy_s[depth] + load.commits * device.times[2] / self.workload.clients
        return Share.model_construct(space=load.size / device.capacity, time=busy)


def _together(loads: Mapping[int, Load], held: int) -> Load:
    return Load(*map(sum, zip(*(own for part, own in loads.items() if held & part), strict=True)))


def chosen_volumes(sold: Volume, load: Load, prices: Mapping[str, float]) -> tuple[float, Volumes | None]:
    """Return the monthly cost of the cheapest equal volumes that bear `load`, and these, as `tierwise volumes` chooses them."""
    best, chosen = inf, None
    for count in range(1, PIECES + 1):
        if each := sold.each(load.size / count, load.requests / count, load.rate / count):
            size, iops, rate = each
            cost = count * (size * prices[sold.size] + _above(sold.iops_steps, iops, prices) + _above(sold.rate_steps, rate, prices))
            if cost < best:
                best, chosen = cost, (count, *each)
    return best, chosen and Volumes(count=chosen[0], size_bytes=chosen[1], iops=chosen[2], bytes_per_s=chosen[3])


def solve(workload: Synthetic, market: Market) -> Answer:
    """Return the cheapest placement, RAM and volumes; refuse a workload beyond the grid, and an impossible number."""
    sizes = {"--table-gib": workload.table_pages, "--index-gib": workload.index_pages}
    need_above_zero({**sizes, "--requests": workload.requests_s, "--clients": workload.clients})
    at = point(workload.table_pages, workload.index_pages, skew=workload.skew, layout=workload.layout, writes=workload.writes)
    solver = Solver(workload, market, at)
    if workload.ram_pages is not None and workload.ram_pages < solver.rams[0]:
        raise InputError("not computed", field="--ram-gib", value=workload.ram_pages, rule=f"must be at least {solver.rams[0]} pages")
    rate, prices, found = workload.requests_s, solver.prices("each"), dict[str, Any]()
    if best := solver.best(rate):
        counts, second = solver.counts[best.ram_pages], solver.best(rate, other_than=_placement(best))
        found = {"next": second, "table_reads": counts.table_reads, "index_reads": counts.index_reads, "write_backs": counts.write_backs}
        found["time_low_s"], found["time_high_s"] = solver.time_ends_s(best)
        found["volumes"], found["drives"] = solver.bought(best, rate)
        for prefix, choice in (("", best), ("next_", second)):
            for end, part in (("low", 1 - ERROR), ("high", 1 + ERROR)):
                found[prefix + end] = choice and solver.cost(choice, rate * part, end)
    by_ram = [solver.cheapest(ram, rate, prices) for ram in solver.rams]
    return Answer(
        workload=workload,
        market=market.name,
        on=market.on,
        currency=market.currency,
        grid=version()["version"],
        index_levels=len(levels_of(workload.index_pages, entries_of(workload.index_pages / workload.table_pages))),
        best=best,
        log_bytes=solver.log_bytes(solver.changed(rate)),
        turns=solver.turns(),
        by_ram=[choice for choice in by_ram if choice],
        **found,
    )


def as_text(found: Answer) -> str:
    before = (None, *found.by_ram)
    return render(
        "calculator/text/answer.txt",
        found=found,
        least_ram=None if found.workload.ram_pages else Solver.rams_of(found.workload.table_pages + found.workload.index_pages)[0],
        error=f"{100 * ERROR:g}",
        bytes=lambda pages: human_bytes(pages * PAGE_BYTES),
        rate=lambda requests_s: f"{float(f'{requests_s:.3g}'):,.0f}",
        ms=lambda time_s: f"{1e3 * time_s:,.3g}",
        changes=[choice for last, choice in zip(before, found.by_ram, strict=False) if _placement(last) != _placement(choice)],
    )


def _cheaper(one: Choice | None, other: Choice | None) -> Choice | None:
    return one if other is None or (one is not None and other.cost >= one.cost * (1 - TIE)) else other


def _held(on: Placement) -> dict[str, int]:
    """Return what lies on each device, as the sum of its bits."""
    held = dict.fromkeys(on, 0)
    for part, name in zip((TABLE, INDEX, LOG), on, strict=True):
        held[name] += part
    return held


def _placement(choice: Choice | None) -> Placement | None:
    return None if choice is None else (choice.table, choice.index, choice.log)


def _above(steps: Sequence[Step], amount: float, prices: Mapping[str, float]) -> float:
    ends = [*(step.above for step in steps[1:]), float("inf")]
    return sum(prices[step.item] * max(0.0, min(amount, end) - step.above) for step, end in zip(steps, ends, strict=True)) if steps else 0.0
