"""Variants: ways in which a trial departs from its source's protocol, one factor each."""

from dataclasses import dataclass, replace
from typing import Final

from tierwise.core.units import MIB
from tierwise.postgres.table_copies import Build

PUBLISHED: Final = "published"  # the variant that departs in nothing, and its build
CATALOGUES_BYTES: Final = 4 * MIB  # more than the catalogue pages that a session reads
MAP: Final = "census_vm"  # pages of the visibility map, which the server counts as the table's


@dataclass(frozen=True, slots=True)
class Scan:
    switches: tuple[str, ...]
    nodes: tuple[str, ...]  # as EXPLAIN prints them
    asks: str  # what it reads beside the index: the table, or its visibility map


@dataclass(frozen=True, slots=True)
class Variant:
    """The protocol with one change (`factor`), and the side effects that it needs."""

    scan: Scan
    factor: str = "none"
    build: str = PUBLISHED
    memory_fraction: float | None = None  # of table + index; None: the profile's
    cached: tuple[str, ...] = ()  # tables whose heap is in shared_buffers when the cold query begins
    second: bool = False  # the count is by age as well, which has its own index beside that on the place of birth

    def memory_bytes(self, memory_fraction: float, size_bytes: int) -> int:
        """Return shared_buffers for a table and index of `size_bytes`; a heap that stays cached fits beside the catalogues."""
        wanted_bytes = round((self.memory_fraction or memory_fraction) * size_bytes)
        return max(wanted_bytes, size_bytes + CATALOGUES_BYTES) if self.cached else wanted_bytes


PUBLISHED_SCAN: Final = Scan(
    (
        "SET enable_indexonlyscan = off",  # PostgreSQL 8.3 had none
        "SET enable_bitmapscan = off",  # the published plan is a plain index scan
        "SET enable_seqscan = off",
    ),
    ("Aggregate", "Index Scan using pob on census"),
    "census",
)
INDEX_ONLY_SCAN: Final = Scan(
    ("SET enable_bitmapscan = off", "SET enable_seqscan = off"), ("Aggregate", "Index Only Scan using pob on census"), MAP
)
BITMAP_SCAN: Final = Scan(
    ("SET enable_indexonlyscan = off", "SET enable_indexscan = off", "SET enable_seqscan = off"),
    ("Aggregate", "Bitmap Heap Scan on census", "Bitmap Index Scan on pob"),
    "census",
)
BITMAP_AND: Final = replace(
    BITMAP_SCAN, nodes=("Aggregate", "Bitmap Heap Scan on census", "BitmapAnd", "Bitmap Index Scan on pob", "Bitmap Index Scan on age")
)


HEAP_CACHED: Final = "heap-cached"
BITMAP: Final = "bitmap"
TWO_INDEXES: Final = "two-indexes"
BUILDS: Final = {PUBLISHED: Build(), "vacuumed": Build(vacuumed=True)}
"""The published copy is loaded in file order and has the index as 8.3 built it."""


VARIANTS: Final = {
    PUBLISHED: Variant(PUBLISHED_SCAN),
    "memory-1.2": Variant(PUBLISHED_SCAN, "memory", memory_fraction=1.2),
    HEAP_CACHED: Variant(PUBLISHED_SCAN, "start state", memory_fraction=1.2, cached=("census",)),  # the heap needs the memory
    "index-only": Variant(INDEX_ONLY_SCAN, "plan", build="vacuumed"),
    BITMAP: Variant(BITMAP_SCAN, "plan"),
    TWO_INDEXES: Variant(BITMAP_AND, "query", second=True),
}
