"""Misses and write-backs of every cache size from one pass over traces, and what each placement then takes in time and money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.advisor.service import SEED, Counted
from tierwise.core.errors import InputError
from tierwise.core.pairs import DirectoryTier, load_pair
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES, human_bytes
from tierwise.costs.book import Book
from tierwise.costs.hardware import ram_bill, share_bill
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.model import build
from tierwise.devices.spec import load_device
from tierwise.simulate import shared_buffers
from tierwise.simulate.page_cache import POLICIES, replay
from tierwise.simulate.page_trace import TraceOptions
from tierwise.simulate.replay import EXTENT_BYTES, Access, Trace
from tierwise.simulate.replay import replay as replay_reads
from tierwise.simulate.stack_distances import Curve, SampledCurve, curve_of
from tierwise.simulate.trace_stream import Stream, read_stream

LOG_TIER: Final = "wal"
EVERY_POLICY: Final = (*POLICIES, shared_buffers.POLICY)
MOST_PLACEMENTS: Final = 256
MOST_COUNTS: Final = 2**28  # relations times pages of a trace: each takes some 36 bytes
MOST_BYTES: Final = 2**62
_FIRST: Final = 1024


@dataclass(frozen=True)
class Wish:
    """What to map: caches of `pages` (empty: powers of two), the sample of pages, the cache above the recorder, tiers, another policy."""

    pages: Sequence[int] = ()
    sample_rate: float = 1.0
    behind: int | None = None
    tiers: str = ""
    policy: str = ""
    named: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for option, value, good, rule in (
            ("--pages", self.pages, all(size >= 1 for size in self.pages), "must be 1 or more"),
            ("--sample", self.sample_rate, 0 < self.sample_rate <= 1, "must be above 0 and at most 1"),
            ("--behind", self.behind, self.behind is None or self.behind >= 1, "must be 1 or more"),
            ("--policy", self.policy, not self.policy or self.policy in EVERY_POLICY, f"must be one of {', '.join(EVERY_POLICY)}"),
            ("--policy", self.policy, not self.policy or self.sample_rate == 1, "no replay of a sample"),
        ):
            if not good:
                raise InputError(option, value=value, rule=rule)


class OfRelation(Strict):
    read_misses: int
    write_misses: int
    write_backs: int
    replayed_misses: int | None = None


class Placed(Strict):
    """A placement of the named relations, or of all; `device_s` is the simulated time of their reads and write-backs, one after the other.

    The reads are those of PostgreSQL's replay in their order, if there is one, or else single pages at random places.
    """

    placement: dict[str, str]
    device_s: float
    cost_a_month: float


class Size(Strict):
    """A cache of `pages`; `replayed_misses` are those of the other policy, by relation if that is PostgreSQL's."""

    pages: int
    misses: int
    miss_ratio: float
    read_misses: int
    write_backs: int
    replayed_misses: int | None
    relations: dict[str, OfRelation]
    placements: list[Placed]


class MemoryMap(Strict):
    formats: list[str]
    rows: int
    left_out: dict[str, int]
    requests: int
    writes: int
    distinct_pages: int
    page_bytes: int
    exact: bool
    sample_rate: float
    exact_pages: int | None
    behind_pages: int | None
    policy: str | None
    tiers: dict[str, str]
    currency: str
    relation_pages: dict[str, int]
    sizes: list[Size]


