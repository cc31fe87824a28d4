"""The smoke report that tests look at from all sides: that of ``make report`` where this code made it, in `make soak` one of its own.

And the smoke run of the tests, spoilt: a real run in which nearly all that was measured live is rejected.
"""

import random
import shutil
from collections.abc import Iterator
from typing import Final

import polars as pl
import pytest

from checkout import Home, new_home, seed
from support import SMOKE_RUN
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import look_ahead
from tierwise.core import paths
from tierwise.core.vocabulary import Evidence
from tierwise.report.run import Run, open_run
from tierwise.timings.manifest import Manifest, load_manifest

MEASURED: Final = 12  # how many trials are measured when it is killed
REJECTED_ID: Final = "20260102-030405-smoke-5901ed"
CLEAN: Final = 0  # the one replicate of live rows that stays clean
LIVE: Final = pl.col("evidence") != Evidence.SIMULATED


@pytest.fixture(scope="session")
def killed_home() -> Iterator[Home]:
    with new_home() as made:
        yield made


@pytest.fixture(scope="session")
def killed(killed_home: Home) -> str:
    print(f"killed by SEED={seed()}")
    killed_home.report_and_kill(random.Random(seed()), parts=MEASURED)
    (run_id,) = killed_home.runs()
    return run_id


@pytest.fixture(scope="session")
def completed(killed_home: Home, killed: str) -> Manifest:
    report = killed_home.command("report")
    assert report.returncode == 0, report.stderr
    assert "unknown parameter" not in report.stderr, "each notebook is given what it has"
    return killed_home.runs()[killed]


@pytest.fixture(scope="session", params=["made", pytest.param("killed", marks=pytest.mark.soak)])
def smoke_home(request: pytest.FixtureRequest) -> Iterator[Home]:
    if request.param == "killed":
        request.getfixturevalue("completed")
        yield request.getfixturevalue("killed_home")
        return
    made = look_ahead(gather_inputs(profile="smoke", tiers="", seed=1)).run
    if made is None or made.status != "complete" or made.taken:
        pytest.skip("this code has no whole smoke run in data/raw: PROFILE=smoke make report makes it; make soak makes one of its own")
    with new_home() as home:
        shutil.copytree(paths.raw() / made.run_id, home.folder / "raw" / made.run_id)
        yield home


@pytest.fixture(scope="session")
def smoke(smoke_home: Home) -> Manifest:
    (run,) = smoke_home.runs().values()
    return run


@pytest.fixture(scope="session")
def rejected(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Open the tests' smoke run with five replicates, in which each live row but those of replicate `CLEAN` is flagged."""
    folder = tmp_path_factory.mktemp("rejected") / REJECTED_ID
    shutil.copytree(SMOKE_RUN, folder)
    rows = _spoilt(_repeated(pl.read_parquet(folder / "timings.parquet"))).with_columns(run_id=pl.lit(REJECTED_ID))
    rows.write_parquet(folder / "timings.parquet")
    load_manifest(folder).model_copy(update={"run_id": REJECTED_ID}).save(folder)
    return open_run(REJECTED_ID, folder.parent)


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
    return rows.with_columns(flags=pl.when(~LIVE).then("flags").when(pl.col("replicate") == CLEAN).then(clean).otherwise(overshoot))
