"""Rows of the survey's studies with chosen times, fabricated for tests of the reading side only."""

import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from report_run import pair_as_recorded
from rows import STARTED, save_run, study_record, trial_of
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.timings.manifest import load_manifest
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
MOVE_S: Final = {"index_ssd": (30.0, 50.0), "source_ssd": (8.0, 12.0), "detection_ssd": (300.0, 500.0)}  # there, back
ON_SSD: Final[Mapping[str, list[str]]] = {"index_ssd": ["source_ra"], "source_ssd": ["source"], "detection_ssd": ["detection"]}
SIZES: Final = {"source": 4 * MIB, "detection": 60 * MIB, "source_ra": 1 * MIB}
RELATION_BYTES: Final = {
    "source": 60_000_000,
    "detection": 400_000_000,
    "source_ra": 5_000_000,
    "mergelog": 1_000_000,
    "mergelog_pkey": 100_000,
}
Seconds = Mapping[str, Mapping[str, float]]
Turn = tuple[dict[str, str], float, dict[str, str]]  # cell, seconds, and the tier of each relation


def array_rows(seconds: Seconds = ARRAYS_S, *, replicates: int = 5, forms: tuple[str, ...] = ("printed",)) -> pl.DataFrame:
    io = {"twomass_psc": ("table", 900), "twomass_psc_ra": ("index", 100)}
    turns = [
        ({"query": query, "form": form, "tier": tier, "io_mode": "direct"}, elapsed_s, dict.fromkeys(io, tier))
        for form in forms
        for query, by_tier in seconds.items()
        for tier, elapsed_s in by_tier.items()
    ]
    return _frames("survey_arrays", turns, io, replicates)


def placement_rows(seconds: Seconds = PLACEMENT_S, *, replicates: int = 5) -> pl.DataFrame:
    io = {"source": ("table", 100), "detection": ("table", 800), "source_ra": ("index", 100), "mergelog": ("table", 0)}
    turns = [
        (
            {"query": query, "placement": placement, "ssd": "ssd_raid5", "io_mode": "direct"},
            elapsed_s,
            {name: "ssd_raid5" if name in ON_SSD.get(placement, []) else "hdd" for name in io},
        )
        for query, by_placement in seconds.items()
        for placement, elapsed_s in by_placement.items()
    ]
    return _frames("survey_placement", turns, io, replicates)


def move_rows(seconds: Mapping[str, tuple[float, float]] = MOVE_S, *, replicates: int = 5, flagged: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return what each placement has on the SSDs, moved there and back in each replicate; two fifths of it are the devices'."""
    draw, found = random.Random("moves"), []
    for replicate in range(replicates):
        for number, (placement, ways) in enumerate(seconds.items()):
            cell = {"placement": placement, "query": "move", "ssd": "ssd_raid5", "io_mode": "direct"}
            origin = _origin("survey_placement", cell, replicate, 9000 + 10 * replicate + number)
            timings = [
                _moved({**cell, "way": way}, elapsed_s * draw.lognormvariate(0.0, 0.01), ("overshoot",) if placement in flagged else ())
                for way, elapsed_s in zip(("there", "back"), ways, strict=True)
            ]
            found.append(frame(origin, timings))
    return pl.concat(found)


def _moved(cell: Mapping[str, str], elapsed_s: float, flags: tuple[str, ...]) -> Timing:
    return Timing(
        cell=cell,
        cache=Cache.NONE,
        operation="ALTER",
        started_at=STARTED,
        elapsed_s=elapsed_s,
        tier_io=(TierIo("hdd", Evidence.EMULATED, "device", 10, 81920, 10, 81920, 0.4 * elapsed_s, 0.4 * elapsed_s),),
        flags=flags,
    )


def save_survey(raw: Path, rows: pl.DataFrame, *, sizes: Mapping[str, int] = SIZES, stretch: float = 100.0) -> Path:
    """Return a run of `rows` with the pair and the facts that moves are reported by; its folder."""
    folder = save_run(raw, rows)
    record = study_record("survey_placement", "source-h", size_bytes=sizes, on_ssd=ON_SSD, seek_stretch=stretch)
    pairs = {"source-h": pair_as_recorded("source-h")}
    load_manifest(folder).model_copy(update={"studies": (record,), "pairs": pairs}).save(folder)
    return folder


def _origin(study: str, cell: Mapping[str, str], replicate: int, sequence: int) -> Origin:
    return Origin(RUN_ID, study, "source-h", Evidence.EMULATED, IoMode.DIRECT, trial_of(cell), replicate, sequence)


def _frames(study: str, turns: list[Turn], io: Mapping[str, tuple[str, int]], replicates: int) -> pl.DataFrame:
    draw = random.Random(study)
    found = []
    for sequence, (replicate, (cell, elapsed_s, tiers)) in enumerate(
        (replicate, turn) for replicate in range(replicates) for turn in turns
    ):
        origin = _origin(study, cell, replicate, 5000 + sequence)
        found.append(frame(origin, [_timing(cell, elapsed_s * draw.lognormvariate(0.0, 0.01), tiers, io, sequence)]))
    return pl.concat(found)


def _timing(
    cell: Mapping[str, Any], elapsed_s: float, tiers: Mapping[str, str], io: Mapping[str, tuple[str, int]], sequence: int
) -> Timing:
    replicates = sum(count for _, count in io.values())
    return Timing(
        cell=dict(cell),
        cache=Cache.COLD,
        operation=f"SELECT {cell['query']}",
        started_at=STARTED + timedelta(hours=sequence),
        elapsed_s=elapsed_s,
        result_rows=42,
        relation_io=tuple(
            RelationIo(name, kind, tiers[name], 0, count, elapsed_s * count / replicates, "fabricated")
            for name, (kind, count) in io.items()
        ),
        tier_io=(TierIo("hdd", Evidence.EMULATED, "device", replicates, replicates * 8192, 0, 0, elapsed_s, elapsed_s),),
        proof={},
    )