def map_traces(paths: Sequence[Path], options: TraceOptions, wish: Wish, book: Book) -> MemoryMap:
    """Return what caches of the wanted sizes miss, by relation, and with tiers what each placement costs."""
    stream = read_stream(paths, options, named=wish.named, sample_rate=wish.sample_rate)
    page_bytes = options.page_bytes or PAGE_BYTES
    _check_recorder(stream, wish)
    if not len(stream.pages) or len(stream.relations) * len(stream.relation) > MOST_COUNTS:
        rule = "the sample is empty" if not len(stream.pages) else f"relations times pages must be at most {MOST_COUNTS}"
        remedy = "choose one with --device, or change --sample"
        raise InputError("trace", field="pages", value=len(stream.relation), rule=rule, remedy=remedy)
    found_curve = curve_of(stream.pages, stream.is_write, stream.relation, len(stream.relations))
    curve = found_curve if wish.sample_rate == 1 else SampledCurve(found_curve, wish.sample_rate, stream.near)
    counts = np.bincount(stream.relation, minlength=len(stream.relations)) / wish.sample_rate
    relation_pages = {name: round(count) for name, count in zip(stream.relations, counts.tolist(), strict=True)}
    distinct = sum(relation_pages.values())
    sizes = sorted(set(wish.pages)) or _powers(min(distinct, wish.behind or distinct))
    placed = {name: count for name, count in relation_pages.items() if not wish.named or name in wish.named.values()}
    tiers = _devices(wish.tiers, placed) if wish.tiers else {}
    seconds_each = paces(tiers, placed, page_bytes)
    found = []
    for pages in sizes:
        missed = shared_buffers.misses(stream, pages) if wish.policy == shared_buffers.POLICY else None
        found.append(_size(pages, stream, curve, wish, missed))
        reads = shared_buffers.reads(stream, missed, pages, placed) if tiers and missed is not None else None
        found[-1].placements.extend(_placements(found[-1], tiers, seconds_each, placed, page_bytes, book, reads))
    return MemoryMap(
        formats=stream.formats,
        rows=stream.rows,
        left_out=dict(stream.left_out),
        requests=stream.requests,
        writes=stream.writes,
        distinct_pages=distinct,
        page_bytes=page_bytes,
        exact=wish.sample_rate == 1,
        sample_rate=wish.sample_rate,
        exact_pages=None if stream.near is None else stream.near.most,
        behind_pages=wish.behind,
        policy=wish.policy or None,
        tiers=tiers,
        currency=book.currency,
        relation_pages=relation_pages,
        sizes=found,
    )


def reads_left(path: Path, cache_bytes: float) -> float | None:
    """Return what share of the page reads is left if a cache of `cache_bytes` is doubled, without the first read of each page.

    None: the recording has no page that the cache had dropped. A file with reads of a device in place of page requests is refused.
    """
    stream = read_stream([path], TraceOptions(), named={}, sample_rate=1.0)
    if stream.behind_a_cache:
        rule, remedy = "has reads of a device, behind shared_buffers", "record page requests: tierwise trace --requests --out FILE"
        raise InputError("--requests", value=path, rule=rule, remedy=remedy)
    curve, pages = curve_of(stream.pages, stream.is_write, stream.relation, len(stream.relations)), int(cache_bytes / PAGE_BYTES)
    now, twice = (int((counted.reads + counted.writes).sum()) - len(stream.relation) for counted in map(curve.at, (pages, 2 * pages)))
    return twice / now if now else None


def as_text(found: MemoryMap) -> str:
    placements = found.sizes[0].placements
    names = list(placements[0].placement if placements else found.relation_pages)
    return render("advisor/text/map.txt", found=found, left_out=sum(found.left_out.values()), names=names, size=human_bytes)


def _check_recorder(stream: Stream, wish: Wish) -> None:
    """Refuse sizes that a recorder below a cache cannot tell of."""
    if stream.behind_a_cache and wish.behind is None:
        rule = "this trace has reads of a device, behind a cache whose size the file does not say"
        raise InputError("--behind", rule=rule, remedy="give --behind PAGES: the pages of shared_buffers and of the kernel's cache")
    if wish.behind is not None and (larger := [size for size in wish.pages if size > wish.behind]):
        rule = f"the trace was recorded behind {wish.behind} pages, so it cannot tell of a larger cache"
        raise InputError("--pages", value=larger[0], rule=rule, remedy="record page requests, or leave out the size")


def _powers(most: int) -> list[int]:
    sizes = [_FIRST]
    while sizes[-1] < most:
        sizes.append(2 * sizes[-1])
    return [size for size in sizes if size < most] + [most]


