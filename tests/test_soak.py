"""What takes long: `make soak`."""

import random
from pathlib import Path

import polars as pl
import pytest

from checkout import VICTIMS, new_home, seed
from tierwise.bench.loop import gather_inputs
from tierwise.bench.rooms import load_study
from tierwise.datasets import census
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.settings import loading_settings
from tierwise.timings.parts import read_rows, without_checks

pytestmark = pytest.mark.soak

KILLS = 20
BEFORE_MEASURING = 0.25
"""Share of the lives that last for some time, whatever they come to; the others measure some trials first."""
LONGEST_LIFE_S = 15.0
PUBLISHED_MB = {"census": 1010, "census_pkey": 52, "pob": 52}


def test_a_run_killed_twenty_times_ends_with_every_trial_once_and_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Each victim in turn, when chance will have it, but before the run can be complete: the last life begins with trials left."""
    chance = random.Random(seed())
    inputs = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")
    (pair,) = (pair for pair in inputs.pairs if pair.source == "M")
    trials = {trial.key for trial in load_study("index_placement").trials(inputs.profile, pair)}
    expected = {(trial, block) for trial in trials for block in range(inputs.profile.blocks)}
    victims = [victim for _ in range(KILLS // len(VICTIMS) + 1) for victim in chance.sample(VICTIMS, len(VICTIMS))][:KILLS]
    with new_home() as home:
        for kill, victim in enumerate(victims, start=1):
            known, most = len(home.parts()), len(expected) * kill // (KILLS + 1)
            if chance.random() < BEFORE_MEASURING or known >= most:
                home.report_and_kill(victim, chance, parts=most, within_s=chance.uniform(1.0, LONGEST_LIFE_S))
            else:
                home.report_and_kill(victim, chance, parts=chance.randint(known + 1, most))
            with capsys.disabled():
                print(
                    f"SEED={seed()} kill {kill:2} of {KILLS}: {victim}, {len(home.parts())} of {len(expected)} trials measured", flush=True
                )
        last = home.command("report")
        assert last.returncode == 0, last.stderr
        ((run_id, run),) = home.runs().items()
        assert run.status == "complete"
        rows = without_checks(read_rows(home.folder / "raw" / run_id)).filter(study="index_placement")
        steps = {(trial, block): sorted(found) for trial, block, found in rows.group_by("trial", "block").agg(pl.col("step")).rows()}
        assert steps.keys() == expected
        assert all(found == list(range(len(found))) for found in steps.values())
        assert len({(trial, len(found)) for (trial, _), found in steps.items()}) == len(trials)
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
