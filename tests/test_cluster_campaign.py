"""A campaign ends complete although a worker is killed in a replicate; what no campaign may do is refused."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from campaign import MEASURES, PATIENCE_S, REPLICATES, Site, campaign_site
from s3_server import free_port
from support import needs_fuse, waited_for
from tierwise.cluster.client import check_options
from tierwise.cluster.worker import checked, refuse_unsafe
from tierwise.core.errors import InputError
from tierwise.timings.manifest import load_manifest

pytestmark = pytest.mark.alone
JOINED_S = 10.0


@pytest.fixture
def site() -> Iterator[Site]:
    with campaign_site() as made:
        yield made


@needs_fuse
def test_a_campaign_is_complete_after_a_worker_was_killed_in_a_replicate(site: Site) -> None:
    for name in ("one", "two"):
        site.start_worker(name)
    site.start_client()
    measuring = site.wait_for_measuring()
    assert site.listens_on() == {"127.0.0.1"}
    killed = next(name for name, process in site.started.items() if process.pid == measuring.ppid())
    site.kill(killed)
    site.start_worker("three")
    run = site.check_complete()
    found = site.survey()
    assert len(found.counting) == REPLICATES
    errors = [attempt.error for attempt in found.failed]  # more than one if a busy worker is taken for lost
    assert "the worker ended it" in errors, site.log(killed)
    assert {one.machine for one in run.attempts} == {attempt.machine for attempt in found.failed}, "all on one machine"
    folder = site.home.folder / "raw" / run.run_id
    status = site.home.command("campaign", "status", f"{site.store}/{run.run_id}")
    assert status.stdout.split("\n")[1].split() == ["wal_placement", "2", "2", "1", str(len(found.failed))]
    assert load_manifest(folder).attempts == run.attempts


@needs_fuse
def test_a_machine_that_joins_gets_work_within_seconds_and_a_cancelled_campaign_ends(site: Site) -> None:
    site.start_worker("one")
    site.start_client()
    site.wait_for_measuring()
    joined = site.start_other_machine("two")
    while "is connected" not in site.log("two"):
        assert joined.poll() is None, site.log("two")
        time.sleep(0.1)
    connected_s = time.monotonic()
    while not any(MEASURES in one.cmdline() for one in psutil.Process(joined.pid).children()):
        assert time.monotonic() - connected_s < JOINED_S, site.log("client")
        time.sleep(0.1)
    (run_id,) = site.home.runs()
    site.home.command("campaign", "cancel", f"{site.store}/{run_id}")
    assert site.started["client"].wait(PATIENCE_S) != 0
    assert "was cancelled" in site.log("client")
    assert waited_for(lambda: not site.measuring(), PATIENCE_S), site.log("two")


@pytest.mark.parametrize(
    "address",
    ["tcp://10.0.0.1:8786", "tcp://host:8786", "host:8786", "tls://host", "http://127.0.0.1:1", "", "tcp://127.0.0.1:x"],
)
def test_addresses_through_which_others_could_send_code_are_refused(address: str) -> None:
    with pytest.raises(InputError, match="SCHEDULER"):
        checked(address)


def test_loopback_and_tls_are_taken() -> None:
    for address in ("tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:8786", "tls://host:8786"):
        assert checked(address) == address


@pytest.mark.parametrize(("steals", "host", "refused"), [("True", "127.0.0.1", "steal"), ("False", "0.0.0.0", "without TLS")])
def test_a_scheduler_that_steals_work_or_listens_to_everybody_is_refused(steals: str, host: str, refused: str) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed (make cluster)")
    port = free_port()
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", host, "--port", str(port), "--no-dashboard"]
    variables = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": steals, "DASK_LOGGING__DISTRIBUTED": "error"}
    with subprocess.Popen([*command, "--dashboard-address", "127.0.0.1:0"], env=variables) as scheduler:
        try:
            with distributed.Client(f"tcp://127.0.0.1:{port}", timeout=30) as client, pytest.raises(InputError, match=refused):
                refuse_unsafe(client, "tcp://127.0.0.1")
        finally:
            scheduler.terminate()


def test_a_scheduler_needs_a_store_and_a_store_a_scheduler(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed (make cluster)")
    check_options("", "")
    check_options("local", str(tmp_path))
    with pytest.raises(InputError):
        check_options("tcp://127.0.0.1:8786", "")
    with pytest.raises(InputError, match="SCHEDULER=local"):
        check_options("", str(tmp_path))
