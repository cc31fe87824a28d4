"""Distil the host's constants of ``tierwise plan`` from runs of the census study, measured one after the other on a quiet machine.

    python scripts/distil_plan.py RUN_FOLDER RUN_FOLDER ...     # for the forecast.toml of its room

At least two runs of different size, each begun and ended without interruption on an emulated pair; the data lay there already. The times
between two trials give what the host does there, the times beside the devices' own what it does for a read and a row.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from tierwise.core.units import PAGE_BYTES
from tierwise.datasets import census
from tierwise.studies.index_placement.measuring.variants import VARIANTS
from tierwise.timings.manifest import Manifest, load_manifest
from tierwise.timings.parts import rows_so_far

STUDY = "index_placement"


@dataclass
class Run:
    """One run of the study."""

    manifest: Manifest
    facts: dict[str, Any]
    rows: pl.DataFrame  # of the store, and `ended_at`, in the order of measuring
    ended_at: datetime

    @property
    def count(self) -> int:
        return next(data.rows for data in self.manifest.datasets if data.name == "census")

    def between(self) -> pl.DataFrame:
        """Seconds before each turn but the first, and what happened in them."""
        turns = self.rows.group_by("sequence", maintain_order=True).agg(
            pl.col("cell").first(), pl.col("started_at").first(), pl.col("ended_at").last()
        )
        cell = pl.col("cell").str.json_decode(pl.Struct(dict.fromkeys(("table", "index", "variant"), pl.String)))
        turns = turns.with_columns(cell.struct.unnest()).with_columns(
            build=pl.col("variant").replace_strict({name: variant.build for name, variant in VARIANTS.items()}),
            warms=pl.col("variant").replace_strict({name: bool(variant.cached) for name, variant in VARIANTS.items()}),
        )
        return turns.with_columns(
            gap_s=(pl.col("started_at") - pl.col("ended_at").shift(1)).dt.total_microseconds() / 1e6,
            moved=pl.struct("table", "index", "build") != pl.struct("table", "index", "build").shift(1),
            made=pl.struct("table", "build").is_first_distinct(),
        ).slice(1)


def read(folder: Path) -> Run:
    manifest = load_manifest(folder)
    rows = rows_so_far(folder, STUDY).sort("sequence", "step")
    rows = rows.with_columns(ended_at=pl.col("started_at") + pl.duration(microseconds=(pl.col("elapsed_s") * 1e6).cast(pl.Int64)))
    facts = next(study.facts for study in manifest.studies if study.name == STUDY)
    return Run(manifest, facts, rows, datetime.fromtimestamp((folder / "manifest.json").stat().st_mtime, UTC))


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Constant and slope through (rows, seconds), neither below zero."""
    sizes, took_s = np.array(points).T
    slope, constant = np.polyfit(sizes, took_s, 1)
    return max(0.0, float(constant)), max(0.0, float(slope))


