"""What several tests share, made once a session: servers, which the tests start and stop themselves, and a built report."""

import re
import shutil
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

import tierwise.report  # noqa: F401 - before whatever imports jsonschema: it spares each process a second
from browsing import chromium
from report_built import built, by_quarto, in_place
from smoke_run import completed, killed, killed_home, rejected, smoke, smoke_home
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import reclaim
from tierwise.postgres.settings import Connection, loading_settings
from tierwise.postgres.workspace import open_workspace, server_account
from tierwise.report.reference import open_reference
from tierwise.report.run import Run

__all__ = ["built", "by_quarto", "chromium", "completed", "in_place", "killed", "killed_home", "rejected", "smoke", "smoke_home"]


TOGETHER: Final = {"smoke": "smoke_home: Home", "report": ": Built", "reference": "reference: Run"}
"""What takes long and is used in several files -> a pattern in each such file: one process makes it, and runs them all."""
PASSED: Final = "tierwise/passed"
LONGEST: Final = (  # what takes half a minute and more, the longest first, so that all processes end at the same time
    "report",
    "tests/test_recorders.py",
    "tests/test_survey_studies.py",
    "tests/test_toy_study.py",
    "reference",  # after three others, so that the report has judged the run by then
    "tests/test_index_placement.py",
    "tests/test_notebooks.py",
    "tests/test_commands.py",
    "tests/test_bad_input.py",
    "tests/test_scan_prediction.py",
    "tests/test_emulated_files.py",
    "tests/test_without_fuse.py",
    "tests/test_virtual_time.py",
    "tests/test_run_study.py",
    "tests/test_pgbench_server.py",
    "tests/test_ram_or_ssd.py",
    "tests/test_analysis_verdicts.py",
    "tests/test_read_latency.py",
)


def unit(nodeid: str) -> str:
    """Return the file of a test, or what its file shares with others: what one process runs whole."""
    return _unit(nodeid.split("::", 1)[0])


@cache
def _unit(file: str) -> str:
    text = (Path(__file__).parent / Path(file).name).read_text(encoding="utf-8")
    return next((shared for shared, sign in TOGETHER.items() if re.search(sign, text)), file)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--resume", action="store_true", help="leave out what passed before: go on where a run's time ended")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    last = len(LONGEST)
    items.sort(key=lambda item: LONGEST.index(name) if (name := unit(item.nodeid)) in LONGEST else last)
    if config.getoption("resume"):
        passed = kept(config)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.config.getoption("resume") and report.when == "call" and report.passed and item.config.cache:
        item.config.cache.set(PASSED, sorted({*kept(item.config), item.nodeid}))  # at once: nobody says when the time ends
    return report


def kept(config: pytest.Config) -> set[str]:
    return set(config.cache.get(PASSED, [])) if config.cache else set()


class UnitByUnit(LoadFileScheduling):
    """Where tests run in several processes, each takes the next unit, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> UnitByUnit:
    config.option.loadscopereorder = False
    return UnitByUnit(config, log)


@pytest.fixture(scope="session")
def reference() -> Run:
    found = open_reference()
    assert found is not None
    return found


@pytest.fixture(scope="session")
def workspace() -> Iterator[Path]:
    """Provide a work folder of the tests' own, that the server's account can enter; whatever runs in it is ended at the end."""
    folder = Path(tempfile.mkdtemp(prefix="tierwise-tests-", dir="/var/tmp"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TIERWISE_WORK", str(folder))
            folder.chmod(0o755)
            open_workspace()
        yield folder
    finally:
        reclaim(folder)
        shutil.rmtree(folder)


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have runs lie, and be found, in a folder of the test's own."""
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    return tmp_path / "raw"


@pytest.fixture
def own_folders(workspace: Path, raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the test measure in the tests' own work folder, and put its run into a folder of its own."""
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))


@pytest.fixture(scope="session")
def cluster18(workspace: Path) -> Cluster:
    return _made(workspace, None)


@pytest.fixture(scope="session")
def debians_15() -> Path:
    folder = Path("/usr/lib/postgresql/15/bin")
    if not (folder / "postgres").exists():
        pytest.skip(f"Debian's PostgreSQL 15 is not installed: no {folder}")
    return folder


@pytest.fixture(scope="session")
def cluster15(workspace: Path, debians_15: Path) -> Cluster:
    return _made(workspace, debians_15)


@pytest.fixture(params=["cluster18", "cluster15"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Each of the two servers in turn; not running, and stopped afterwards if the test left it running."""
    shared: Cluster = request.getfixturevalue(request.param)
    yield shared
    shared.stop()


@pytest.fixture
def conn(cluster: Cluster) -> Iterator[Connection]:
    """Provide a session on each server in turn, running as for loading; the tables that the test makes go with it."""
    cluster.start(loading_settings())
    with cluster.connect() as session:
        yield session
    empty(cluster)


def empty(cluster: Cluster) -> None:
    """Drop what a test has made in a server, which is stopped then."""
    if not cluster.running:
        cluster.start(loading_settings())
    with cluster.connect() as session:
        session.execute("DROP SCHEMA public CASCADE")
        session.execute("CREATE SCHEMA public")
        for (name,) in session.execute("SELECT spcname FROM pg_tablespace WHERE spcname !~ '^pg_'").fetchall():
            session.execute(f'DROP TABLESPACE "{name}"')
    cluster.stop()


def _made(workspace: Path, folder: Path | None) -> Cluster:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_WORK", str(workspace))
        patch.delenv("PG_BIN", raising=False)
        if folder is not None:
            patch.setenv("PG_BIN", str(folder))
        binaries = find_binaries()
    made = Cluster(workspace / f"shared-{binaries.version[0]}", binaries, server_account())
    made.create()
    return made


@pytest.fixture
def by_replicates_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge rows made for a test without the model intervals of the reference run."""
    monkeypatch.setattr("tierwise.analysis.judging.shifts_of", lambda _: None)
