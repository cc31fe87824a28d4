"""The one smoke report that tests look at from all sides: killed half-way and called again; made once a session."""

import random
from collections.abc import Iterator
from typing import Final

import pytest

from checkout import Home, new_home, seed
from tierwise.timings.manifest import Manifest

MEASURED: Final = 12
"""How many trials are measured when it is killed."""


@pytest.fixture(scope="session")
def smoke_home() -> Iterator[Home]:
    with new_home() as made:
        yield made


@pytest.fixture(scope="session")
def killed(smoke_home: Home) -> str:
    """The id of the run; the command was killed with its kernel, and its server and its daemon stay behind. `make soak` kills these too."""
    print(f"killed by SEED={seed()}")
    smoke_home.report_and_kill("runner", random.Random(seed()), parts=MEASURED)
    (run_id,) = smoke_home.runs()
    return run_id


@pytest.fixture(scope="session")
def smoke(smoke_home: Home, killed: str) -> Manifest:
    """The same command again, to its end."""
    report = smoke_home.command("report")
    assert report.returncode == 0, report.stderr
    assert "unknown parameter" not in report.stderr, "each notebook is given what it has"
    return smoke_home.runs()[killed]
