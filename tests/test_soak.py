"""What takes long: `make soak`."""

from pathlib import Path

import pytest

from tierwise.datasets import census
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.settings import loading_settings

pytestmark = pytest.mark.soak

PUBLISHED_MB = {"census": 1010, "census_pkey": 52, "pob": 52}


def test_the_full_census_has_the_published_sizes(cluster18: Cluster, tmp_path: Path) -> None:
    data = census.acquire("synthetic", fraction=1.0, seed=1, folder=tmp_path)
    assert data.rows == census.ROWS
    cluster18.start(loading_settings())
    try:
        with cluster18.connect() as connection:
            with connection.transaction():
                connection.execute(census.ddl("census"))
                copy_parquet(connection, data.parquet, "census", [column.name for column in census.COLUMNS])
                connection.execute("CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
            sizes = dict(
                connection.execute("SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relname = ANY(%s)", [list(PUBLISHED_MB)])
            )
            connection.execute("DROP TABLE census")
    finally:
        cluster18.stop()
    assert {name: size / 2**20 for name, size in sizes.items()} == pytest.approx(PUBLISHED_MB, rel=0.1)
