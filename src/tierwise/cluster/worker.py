"""``tierwise worker``: a Dask worker that measures one replicate at a time, and comes back after the scheduler was away.

Which addresses of a scheduler are safe, and what a scheduler must not do, holds for workers and clients.
"""

import asyncio
import os
import signal
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from tierwise import __version__
from tierwise.cluster import work
from tierwise.core.errors import InputError, MissingError
from tierwise.core.files import scratch_folder
from tierwise.core.host import machine_id
from tierwise.core.progress import say


def need_dask() -> None:
    try:
        import distributed  # noqa: F401, PLC0415
    except ImportError as error:
        why, remedy = "workers and campaigns on several machines run on it", "make cluster, or pip install 'tierwise[cluster]'"
        raise MissingError("the package distributed", why=why, remedy=remedy) from error


def checked(address: str) -> str:
    """Return `address`, a scheduler's, if nobody else can send code to its ports: under TLS, or on loopback."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if parts.scheme not in {"tcp", "tls"} or not host or port is None:
        rule = "must be tls://HOST:PORT, tcp://127.0.0.1:PORT or local"
        raise InputError("SCHEDULER", value=address, rule=rule, remedy="write SCHEDULER=tls://HOST:8786")
    if parts.scheme == "tcp" and not _loopback(host):
        rule = "without TLS, anybody who reaches this port can run programs on every worker"
        raise InputError("SCHEDULER", value=address, rule=rule, remedy="use tls:// with client certificates (docs/cluster.md)")
    return address


def security(address: str) -> Any:
    """Return Dask's keys and certificates for `address`, which Dask reads from its own configuration."""
    from distributed.security import Security  # noqa: PLC0415

    if not address.startswith("tls:"):
        return Security(require_encryption=False)
    found = Security(require_encryption=True)
    lacking = [name for name in ("tls_ca_file", "tls_client_cert", "tls_client_key") if not getattr(found, name)]
    if lacking:
        rule = f"TLS needs {', '.join(lacking)}"
        raise InputError("SCHEDULER", value=address, rule=rule, remedy="set DASK_DISTRIBUTED__COMM__TLS__* (docs/cluster.md)")
    return found


def refuse_unsafe(client: Any, address: str) -> None:
    """Refuse a scheduler that listens beyond loopback without TLS, or moves work to machines that the client did not choose."""
    checked(client.scheduler_info(n_workers=0)["address"])
    if client.run_on_scheduler(lambda dask_scheduler: "stealing" in dask_scheduler.periodic_callbacks):
        remedy = "start it with DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING=False"
        raise InputError("SCHEDULER", value=address, rule="must not steal work from workers", remedy=remedy)


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 8.0
HTTP: Final = "127.0.0.1:0"  # where Dask's worker answers HTTP, which it cannot do without


def serve(address: str) -> None:
    """Take replicates from the scheduler at `address` until a signal ends this process."""
    need_dask()
    checked(address)
    keys = security(address)
    work.end_left_behind()
    with scratch_folder("tierwise-worker-") as local, suppress(asyncio.CancelledError):
        asyncio.run(_serve(address, keys, str(local)))


def name() -> str:
    return f"{machine_id()}-{os.getpid()}-{__version__}"


async def _serve(address: str, keys: Any, local: str) -> None:
    from distributed import Worker  # noqa: PLC0415

    this = asyncio.current_task()
    assert this is not None

    def end() -> None:
        work.end_run()
        this.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    pause_s = FIRST_PAUSE_S
    ways = {"host": "127.0.0.1"} if address.startswith("tcp:") else {"protocol": "tls"}
    make = partial(Worker, address, name=name(), nthreads=1, security=keys, local_directory=local, dashboard_address=HTTP, memory_limit=0)
    while True:
        try:
            async with make(**ways) as worker:
                say(f"worker {worker.name} is connected to {address}")
                pause_s = FIRST_PAUSE_S
                await worker.finished()
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            say(f"the scheduler {address} is away, next try in {pause_s:.1f} s ({error})")
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
