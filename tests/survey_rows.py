"""Rows of source H's studies with chosen times, fabricated for tests of the reading side only."""

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import polars as pl

from rows import STARTED
from tierwise.core.words import CacheState, IoArm, Substrate
from tierwise.timings.schema import Origin, RelationIo, TierIo, Timing, frame

RUN_ID: Final = "20260102-030405-abcd"
ARRAYS_S: Final = {  # as the source has them
    "indexed": {"hdd": 253.0, "hdd_raid0": 212.0, "ssd": 150.0, "ssd_raid5": 140.0},
    "non_indexed": {"hdd": 3000.0, "hdd_raid0": 1140.0, "ssd": 293.0, "ssd_raid5": 255.0},
    "mixed": {"hdd": 1200.0, "hdd_raid0": 700.0, "ssd": 305.0, "ssd_raid5": 104.0},
}
PLACEMENT_S: Final = {
    "light_curves": {"all_hdd": 21.0, "index_ssd": 22.0, "source_ssd": 6.0, "detection_ssd": 4.0},
    "variable_light_curves": {"all_hdd": 11.0, "index_ssd": 12.0, "source_ssd": 2.0, "detection_ssd": 1.0},
    "join_single": {"all_hdd": 1271.0, "index_ssd": 1400.0, "source_ssd": 1100.0, "detection_ssd": 130.0},
    "join_several": {"all_hdd": 39.0, "index_ssd": 49.0, "source_ssd": 33.0, "detection_ssd": 34.0},
}
Seconds = Mapping[str, Mapping[str, float]]


def array_rows(seconds: Seconds = ARRAYS_S, *, blocks: int = 5, forms: tuple[str, ...] = ("printed",)) -> pl.DataFrame:
    """Each query in each form on each subsystem in each block."""
    io = {"twomass_psc": ("table", 900), "twomass_psc_ra": ("index", 100)}
    turns = [
        ({"query": query, "form": form, "tier": tier, "arm": "direct"}, elapsed_s, dict.fromkeys(io, tier))
        for form in forms
        for query, by_tier in seconds.items()
        for tier, elapsed_s in by_tier.items()
    ]
    return _frames("survey_arrays", turns, io, blocks)


def placement_rows(seconds: Seconds = PLACEMENT_S, *, blocks: int = 5) -> pl.DataFrame:
    """Each query on each placement in each block."""
    io = {"source": ("table", 100), "detection": ("table", 800), "source_ra": ("index", 100), "mergelog": ("table", 0)}
    turns = [
        (
            {"query": query, "placement": placement, "ssd": "ssd_raid5", "arm": "direct"},
            elapsed_s,
            {name: "ssd_raid5" if name in ON_SSD_BY_PLACEMENT[placement] else "hdd" for name in io},
        )
        for query, by_placement in seconds.items()
        for placement, elapsed_s in by_placement.items()
    ]
    return _frames("survey_placement", turns, io, blocks)


ON_SSD_BY_PLACEMENT: Final = {"all_hdd": (), "index_ssd": ("source_ra",), "source_ssd": ("source",), "detection_ssd": ("detection",)}
"""What each placement has on the SSDs."""
RELATION_BYTES: Final = {
    "source": 60_000_000,
    "detection": 400_000_000,
    "source_ra": 5_000_000,
    "mergelog": 1_000_000,
    "mergelog_pkey": 100_000,
}
Turn = tuple[dict[str, str], float, dict[str, str]]
"""Cell, seconds, and the tier of each relation."""


def _frames(study: str, turns: list[Turn], io: Mapping[str, tuple[str, int]], blocks: int) -> pl.DataFrame:
    draw = random.Random(study)
    found = []
    for sequence, (block, (cell, elapsed_s, tiers)) in enumerate((block, turn) for block in range(blocks) for turn in turns):
        trial = "/".join(f"{name}={value}" for name, value in sorted(cell.items()))
        origin = Origin(RUN_ID, study, "source-h", Substrate.EMULATED, IoArm.DIRECT, trial, block, 5000 + sequence)
        found.append(frame(origin, [_timing(cell, elapsed_s * draw.lognormvariate(0.0, 0.01), tiers, io, sequence)]))
    return pl.concat(found)


def _timing(
    cell: Mapping[str, Any], elapsed_s: float, tiers: Mapping[str, str], io: Mapping[str, tuple[str, int]], sequence: int
) -> Timing:
    blocks = sum(count for _, count in io.values())
    return Timing(
        cell=dict(cell),
        cache=CacheState.COLD,
        operation=f"SELECT {cell['query']}",
        started_at=STARTED + timedelta(hours=sequence),
        elapsed_s=elapsed_s,
        result_rows=42,
        relation_io=tuple(
            RelationIo(name, kind, tiers[name], 0, count, elapsed_s * count / blocks, "fabricated") for name, (kind, count) in io.items()
        ),
        tier_io=(TierIo("hdd", Substrate.EMULATED, "device", blocks, blocks * 8192, 0, 0, elapsed_s, elapsed_s),),
        proof={},
    )
