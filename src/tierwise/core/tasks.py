"""Simulated work in tasks: one after the other, or on this machine's processors with equal results, since each task has its own seed."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, Final, TypeVar

SCHEDULER: Final = "SCHEDULER"
LOCAL: Final = "local"  # the value of `SCHEDULER` for this machine's processors
AHEAD: Final = 4  # tasks that each process may have at once

Result = TypeVar("Result")
_open: list[tuple[ProcessPoolExecutor, int]] = []  # the open pool and its processes, if there is one


@contextmanager
def processors(processes: int = 0) -> Iterator[None]:
    """Have `in_tasks` use this machine's processors while open, if ``SCHEDULER=local``; or `processes` of them."""
    processes = processes or (len(os.sched_getaffinity(0)) if os.environ.get(SCHEDULER) == LOCAL else 1)
    if processes < 2 or _open:
        yield
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_end_with_parent)
    _open.append((pool, processes))
    try:
        yield
    finally:
        _open.clear()
        pool.shutdown(cancel_futures=True)


def in_tasks(function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
    """Yield the results of `function` for each of `arguments`, in their order; in an open pool several are computed at once."""
    if not _open:
        yield from (function(*given) for given in arguments)
        return
    pool, processes = _open[0]
    pending: deque[Future[Result]] = deque()
    for given in arguments:
        pending.append(pool.submit(function, *given))
        if len(pending) == AHEAD * processes:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _end_with_parent() -> None:
    """Leave an interrupt to the parent, and end when it was killed, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    if parent := parent_process():
        parent.join()
    os._exit(1)