def _size(pages: int, stream: Stream, curve: Curve | SampledCurve, wish: Wish, missed: NDArray[np.bool_] | None) -> Size:
    counted = curve.at(pages)
    each: list[int | None] = [None] * len(stream.relations)
    replayed = None
    if missed is not None:
        each = np.bincount(stream.relation[stream.pages[missed]], minlength=len(each)).tolist()
        replayed = sum(count or 0 for count in each)
    elif wish.policy:
        replayed = replay(stream.pages.astype(np.int64), pages, wish.policy).misses
    relations = {
        name: OfRelation(read_misses=reads, write_misses=writes, write_backs=backs, replayed_misses=again)
        for name, reads, writes, backs, again in zip(stream.relations, *(kind.tolist() for kind in counted), each, strict=True)
    }
    misses = int(counted.reads.sum() + counted.writes.sum())
    return Size(
        pages=pages,
        misses=misses,
        miss_ratio=misses / stream.requests,
        read_misses=int(counted.reads.sum()),
        write_backs=int(counted.write_backs.sum()),
        replayed_misses=replayed,
        relations=relations,
        placements=[],
    )


def _devices(pair: str, relation_pages: Mapping[str, int]) -> dict[str, str]:
    tiers = {name: tier for name, tier in load_pair(pair).tiers.items() if name != LOG_TIER}
    if real := [name for name, tier in tiers.items() if isinstance(tier, DirectoryTier)]:
        raise InputError(f"data/tiers/{pair}.toml", field=real[0], rule="a directory has no device model", remedy="name a pair of devices")
    if (count := len(tiers) ** len(relation_pages)) > MOST_PLACEMENTS:
        remedy = "join files under one name with --relation, or choose with --device"
        raise InputError("placements", value=count, rule=f"must be at most {MOST_PLACEMENTS}", remedy=remedy)
    return {name: tier.device for name, tier in tiers.items() if not isinstance(tier, DirectoryTier)}


def paces(tiers: Mapping[str, str], relation_pages: Mapping[str, int], page_bytes: int) -> dict[tuple[str, str], tuple[float, float]]:
    """Return seconds of a random read and of a write-back, by tier and relation: simulated, one request at a time."""
    found = {}
    for (tier, device), (relation, pages) in product(tiers.items(), relation_pages.items()):
        new = partial(build, load_device(device), seed=SEED)
        each = partial(Counted, sequential_reads=None, read_bytes=page_bytes, write_bytes=page_bytes, depth=1, log=False)
        size_bytes = max(1, pages) * page_bytes
        found[tier, relation] = (each(reads=1, writes=0).service_s(new, size_bytes), each(reads=0, writes=1).service_s(new, size_bytes))
    return found


def _placements(  # noqa: PLR0917
    size: Size,
    tiers: Mapping[str, str],
    seconds_each: Mapping[tuple[str, str], tuple[float, float]],
    relation_pages: Mapping[str, int],
    page_bytes: int,
    book: Book,
    reads: Sequence[Access] | None,
) -> list[Placed]:
    found = []
    for chosen in product(tiers, repeat=len(relation_pages)) if tiers else ():
        placement = dict(zip(relation_pages, chosen, strict=True))
        device_s, cost = _in_order_s(reads, placement, tiers) if reads is not None else 0.0, 0.0
        for relation, tier in placement.items():
            (read_s, write_s), each = seconds_each[tier, relation], size.relations[relation]
            device_s += each.write_backs * write_s + (0.0 if reads is not None else (each.read_misses + each.write_misses) * read_s)
        for tier, device in tiers.items():
            held = sum(pages for relation, pages in relation_pages.items() if placement[relation] == tier)
            cost += share_bill(device, held * page_bytes, book).cost(book)
        cost += ram_bill(size.pages * page_bytes).cost(book)
        found.append(Placed(placement=placement, device_s=device_s, cost_a_month=cost / MONTHS_A_YEAR))
    return found


def _in_order_s(reads: Sequence[Access], placement: Mapping[str, str], tiers: Mapping[str, str]) -> float:
    """Return seconds that `reads` take, one after the other, on devices that are new and hold nothing else."""
    devices = {tier: build(load_device(device), seed=SEED) for tier, device in tiers.items()}
    addresses = dict.fromkeys(placement, range(0, MOST_BYTES, EXTENT_BYTES))
    return sum(replay_reads(Trace(reads), placement, devices, addresses).latencies_s)
