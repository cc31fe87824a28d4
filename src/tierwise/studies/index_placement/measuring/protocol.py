"""The published count and its variants, each a departure from the source's protocol in one factor; and the count at other sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tierwise.bench.loaded_tables import Rows, load_once, sizes_bytes
from tierwise.bench.query_scaling import Scales, Size
from tierwise.bench.testbed import ColdQuery, Testbed
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.toml import Strict, read_table, validate
from tierwise.core.units import MIB
from tierwise.datasets import census
from tierwise.postgres.cold_proof import METAPAGES, expected_pages, relation_files
from tierwise.postgres.settings import Connection

RELATIONS: Final = ("census", "pob", "census_pkey")
SECOND: Final = "age"  # the column, and its index, of a count that uses two indexes
AGE: Final = 30


def statement(state: str, *, second: bool = False) -> str:
    return counting(census.STATES[state]) + (f" and {SECOND} = {AGE}" if second else "")


def counting(code: int) -> str:
    return f"select count(*) from census where {predicate(code)}"


def predicate(code: int) -> str:
    return f"pob = {code}"


def cold_pages(connection: Connection, code: int) -> dict[str, int]:
    """Return the pages of each relation that the count must miss, cold; planning reads the metapage of the primary key too."""
    return {**expected_pages(connection, "census", "pob", predicate(code)), "census_pkey": METAPAGES}


PUBLISHED: Final[Literal["published"]] = "published"  # the variant that departs in nothing, and its build
CATALOGUES_BYTES: Final = 4 * MIB  # more than the catalogue pages that a session reads
MAP: Final = "census_vm"  # pages of the visibility map, which the server counts as the table's


class Scan(Strict):
    switches: tuple[str, ...]
    nodes: tuple[str, ...]
    asks: str


class Variant(Strict):
    """The protocol with one change (`factor`), and the side effects that it needs."""

    scan: Scan
    factor: str = "none"
    build: Literal["published", "vacuumed"] = PUBLISHED  # as loaded; or with every page marked as visible to all
    memory_fraction: float | None = None  # of table + index; None: the profile's
    cached: tuple[str, ...] = ()  # tables whose heap is in shared_buffers when the cold query begins
    second: bool = False  # the count is by age as well, which has its own index beside that on the place of birth

    def memory_bytes(self, memory_fraction: float, size_bytes: int) -> int:
        """Return shared_buffers for a table and index of `size_bytes`; a heap that stays cached fits beside the catalogues."""
        wanted_bytes = round((self.memory_fraction or memory_fraction) * size_bytes)
        return max(wanted_bytes, size_bytes + CATALOGUES_BYTES) if self.cached else wanted_bytes


HEAP_CACHED: Final = "heap-cached"
BITMAP: Final = "bitmap"
TWO_INDEXES: Final = "two-indexes"


def _variants() -> dict[str, Variant]:
    path = Path(__file__).with_name("variants.toml")
    table = read_table(path)
    entries = {name: {**entry, "scan": table["scans"][entry["scan"]]} for name, entry in table["variants"].items()}
    return validate(entries, dict[str, Variant], where=path.name)


VARIANTS: Final = _variants()
PUBLISHED_SCAN: Final = VARIANTS[PUBLISHED].scan

STATE: Final = "NV"  # the state with the fewest pages, in which what does not grow with the rows shows best
PLACEMENTS: Final = {index: {"census": "hdd", "census_pkey": "hdd", "pob": index} for index in ("hdd", "ssd")}
"""Tier of each relation in the simulation, by the tier of the index."""
HELD_ON: Final = "ssd"
"""The tier on which smaller copies are read while their requests are recorded: without seeks, so disks keep their layout."""


@dataclass(frozen=True, slots=True)
class CensusTable:
    """The table with the index as 8.3 built it, in its own schema."""

    name: str = "census"

    @property
    def columns(self) -> list[str]:
        return list(census.TYPES)

    def ddl(self) -> str:
        return census.ddl(self.name)

    def indexes(self) -> dict[str, str]:
        return {"pob": f"CREATE INDEX pob ON {self.name} (pob) WITH (deduplicate_items = off)"}


def count_query(files: list[Path], schema: str, memory_bytes: int, expected: Mapping[str, int]) -> ColdQuery:
    setup = (f"SET search_path = {schema}", *PUBLISHED_SCAN.switches)
    return ColdQuery(RELATIONS, files, statement(STATE), setup, memory_bytes, expected, PUBLISHED_SCAN.nodes)


def smaller_copies(testbed: Testbed, scales: Scales, folder: Path) -> list[Size]:
    sizes = []
    with testbed.loading() as connection:
        for number, share in enumerate(sorted(scales.shares)):
            data = census.acquire(SYNTHETIC, fraction=testbed.profile.fraction * share, seed=testbed.seed, folder=folder)
            schema = f"size_{number}"
            load_once(connection, schema, HELD_ON, [Rows(CensusTable(), data.parquet, data.rows)])
            size_bytes = sizes_bytes(connection, RELATIONS)
            memory_bytes = VARIANTS[PUBLISHED].memory_bytes(testbed.profile.memory_fraction, size_bytes["census"] + size_bytes["pob"])
            expected = cold_pages(connection, census.STATES[STATE])
            query = count_query(relation_files(connection, RELATIONS), schema, memory_bytes, expected)
            sizes.append(Size(share, data.rows, census.ROWS, query))
    return sizes