def distil(runs: list[Run]) -> dict[str, object]:
    """Every constant of `tierwise.studies.index_placement.measuring.forecast.Constants` that a run tells."""
    gaps = [(run, run.between()) for run in runs]
    alone = pl.concat([gap.filter(~pl.col("moved") & ~pl.col("warms")) for _, gap in gaps])
    trial_s = median(alone["gap_s"])
    moves, loads, opens, ends, warms = [], [], [], [], []
    for run, gap in gaps:
        moves.append((run.count, median(gap.filter(pl.col("moved") & ~pl.col("made") & ~pl.col("warms"))["gap_s"]) - trial_s))
        loads.append((run.count, median(gap.filter(pl.col("made") & (pl.col("build") == "published"))["gap_s"]) - trial_s - moves[-1][1]))
        opens.append((run.rows["started_at"][0] - run.manifest.started_at).total_seconds() - loads[-1][1] - moves[-1][1] - trial_s)
        ends.append((run.count, (run.ended_at - run.rows["ended_at"][-1]).total_seconds()))
        pages = run.facts["size_bytes"]["census"] / PAGE_BYTES
        warms += [(pages, gap_s - trial_s) for gap_s in gap.filter(pl.col("warms") & ~pl.col("moved"))["gap_s"]]
    largest = max(runs, key=lambda run: run.count)
    scale = census.ROWS / largest.count
    prepare_s, move_row_s = line(moves)
    describe_s, describe_row_s = line(ends)
    warm_s, warm_page_s = line(warms)
    request_s, hit_row_s = by_query(pl.concat([run.rows for run in runs]))
    return {
        "heap_bytes_per_row": largest.facts["size_bytes"]["census"] / largest.count,
        "index_bytes_per_row": largest.facts["size_bytes"]["pob"] / largest.count,
        "heap_pages": {state: round(pages["census"] * scale) for state, pages in largest.facts["cold_blocks"].items()},
        "index_pages": {state: round(pages["pob"] * scale) for state, pages in largest.facts["cold_blocks"].items()},
        "open_s": median(opens),
        "load_row_s": sum(took_s for _, took_s in loads) / sum(rows for rows, _ in loads),
        "prepare_s": prepare_s,
        "move_row_s": move_row_s,
        "trial_s": trial_s,
        "warm_s": warm_s,
        "warm_page_s": warm_page_s,
        "request_s": request_s,
        "hit_row_s": hit_row_s,
        "describe_s": describe_s,
        "describe_row_s": describe_row_s,
        "spreads": spreads([run for run in runs if run.count == largest.count]),
    }


def by_query(rows: pl.DataFrame) -> tuple[float, float]:
    """Seconds of the host for each read of a cold query beside the device's time, and for each row that a hot one counts."""
    tier = pl.element().struct
    asked = rows.with_columns(
        asked_s=pl.col("tier_io").list.eval(tier.field("intended_s")).list.sum(),
        reads=pl.col("tier_io").list.eval(tier.field("reads")).list.sum(),
    )
    cold, hot = asked.filter(cache="cold"), asked.filter(cache="hot")
    beside_s, reads = float((cold["elapsed_s"] - cold["asked_s"]).sum()), int(cold["reads"].sum())
    return beside_s / reads, float(hot["elapsed_s"].sum()) / int(hot["result_rows"].sum())


def spreads(runs: Sequence[Run]) -> dict[str, float]:
    """Return variant, cache, state -> standard deviation over the blocks of log(index on ssd / index on hdd), table on hdd."""
    variances = pl.concat([variances_of(run.rows) for run in runs]).group_by("variant", "cache", "state").agg(pl.col("variance").mean())
    return {
        f"{variant} {cache} {state}": sqrt(variance)
        for variant, cache, state, variance in variances.sort("variant", "cache", "state").rows()
    }


def variances_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The squares of these in one run."""
    cell = pl.col("cell").str.json_decode(pl.Struct(dict.fromkeys(("table", "index", "state", "variant"), pl.String)))
    flat = rows.select(cell.struct.unnest(), "cache", "block", log=pl.col("elapsed_s").log()).filter(pl.col("cache") != "hot", table="hdd")
    both = flat.filter(index="ssd").join(flat.filter(index="hdd"), on=["variant", "cache", "state", "block"])
    return both.group_by("variant", "cache", "state").agg(variance=(pl.col("log") - pl.col("log_right")).var())


def shown(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{name}" = {shown(inner)}' for name, inner in value.items()) + " }"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    runs = [read(Path(folder)) for folder in sys.argv[1:]]
    print(f'source = "measured by scripts/distil_plan.py on runs {", ".join(run.manifest.run_id for run in runs)}"')
    print(f"recorded = {max(run.manifest.started_at for run in runs):%Y-%m-%d}")
    for name, value in distil(runs).items():
        print(f"{name} = {shown(value)}")


if __name__ == "__main__":
    main()
