"""Simulated work in tasks: one after the other, or on this machine's processors with equal results, since each task has its own seed."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from tierwise.core.files import scratch_folder

SCHEDULER: Final = "SCHEDULER"
LOCAL: Final = "local"  # the value of `SCHEDULER` for this machine's processors
AHEAD: Final = 4  # tasks that each worker may have at once
# Dask has glibc return freed memory at once, where its workers hold data; tasks that allocate large arrays then take 15 % longer.
_KEEP_FREED_MEMORY: Final = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}

Result = TypeVar("Result")
_open: list[Any] = []  # the client of the open pool, if there is one


@contextmanager
def processors(workers: int = 0) -> Iterator[None]:
    """Have `in_tasks` use this machine's processors while open, if ``SCHEDULER=local``; or `workers` processes."""
    workers = workers or (len(os.sched_getaffinity(0)) if os.environ.get(SCHEDULER) == LOCAL else 1)
    if workers < 2 or _open:
        yield
        return
    import dask  # noqa: PLC0415  an extra
    from distributed import Client, LocalCluster  # noqa: PLC0415

    loopback = {"host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
    with (
        scratch_folder("tierwise-pool-") as folder,
        dask.config.set(_KEEP_FREED_MEMORY),
        LocalCluster(n_workers=workers, threads_per_worker=1, local_directory=str(folder), memory_limit=0, **loopback) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        _open.append(client)
        try:
            yield
        finally:
            _open.clear()


def in_tasks(function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
    """Yield the results of `function` for each of `arguments`, in their order; in an open pool several are computed at once."""
    if not _open:
        yield from (function(*given) for given in arguments)
        return
    client = _open[0]
    most = AHEAD * len(client.scheduler_info()["workers"])
    pending: list[Any] = []
    for given in arguments:
        pending.append(client.submit(function, *given, pure=False))
        if len(pending) == most:
            yield _result(pending.pop(0))
    while pending:
        yield _result(pending.pop(0))


def _result(future: Any) -> Any:
    found = future.result()
    future.release()
    return found
