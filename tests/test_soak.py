"""What takes long: `make soak`."""

import random
import time
from pathlib import Path

import pytest

from checkout import new_home
from tierwise.datasets import census
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.settings import loading_settings
from tierwise.timings.store import read_rows

pytestmark = pytest.mark.soak

KILLS = 20
LONGEST_LIFE_S = 12.0
PUBLISHED_MB = {"census": 1010, "census_pkey": 52, "pob": 52}


@pytest.mark.parametrize("seed", [1])
def test_a_run_killed_twenty_times_ends_with_every_trial_once_and_leaves_nothing(seed: int) -> None:
    chance = random.Random(seed)
    with new_home() as home:
        killed = []
        for _ in range(KILLS):
            with home.reporting() as report:
                time.sleep(chance.uniform(2.0, LONGEST_LIFE_S))
                if report.poll() is None:
                    killed.append(home.kill_something(report, chance))
        assert len(killed) >= KILLS // 2, f"too few were alive to be killed: {killed}"
        last = home.command("report")
        assert last.returncode == 0, last.stderr
        ((run_id, run),) = home.runs().items()
        assert run.status == "complete"
        (study,) = run.studies
        rows = read_rows(home.folder / "raw" / run_id)
        expected = {(trial, block, step) for trial in study.trials for block in range(study.blocks) for step in range(3)}
        assert sorted(rows.select("trial", "block", "step").rows()) == sorted(expected)
        assert home.processes() == []
        assert home.mounts() == []


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
