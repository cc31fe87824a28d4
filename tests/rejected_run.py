"""A real run in which nearly all that was measured live is rejected, for tests of the report: the smoke run of the tests, spoilt."""

import random
import shutil
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from support import SMOKE_RUN
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.core.vocabulary import Evidence
from tierwise.report.run import Run, open_run
from tierwise.timings.manifest import load_manifest

RUN_ID: Final = "20260102-030405-smoke-5901ed"
KEPT: Final = 0  # the one replicate of live rows that stays clean
LIVE: Final = pl.col("evidence") != Evidence.SIMULATED


def rejected_run(raw: Path, *, seed: int | None = None) -> Path:
    """Return the tests' smoke run with five replicates, each live row but replicate `KEPT` flagged; `seed` chooses the clean live times."""
    folder = raw / RUN_ID
    shutil.copytree(SMOKE_RUN, folder)
    rows = _spoilt(_repeated(pl.read_parquet(folder / "timings.parquet"))).with_columns(run_id=pl.lit(RUN_ID))
    if seed is not None:
        draw = random.Random(seed)
        factors = pl.Series([draw.lognormvariate(0.0, 1.0) for _ in range(rows.height)])
        clean = LIVE & (pl.col("replicate") == KEPT)
        windows = pl.col("cell").str.json_path_match("$.phase").is_not_null()  # whose clock goes on no longer than their requests take
        changed = {"elapsed_s": clean, "device_s": clean & ~windows, "cpu_s": clean, "wall_s": clean}
        rows = rows.with_columns(pl.when(which).then(pl.col(name) * factors).otherwise(name).alias(name) for name, which in changed.items())
    rows.write_parquet(folder / "timings.parquet")
    load_manifest(folder).model_copy(update={"run_id": RUN_ID}).save(folder)
    return folder


@pytest.fixture(scope="session")
def rejected(tmp_path_factory: pytest.TempPathFactory) -> Run:
    raw: Path = tmp_path_factory.mktemp("rejected")
    rejected_run(raw)
    return open_run(RUN_ID, raw)


def _repeated(rows: pl.DataFrame) -> pl.DataFrame:
    once = rows.filter(LIVE, pl.col("replicate").n_unique().over("study", "pair", "trial") == 1)
    step = int(rows["sequence"].to_numpy().max()) + 1
    more = [
        once.with_columns(replicate=pl.lit(replicate, dtype=pl.Int32), sequence=pl.col("sequence") + replicate * step)
        for replicate in range(1, MINIMUM_REPEATS)
    ]
    return pl.concat([rows, *more])


def _spoilt(rows: pl.DataFrame) -> pl.DataFrame:
    clean, overshoot = (pl.lit(flags, dtype=pl.List(pl.String)) for flags in ([], ["overshoot"]))
    return rows.with_columns(flags=pl.when(~LIVE).then("flags").when(pl.col("replicate") == KEPT).then(clean).otherwise(overshoot))
