"""A limit on all the memory of a server, the page cache of what it reads included."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tierwise.core.memory_group import memory_group
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import postmaster, server_processes


@contextmanager
def memory_limited(cluster: Cluster, size_bytes: int) -> Iterator[None]:
    """Limit the running server of `cluster` and its later sessions to `size_bytes`, page cache included; stop it before the end."""
    with memory_group("server") as group:
        group.limit(size_bytes)
        if first := postmaster(cluster.data):  # before the others are looked for: whom it starts from now on is in the group
            group.take_in(first.pid)
        for process in server_processes(cluster.data):
            with suppress(ProcessLookupError):  # what a start needs ends by itself
                group.take_in(process.pid)
        try:
            yield
        finally:
            cluster.stop("immediate")
