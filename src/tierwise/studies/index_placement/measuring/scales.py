"""One cold count at several sizes of the census, made with fewer households in every state, simulated with the index on either tier."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.bench.loaded_tables import Rows, load_once, sizes_bytes
from tierwise.bench.query_scaling import ScaledQuery, Scales, Size, can_be_recorded, simulated
from tierwise.bench.testbed import Testbed
from tierwise.core.data_sets import SYNTHETIC
from tierwise.datasets import census
from tierwise.postgres.cold_proof import relation_files
from tierwise.studies.index_placement.measuring.count_query import RELATIONS, cold_pages, statement
from tierwise.studies.index_placement.measuring.variants import PUBLISHED, PUBLISHED_SCAN, VARIANTS
from tierwise.timings.replicates import Facts

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
        return [column.name for column in census.COLUMNS]

    def ddl(self) -> str:
        return census.ddl(self.name)

    def indexes(self) -> dict[str, str]:
        return {"pob": f"CREATE INDEX pob ON {self.name} (pob) WITH (deduplicate_items = off)"}


def by_scale(testbed: Testbed, scales: Scales, whole: ScaledQuery, *, rows: int, folder: Path) -> list[Facts]:
    """Return what the count takes on each placement, a fact for each size; none for real rows or tiers that are not emulated."""
    if testbed.source_of("census") != SYNTHETIC or not can_be_recorded(testbed):
        return []
    sizes = [*_smaller(testbed, scales, folder), Size(1.0, rows, census.ROWS, whole)]
    return simulated(testbed, sizes, PLACEMENTS, requests=scales.requests)


def count_query(files: list[Path], schema: str, memory_bytes: int, expected: Mapping[str, int]) -> ScaledQuery:
    setup = (f"SET search_path = {schema}", *PUBLISHED_SCAN.switches)
    return ScaledQuery(RELATIONS, files, statement(STATE), setup, memory_bytes, expected, PUBLISHED_SCAN.nodes)


def _smaller(testbed: Testbed, scales: Scales, folder: Path) -> list[Size]:
    sizes = []
    with testbed.loading() as connection:
        for number, share in enumerate(sorted(scales.shares)):
            data = census.acquire(SYNTHETIC, fraction=testbed.profile.fraction * share, seed=testbed.seed, folder=folder)
            schema = f"size_{number}"
            load_once(connection, schema, HELD_ON, [Rows(CensusTable(), data.parquet, data.rows)])
            size_bytes = sizes_bytes(connection, RELATIONS)
            memory_bytes = VARIANTS[PUBLISHED].memory_bytes(testbed.profile.memory_fraction, size_bytes["census"] + size_bytes["pob"])
            expected = cold_pages(connection, census.STATES[STATE])
            sizes.append(
                Size(share, data.rows, census.ROWS, count_query(relation_files(connection, RELATIONS), schema, memory_bytes, expected))
            )
    return sizes
