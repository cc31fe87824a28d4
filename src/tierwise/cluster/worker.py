"""``tierwise worker``: a Dask worker that measures one replicate at a time, and comes back after the scheduler was away."""

import asyncio
import os
import signal
from contextlib import suppress
from functools import partial
from typing import Any, Final

from tierwise import __version__
from tierwise.cluster import work
from tierwise.cluster.connection import checked, need_dask, security
from tierwise.cluster.machine import machine_id
from tierwise.core.files import scratch_folder
from tierwise.core.progress import say

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
