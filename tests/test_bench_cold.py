"""A testbed measures nothing as cold while a server lives: what it saw after emptying the caches is part of the evidence."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tierwise.bench.recording import Recorder
from tierwise.bench.testbed import Session, Testbed
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Cache, IoMode
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import PID_FILE


@pytest.fixture
def testbed(cluster18: Cluster, tmp_path: Path) -> Iterator[Testbed]:
    """Provide a testbed without tiers, whose server is down before and after."""
    yield Testbed(load_profile("smoke"), load_pair("source-m"), 1, tmp_path, cluster18)
    cluster18.kill()


def cold_answer(testbed: Testbed) -> tuple[Session, object]:
    statement = "SELECT 1"
    with testbed.cold([], [], statement, io_mode=IoMode.BUFFERED, shared_buffers_bytes=16 * MIB, setup=[], recorder=Recorder()) as session:
        return session, testbed.timed(session, statement, cache=Cache.COLD, cell={}, expected={}).proof["server_was_down"]


def test_a_server_that_is_down_is_seen_to_be(testbed: Testbed) -> None:
    session, proof = cold_answer(testbed)
    assert session.server_was_down is proof is True


def test_a_server_that_is_still_alive_is_refused(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    testbed.cluster.start({})
    monkeypatch.setattr(Cluster, "stop", lambda *_: None)
    with pytest.raises(EvidenceError, match="a server still runs"):
        cold_answer(testbed)


def test_a_pid_file_that_is_still_there_is_refused(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    (testbed.cluster.data / PID_FILE).write_text("1\n", encoding="ascii")
    monkeypatch.setattr(Cluster, "stop", lambda *_: None)
    with pytest.raises(EvidenceError, match="pid file"):
        cold_answer(testbed)
