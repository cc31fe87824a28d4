"""`tierwise watch` on PostgreSQL 14, 16 and 17: the same counts and epochs as on the servers of every test run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from other_versions import VERSIONS, binaries
from test_watch import (
    make_orders,
    test_a_load_is_counted_as_the_server_counts_it_and_answered_on_one_screen,
    test_every_form_of_a_reset_begins_an_epoch_of_its_own_view,
)
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account

pytestmark = [pytest.mark.alone, pytest.mark.soak]

__all__ = [
    "test_a_load_is_counted_as_the_server_counts_it_and_answered_on_one_screen",
    "test_every_form_of_a_reset_begins_an_epoch_of_its_own_view",
]


@pytest.fixture(params=VERSIONS, scope="module")
def other(request: pytest.FixtureRequest, workspace: Path) -> Iterator[Cluster]:
    found = binaries(request.param)
    made = Cluster(workspace / f"watched-{request.param}", found, server_account())
    made.create()
    yield made
    made.stop()


@pytest.fixture
def loaded(other: Cluster, tmp_path: Path) -> Iterator[tuple[Cluster, Path]]:
    try:
        yield from make_orders(other, tmp_path)
    finally:
        other.stop()
