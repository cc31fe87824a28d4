"""Which placement of table and index wins, over memory, skew and write share, and what else an SSD of a given size could do."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Layout
from tierwise.devices.cache_policy import CachePolicy
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.ssd_cache import SsdCache
from tierwise.simulate.heap import interleaved
from tierwise.simulate.replay import EXTENT_BYTES, Access, lay_out_tiers
from tierwise.simulate.transactions import INDEX, TABLE, WAL, Load, Recorded, Rows, rate, record

HDD, SSD = "hdd", "ssd"
BY_TYPE: Final[Mapping[str, Mapping[str, str]]] = {
    "all_hdd": {TABLE: HDD, INDEX: HDD, WAL: WAL},
    "index_ssd": {TABLE: HDD, INDEX: SSD, WAL: WAL},
    "table_ssd": {TABLE: SSD, INDEX: HDD, WAL: WAL},
    "all_ssd": {TABLE: SSD, INDEX: SSD, WAL: WAL},
}
Devices = Callable[[int], Mapping[str, DeviceModel]]  # seed -> new devices by the names ``hdd``, ``ssd`` and ``wal``


@dataclass(frozen=True)
class Case:
    """One point of the map; `index_to_memory` is the size of the index over the memory."""

    index_to_memory: float
    skew: float
    writes: float
    layout: Layout = Layout.STREWN


@dataclass(frozen=True)
class Warming:
    """What comes before: random lookups for each page of memory, and transactions of the case."""

    lookups_per_page: int
    transactions: int


def recorded_case(rows: Rows, case: Case, *, clients: int, host_s: float, transactions: int, warming: Warming, seed: int) -> Recorded:
    memory_pages = max(2, round(rows.index_pages / case.index_to_memory))
    load = Load(clients, case.writes, case.skew, host_s, case.layout)
    lookups = warming.lookups_per_page * memory_pages
    return record(rows, load, memory_pages=memory_pages, transactions=transactions, lookups=lookups, warm=warming.transactions, seed=seed)


def rates_by_type(recorded: Recorded, devices: Devices, seed: int) -> dict[str, float]:
    return {name: rate(recorded, placement, devices(seed)) for name, placement in BY_TYPE.items()}


def partitioned(recorded: Recorded, parts: int, relations: Collection[str] = (TABLE,)) -> Recorded:
    """Return the requests with each of `relations` cut into `parts` partitions of consecutive pages, aged rows with their old pages."""
    pages = {name: -(-recorded.sizes_bytes[name] // PAGE_BYTES // parts) for name in relations}

    def part_of(access: Access) -> Access:
        if access.relation not in pages:
            return access
        number = interleaved(recorded.rows.rows, access.page) if access.relation == TABLE else access.page
        part, page = divmod(number, pages[access.relation])
        return replace(access, relation=f"{access.relation}{part}", page=page)

    sizes = {name: size for name, size in recorded.sizes_bytes.items() if name not in pages}
    sizes |= {f"{name}{part}": size * PAGE_BYTES for name, size in pages.items() for part in range(parts)}
    trace = replace(recorded.trace, accesses=[part_of(access) for access in recorded.trace.accesses])
    return replace(recorded, trace=trace, sizes_bytes=sizes)


def by_heat(recorded: Recorded, budget_bytes: int) -> dict[str, str]:
    """Return relation -> tier: those with most reads for their size on ssd, as long as `budget_bytes` last."""
    sizes = {name: size for name, size in recorded.sizes_bytes.items() if name != WAL}
    reads = Counter(access.relation for access in recorded.trace.accesses if access.operation is Operation.READ)
    placement, left = {WAL: WAL, **dict.fromkeys(sizes, HDD)}, budget_bytes
    for name in sorted(sizes, key=lambda name: reads[name] / sizes[name], reverse=True):
        if sizes[name] <= left:
            placement[name], left = SSD, left - sizes[name]
    return placement


def rate_by_heat(recorded: Recorded, devices: Devices, seed: int, *, budget_bytes: int, parts: int) -> float:
    cut = partitioned(recorded, parts)
    return rate(cut, by_heat(cut, budget_bytes), devices(seed))


def rate_hot(recorded: Recorded, devices: Devices, seed: int, *, parts: int) -> float:
    """Return transactions a second with the first of `parts` partitions on ssd, with its part of the index, and the old ones on hdd."""
    cut = partitioned(recorded, parts, (TABLE, INDEX))
    placement = {**dict.fromkeys(cut.sizes_bytes, HDD), f"{TABLE}0": SSD, f"{INDEX}0": SSD, WAL: WAL}
    return rate(cut, placement, devices(seed))


def rate_cached(recorded: Recorded, devices: Devices, seed: int, policy: CachePolicy, *, budget_bytes: int) -> float:
    """Return transactions a second with everything on hdd behind a cache on an SSD of `budget_bytes`, which has seen the reads before."""
    own = devices(seed)
    cached = SsdCache(own[HDD], own[SSD], policy, cache_bytes=max(budget_bytes, policy.block_bytes))
    laid = lay_out_tiers(recorded.sizes_bytes, BY_TYPE["all_hdd"])
    now_s = 0.0
    for tag, (relation, page) in enumerate(recorded.before):
        extent, rest = divmod(page * PAGE_BYTES, EXTENT_BYTES)
        cached.submit(now_s, tag, Operation.READ, laid[relation][extent] + rest, PAGE_BYTES)
        while (event_s := cached.next_event_s()) < math.inf:  # what it sets off in the background, too
            now_s = event_s
            cached.advance(now_s)
    return rate(recorded, BY_TYPE["all_hdd"], {HDD: cached, WAL: own[WAL]}, started_s=now_s)
