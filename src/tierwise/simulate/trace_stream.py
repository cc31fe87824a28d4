"""Several traces as one stream of numbered pages, each of a relation; all of its pages, or those of a sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import Ints
from tierwise.core.errors import InputError, suggesting
from tierwise.core.paths import short
from tierwise.simulate.page_trace import TraceOptions, TraceReader
from tierwise.simulate.stack_distances import Curve, NearCounts
from tierwise.simulate.trace_fields import Flags, Numbering
from tierwise.simulate.trace_formats import PAGE_BITS, Requests

OBJECTS: Final = "objects"
PAGES: Final = "pages"
NEAR_PAGES: Final = 2**16
"""A sample of pages has few of a small cache's, and none or all of a busy page's requests: up to this size all requests are counted."""
MOST_NEAR_RELATIONS: Final = 256  # these counts take 0.8 MB a relation
_SHARES: Final = 2**24


@dataclass(frozen=True)
class Stream:
    """`pages` are numbered from 0 in the order of first sight; of a sample, `requests` and `writes` count what it stands for too."""

    pages: NDArray[np.int32]
    is_write: Flags
    relation: NDArray[np.int32]  # of each page
    places: Ints  # of each page: its number in its file, below the file's at `PAGE_BITS`; objects have hashes
    relations: list[str]
    requests: int
    writes: int
    rows: int
    left_out: Mapping[str, int]
    formats: list[str]
    behind_a_cache: bool
    rings: Flags | None  # whether a request used a buffer ring, if every trace says so
    near: Curve | None  # of a sample that is not merged by time: exact counts of small caches


@dataclass
class _Places:
    numbering: Numbering = field(default_factory=Numbering)
    devices: dict[tuple[str, str], int] = field(default_factory=dict)
    relations: dict[str, int] = field(default_factory=dict)
    relation_of_page: list[NDArray[np.int32]] = field(default_factory=list)
    key_of_page: list[Ints] = field(default_factory=list)

    def keys(self, reader: TraceReader, pages: Ints, named: Mapping[str, str]) -> tuple[Ints, Ints]:
        of_file = named.get(str(reader.path.resolve()))
        labels = list(reader.devices) or [OBJECTS if reader.objects else PAGES]
        relations = [of_file or named.get(label, label) for label in labels]
        numbers = np.array([self.relations.setdefault(relation, len(self.relations)) for relation in relations], np.int64)
        places = [self.devices.setdefault(place, len(self.devices)) for place in zip(relations, labels, strict=True)]
        if reader.objects:
            return pages ^ np.int64(places[0] * 0x9E3779B97F4A7C1), np.broadcast_to(numbers[0], pages.shape)
        device = pages >> PAGE_BITS
        return (pages & (1 << PAGE_BITS) - 1) | (np.array(places, np.int64)[device] << PAGE_BITS), numbers[device]

    def number(self, keys: Ints, relation: Ints) -> NDArray[np.int32]:
        before = self.numbering.count
        found = self.numbering.of(keys)
        new = found >= before
        count = self.numbering.count - before
        self.relation_of_page.append(np.zeros(count, np.int32))
        self.key_of_page.append(np.zeros(count, np.int64))
        self.relation_of_page[-1][found[new] - before] = relation[new]
        self.key_of_page[-1][found[new] - before] = keys[new]
        return found


def read_stream(
    paths: Sequence[Path], options: TraceOptions, *, named: Mapping[str, str] | None = None, sample_rate: float = 1.0
) -> Stream:
    """Read `paths` one after the other, or merged by time if the options are timed; `sample_rate` of the pages are kept, by their hashes.

    `named`: name of a relation by the path of a whole file, or by a device as traces name it.
    """
    named = {str(Path(file).resolve()) if Path(file) in paths else file: relation for file, relation in (named or {}).items()}
    known, readers, parts = _Places(), [TraceReader(path, options) for path in paths], list[Requests]()
    requests = writes = 0
    near = NearCounts(NEAR_PAGES) if sample_rate < 1 and not options.timed else None
    for reader in readers:
        for chunk in reader.chunks():
            keys, relation = known.keys(reader, chunk.pages, named)
            requests, writes = requests + len(keys), writes + int(chunk.writes.sum())
            near = near if len(known.relations) <= MOST_NEAR_RELATIONS else None
            if near is not None:
                near.add(keys, chunk.writes, relation)
            kept = slice(None) if sample_rate >= 1 else _sampled(keys, sample_rate)
            numbers = known.number(keys[kept], relation[kept])
            others = (None if column is None else column[kept] for column in (chunk.times, chunk.rings))
            parts.append(Requests(numbers, chunk.writes[kept], *others))  # type: ignore[arg-type]
    labels = [label for reader in readers for label in reader.devices]
    for file, relation_name in named.items():
        if relation_name not in known.relations:
            there = [*map(short, paths), *labels]
            rule = f"no such trace, and no such device in a trace; there are: {', '.join(there[:20])}"
            raise InputError("--relation", value=f"{relation_name}={file}", rule=rule, remedy=suggesting(file, there))
    pages, is_write = np.concatenate([part.pages for part in parts]), np.concatenate([part.writes for part in parts])
    every_ring = [part.rings for part in parts if part.rings is not None]
    rings = np.concatenate(every_ring) if len(every_ring) == len(parts) else None
    if options.timed:
        order = np.argsort(np.concatenate([part.times for part in parts if part.times is not None]), kind="stable")
        pages, is_write, rings = pages[order], is_write[order], None if rings is None else rings[order]
    left_out: dict[str, int] = {}
    for reader in readers:
        for reason, count in reader.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    return Stream(
        pages=pages.astype(np.int32, copy=False),
        is_write=is_write,
        relation=np.concatenate(known.relation_of_page),
        places=np.concatenate(known.key_of_page),
        relations=list(known.relations),
        requests=requests,
        writes=writes,
        rows=sum(reader.rows for reader in readers),
        left_out=left_out,
        formats=list(dict.fromkeys(reader.title for reader in readers)),
        behind_a_cache=any(reader.behind_a_cache for reader in readers),
        rings=rings,
        near=None if near is None else near.curve(len(known.relations)),
    )


def _sampled(keys: Ints, rate: float) -> Flags:
    """Return whether a hash of each key is in the sample, as SHARDS draws it (Waldspurger and others, FAST 2015)."""
    mixed = keys.view(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(33))) % np.uint64(_SHARES) < np.uint64(round(rate * _SHARES))
