"""A campaign on loopback for tests: a scheduler, workers with separate work folders, and a client, in a copy of the checkout."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from checkout import Home, new_home
from s3_server import free_port
from support import waited_for
from tierwise.cluster.attempts import Survey, Surveyor
from tierwise.cluster.store import open_store
from tierwise.core import paths
from tierwise.timings.manifest import Manifest
from tierwise.timings.parts import rows_so_far

STUDY = "wal_placement"
TRIALS = "wal=ssd"
REPLICATES = 2
PATIENCE_S = 400.0
TTL_S = 5
MEASURES = "tierwise.cluster.replicate"
RUN = f"""
from tierwise.cluster.client import run_study
run_study("{STUDY}", profile="fault", trials="{TRIALS}")
"""


@dataclass
class Site:
    """The processes of a campaign; all have one folder of temporary files, in which the lock of the host lies."""

    home: Home
    store: str
    port: int = field(default_factory=free_port)
    host: str = "127.0.0.1"
    keys: dict[str, str] = field(default_factory=dict)  # variables with certificates, for TLS
    started: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{'tls' if self.keys else 'tcp'}://{self.host}:{self.port}"

    def environment(self, work: str) -> dict[str, str]:
        checkout = self.home.folder / "checkout"
        dask = {"SCHEDULER__WORK_STEALING": "False", "SCHEDULER__WORKER_TTL": f"{TTL_S}s", "COMM__TIMEOUTS__CONNECT": "5s"}
        return {
            **self.home.environment(TIERWISE_HOME=str(checkout), TIERWISE_WORK=str(self.home.folder / work)),
            **{f"DASK_DISTRIBUTED__{name}": value for name, value in dask.items()},
            **self.keys,
            "DASK_LOGGING__DISTRIBUTED": "error",
            "SCHEDULER": self.address,
            "STORE": self.store,
        }

    def start(self, name: str, *command: str, within: Sequence[str] = (), **more: str) -> subprocess.Popen[str]:
        log = (self.home.folder / f"{name}.log").open("a", encoding="utf-8")
        line = [*within, sys.executable, *command]
        environment = {**self.environment(name), **more}
        self.started[name] = subprocess.Popen(line, env=environment, stdout=log, stderr=log, text=True, cwd=paths.home())
        log.close()
        return self.started[name]

    def start_scheduler(self) -> None:
        where = ("--protocol", self.address.partition(":")[0], "--host", self.host, "--port", str(self.port))
        dashboard = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        self.start("scheduler", "-m", "distributed.cli.dask_scheduler", *where, *dashboard)

    def start_worker(self, name: str, *within: str, **more: str) -> subprocess.Popen[str]:
        """Start a worker, `within` what a command such as nsenter gives to the command that follows it."""
        return self.start(name, "-m", "tierwise", "worker", "--scheduler", self.address, within=within, **more)

    def start_other_machine(self, name: str) -> subprocess.Popen[str]:
        """Start a worker that has the name and the lock of another machine."""
        boot, temporary = self.home.folder / f"{name}.boot", self.home.folder / f"{name}.tmp"
        boot.write_text(name, encoding="ascii")
        temporary.mkdir()
        serves = f"""
from pathlib import Path
from tierwise.cluster import worker
from tierwise.core import host
host.BOOT = Path({str(boot)!r})
worker.serve("{self.address}")
"""
        return self.start(name, "-c", serves, TMPDIR=str(temporary))

    def start_client(self) -> subprocess.Popen[str]:
        return self.start("client", "-c", RUN)

    def kill(self, name: str) -> None:
        process = self.started.pop(name)
        process.kill()
        process.wait()

    def log(self, name: str) -> str:
        return (self.home.folder / f"{name}.log").read_text(encoding="utf-8")

    def listens_on(self) -> set[str]:
        """Return the addresses on which the campaign's own processes listen."""
        pids = {process.pid for process in self.started.values()}
        found = (one for one in psutil.net_connections("inet") if one.status == psutil.CONN_LISTEN and one.pid in pids)
        return {one.laddr.ip for one in found if one.laddr}

    def measuring(self) -> list[psutil.Process]:
        """Return the processes that measure a replicate now, past the wait for the host's lock."""
        found = []
        for worker in self.started.values():
            with suppress(psutil.Error):
                found += [one for one in psutil.Process(worker.pid).children() if one.children() and MEASURES in one.cmdline()]
        return found

    def wait_for_measuring(self) -> psutil.Process:
        deadline_s = time.monotonic() + PATIENCE_S
        while not (found := self.measuring()):
            assert time.monotonic() < deadline_s, self.log("client")
            assert self.started["client"].poll() is None, self.log("client")
            time.sleep(0.1)
        return found[0]

    def wait_for_word(self, word: str, *names: str) -> None:
        """Wait until one of these processes says `word`."""
        spoken = waited_for(lambda: any(word in self.log(name) for name in names), PATIENCE_S)
        assert spoken, [self.log(name) for name in names]

    def survey(self) -> Survey:
        (run_id,) = self.home.runs()
        return Surveyor(open_store(self.store), run_id).survey()

    def check_complete(self) -> Manifest:
        """Wait for the client; the run has every replicate once, of attempts that are whole, and nothing is left running."""
        status = self.started["client"].wait(PATIENCE_S)
        assert status == 0, self.log("client")
        (run,) = self.home.runs().values()
        assert [(one.name, one.replicates) for one in run.studies] == [(STUDY, REPLICATES)]
        assert sorted(one.replicate for one in run.attempts) == list(range(REPLICATES))
        rows = rows_so_far(self.home.folder / "raw" / run.run_id).filter(study=STUDY)
        assert not rows.select("pair", "trial", "replicate", "step").is_duplicated().any()
        self.stop()
        assert waited_for(lambda: not self.home.processes(), PATIENCE_S), self.home.processes()
        assert self.home.mounts() == []
        return run

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self.started.values():
                process.send_signal(number)
            for process in self.started.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(40.0 if number == signal.SIGTERM else 5.0)
        self.started.clear()


@contextmanager
def campaign_site(store: str = "", **where: Any) -> Iterator[Site]:
    pytest.importorskip("distributed", reason="the extra cluster is not installed (make cluster)")
    with new_home() as home:
        smallest = Path(__file__).with_name("fault_profile.toml").read_text(encoding="utf-8")
        home.lay_out("fault", smallest.replace("replicates = 1", f"replicates = {REPLICATES}"))
        site = Site(home, store or str(home.folder / "store"), **where)
        try:
            site.start_scheduler()
            yield site
        finally:
            site.stop()
