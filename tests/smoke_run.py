"""The smoke report that tests look at from all sides: that of ``make report`` where this code made it, in `make soak` one of its own."""

import random
import shutil
from collections.abc import Iterator
from typing import Final

import pytest

from checkout import Home, new_home, seed
from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import look_ahead
from tierwise.core import paths
from tierwise.timings.manifest import Manifest

MEASURED: Final = 12  # how many trials are measured when it is killed


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
