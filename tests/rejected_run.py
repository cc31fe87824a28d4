"""A real run in which nearly all that was measured live is rejected, for tests of the report: the smoke run of the tests, spoilt."""

import shutil
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


@pytest.fixture(scope="session")
def rejected(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Open the tests' smoke run with five replicates, in which each live row but those of replicate `KEPT` is flagged."""
    folder = tmp_path_factory.mktemp("rejected") / RUN_ID
    shutil.copytree(SMOKE_RUN, folder)
    rows = _spoilt(_repeated(pl.read_parquet(folder / "timings.parquet"))).with_columns(run_id=pl.lit(RUN_ID))
    rows.write_parquet(folder / "timings.parquet")
    load_manifest(folder).model_copy(update={"run_id": RUN_ID}).save(folder)
    return open_run(RUN_ID, folder.parent)


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
