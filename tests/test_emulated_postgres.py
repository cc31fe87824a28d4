"""A real server on an emulated mount: made, loaded, checked, killed with and without its disk, and behind a cached device."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation import check_checksums, kill_daemon, need_fuse, revive, tablespace
from tierwise.devices.ssd_cache import POLICIES
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.relations import move
from tierwise.postgres.workspace import server_account
from tierwise.tiers.emulated import Emulated
from validate_cache import checked

ROWS = 10_000
DIRECT = {"debug_io_direct": "data", "shared_buffers": "8MB", "autovacuum": "off"}


@pytest.fixture
def tier(workspace: Path, cluster18: Cluster) -> Iterator[Emulated]:
    table = "CREATE TABLE onflash (id int PRIMARY KEY USING INDEX TABLESPACE disk, filler text) TABLESPACE disk"
    rows = f"INSERT INTO onflash SELECT n, repeat('x', 500) FROM generate_series(1, {ROWS}) n"
    with tablespace(workspace, cluster18, "mtron-3025", table, rows) as tier:
        yield tier


def test_a_table_on_the_mount_is_read_through_it_and_its_checksums_hold(tier: Emulated, cluster18: Cluster) -> None:
    tier.delays(True)
    cluster18.start(DIRECT)
    with cluster18.connect() as session:
        tier.reset_io()
        before = session.execute("SELECT sum(reads) FROM pg_stat_io WHERE object = 'relation'").fetchone()
        found = session.execute("SELECT count(*), sum(id), sum(length(filler)) FROM onflash").fetchone()
        assert found == (ROWS, ROWS * (ROWS + 1) / 2, 500 * ROWS)
        (pages,) = session.execute("SELECT pg_relation_size('onflash') / 8192").fetchone() or (0,)
        io = tier.io()
        assert before is not None
        assert sum(file.read_bytes for file in io.values()) >= pages * 8192
        assert sum(file.intended_s for file in io.values()) > pages * 8192 / 100e6
        session.execute("CREATE INDEX ON onflash (filler, id) TABLESPACE disk")
        session.execute("VACUUM FULL onflash")
        move(session, "onflash_pkey", "disk")
    cluster18.stop()
    tier.delays(False)
    check_checksums(cluster18)


def test_killed_server_and_killed_disk_recover(tier: Emulated, cluster18: Cluster) -> None:
    cluster18.start(DIRECT)
    with cluster18.connect() as session:
        session.execute("UPDATE onflash SET filler = 'changed' WHERE id <= 1000")
    cluster18.kill()
    kill_daemon(tier)
    revive(tier)
    cluster18.start(DIRECT)
    with cluster18.connect() as session:
        assert session.execute("SELECT count(*), count(*) FILTER (WHERE filler = 'changed') FROM onflash").fetchone() == (ROWS, 1000)


def test_the_tier_cannot_be_unmounted_below_a_running_server(tier: Emulated, cluster18: Cluster) -> None:
    cluster18.start(DIRECT)
    with cluster18.connect() as session:
        session.execute("SELECT count(*) FROM onflash")
        with pytest.raises(Exception, match="in use by postgres"):
            tier.stop()
    cluster18.stop()
    tier.stop()
    tier.start()


def test_the_mount_can_be_walked_while_the_server_runs(tier: Emulated, cluster18: Cluster) -> None:
    cluster18.start({})
    listed = subprocess.run(["find", tier.directory, "-type", "f"], check=True, capture_output=True, text=True)
    assert "PG_18" in listed.stdout


@pytest.mark.soak
def test_the_simulated_hit_ratio_is_postgresqls_within_a_percentage_point(workspace: Path) -> None:
    need_fuse()
    folder = workspace / "cached"
    folder.mkdir(mode=0o755)
    cluster = Cluster(folder / "server", find_binaries(), server_account())
    cluster.create()
    for row in checked(cluster, folder, list(POLICIES)):
        assert row["reads"] > 1000
        assert 0.05 < row["hit_ratio"] < 0.95
        assert row["simulated"] == pytest.approx(row["hit_ratio"], abs=0.01), row["policy"]
