"""Figures of repeated cells: their spread, how they shift, and whether a bound is met. Nothing here measures."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import duckdb
import numpy as np
import polars as pl

CELL: Final = ("trial", "step")
WORDS: Final = ("table", "index", "state")
REPLICATES: Final = 5
"""How many repetitions a run has at least; the steadiness of the host's part is looked at over as many."""


def with_words(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` with the coordinates that tables show as columns; a study that lacks one has null there."""
    return rows.with_columns(pl.col("cell").str.json_path_match(f"$.{word}").alias(word) for word in WORDS)


def normalised(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` with `host_s`: the processor's part at the usual speed of its run, as ``timings.sql`` has it before it takes the median."""
    usual_s, replicate_s = (pl.col("reference_s").median().over("run_id", *keys) for keys in ((), ("study", "pair", "replicate")))
    return rows.with_columns(host_s=pl.col("cpu_s") * usual_s / replicate_s)


def as_read(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` as a report reads them: by the very ``timings.sql``."""
    with duckdb.connect(":memory:") as connection:
        connection.register("raw_timings", rows.to_arrow())
        connection.execute((files("tierwise.timings") / "timings.sql").read_text(encoding="utf-8"))
        return pl.DataFrame(connection.sql("from timings").to_arrow_table())


def device_spread(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for each cell the mean and the coefficient of variation of the devices' time over the repetitions."""
    return (
        with_words(rows)
        .group_by(*CELL, *WORDS, "cache")
        .agg(
            repetitions=pl.len(),
            device_s=pl.col("device_s").mean(),
            cv=pl.when(pl.col("device_s").mean() > 0).then(pl.col("device_s").std() / pl.col("device_s").mean()).otherwise(0.0),
        )
        .sort("table", "index", "cache", "state")
    )


def host_spread(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for each cell the processor's standard deviation over the mean total, as measured and normalised, the largest of all fives.

    Repetitions beyond a multiple of five, the last ones, are left out.
    """
    fives = normalised(with_words(rows)).with_columns(five=pl.col("replicate") // REPLICATES)
    whole = fives.filter(pl.len().over(*CELL, "five") == REPLICATES)
    total_s = (pl.col("cpu_s") + pl.col("device_s")).mean()
    return (
        whole.group_by(*CELL, *WORDS, "cache", "five")
        .agg(
            host_s=pl.col("host_s").mean(),
            share=pl.col("cpu_s").mean() / total_s,
            cv_measured=pl.col("cpu_s").std() / total_s,
            cv=pl.col("host_s").std() / total_s,
        )
        .group_by(*CELL, *WORDS, "cache")
        .agg(pl.col("host_s", "share").mean(), pl.col("cv_measured", "cv").max(), fives=pl.len())
        .sort("table", "index", "cache", "state")
    )


def shifts(rows: pl.DataFrame, undisturbed: str, disturbed: str) -> pl.DataFrame:
    """Return for each cell by how much its mean differs on the side `disturbed`: the total as read, as measured, the devices' time."""
    read = as_read(rows).select("run_id", *CELL, "replicate", read_s="elapsed_s")
    cells = with_words(rows).join(read, on=["run_id", *CELL, "replicate"])
    means = cells.group_by("run_id", *CELL, *WORDS, "cache").agg(pl.col("read_s", "elapsed_s", "device_s", "cpu_s", "reference_s").mean())
    usual, other = (means.filter(run_id=side).drop("run_id") for side in (undisturbed, disturbed))
    both = usual.join(other, on=[*CELL, *WORDS, "cache"], suffix="_other", nulls_equal=True)
    shift = {
        f"{name}_shift": pl.when(pl.col(column) > 0).then(pl.col(f"{column}_other") / pl.col(column) - 1)
        for name, column in {"read": "read_s", "measured": "elapsed_s", "device": "device_s", "cpu": "cpu_s"}.items()
    }
    return both.with_columns(**shift).sort("table", "index", "cache", "state")


def differences(rows: pl.DataFrame, virtual: str, real_time: str, windows: Sequence[tuple[str, int]]) -> pl.DataFrame:
    """Return for each cold or cross cell the mean device time in real over virtual time, less one, of undisturbed `windows`."""
    good = pl.DataFrame(windows, schema={"trial": pl.String, "replicate": pl.Int32}, orient="row")
    means = (
        with_words(rows)
        .filter(pl.col("cache") != "hot")
        .join(good, on=["trial", "replicate"])
        .group_by("run_id", *CELL, *WORDS, "cache")
        .agg(pl.col("device_s").mean(), windows=pl.len())
    )
    usual, other = (means.filter(run_id=side).drop("run_id") for side in (virtual, real_time))
    both = usual.join(other.drop("windows"), on=[*CELL, *WORDS, "cache"], suffix="_real", nulls_equal=True)
    return both.with_columns(difference=pl.col("device_s_real") / pl.col("device_s") - 1).sort("table", "index", "cache", "state")


def different_reads(rows: pl.DataFrame) -> list[str]:
    """Cells whose pages read by relation are not the same in every repetition."""
    reads = (
        rows.explode("relation_io")
        .unnest("relation_io")
        .group_by(*CELL, "relation")
        .agg(found=pl.col("reads").n_unique(), repetitions=pl.len())
    )
    least = reads["repetitions"].max()
    odd = reads.filter((pl.col("found") > 1) | (pl.col("repetitions") != least))
    return sorted(f"{trial}, step {step}: {relation}" for trial, step, relation in odd.select(*CELL, "relation").iter_rows())


def table(found: pl.DataFrame, columns: Mapping[str, str]) -> str:
    """Return some columns of `found` as lines, by column the format of its values (`str.format`'s, empty for text)."""
    lines = [list(columns), *([_shown(row[name], form) for name, form in columns.items()] for row in found.iter_rows(named=True))]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _shown(value: Any, form: str) -> str:
    return "-" if value is None else format(value, form)


def median_and_most(sizes: pl.Series) -> tuple[float, float]:
    """Median and largest of some figures; zero of none."""
    return float(np.median(sizes.to_numpy())) if len(sizes) else 0.0, float(sizes.to_numpy().max(initial=0.0))
