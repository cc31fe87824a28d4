"""The plan of a move held against ``ALTER TABLE ... SET TABLESPACE`` of a real server, by the emulator's intended times."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from emulation import emulated, new_folder
from tierwise.advisor.copying import copy_s
from tierwise.core.units import PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.spec import load_device
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.relations import create_tablespace, move
from tierwise.tiers.emulated import Emulated

DEVICES: Final = {"disks": "sata-7k2-x6", "flash": "mtron-3025"}
DIRECT: Final = {
    "debug_io_direct": "data",
    "io_method": "sync",
    "shared_buffers": "8MB",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",  # a relation that is copied is not logged
}
TOLERANCE: Final = 0.25
"""The share of the devices' time by which a plan may be wrong.

It leaves out the free space map, where the platters stand, and how long the host thinks between requests.
"""


@pytest.fixture
def tiers(workspace: Path, cluster18: Cluster) -> Iterator[dict[str, Emulated]]:
    owner = (cluster18.account.uid, cluster18.account.gid)
    with (
        emulated(new_folder(workspace), DEVICES["disks"], owner=owner) as disks,
        emulated(new_folder(workspace), DEVICES["flash"], owner=owner) as flash,
    ):
        mounted = {"disks": disks, "flash": flash}
        cluster18.start(DIRECT)
        try:
            with cluster18.connect() as session:
                for name, tier in mounted.items():
                    create_tablespace(session, name, tier.directory)
                session.execute("CREATE TABLE moved (a bigint, b bigint, c bigint, d bigint) TABLESPACE disks")  # nothing to toast
                session.execute("INSERT INTO moved SELECT n, n, n, n FROM generate_series(1, 80000) n")
                session.execute("CHECKPOINT")
                yield mounted
                session.execute("DROP TABLE moved")
                for name in mounted:
                    session.execute(f'DROP TABLESPACE "{name}"')
        finally:
            cluster18.stop()


def test_alter_table_takes_the_devices_as_long_as_planned_there_and_back(tiers: dict[str, Emulated], cluster18: Cluster) -> None:
    with cluster18.connect() as session:
        ((size_bytes,),) = session.execute("SELECT pg_relation_size('moved')").fetchall()
        assert size_bytes > 500 * PAGE_BYTES
        for source, target in (("disks", "flash"), ("flash", "disks")):
            for tier in tiers.values():
                tier.empty_cache()
                tier.delays(True)
                tier.reset_io()
            started_s = time.monotonic()
            move(session, "moved", target)
            elapsed_s = time.monotonic() - started_s
            counted = {name: list(tier.io().values()) for name, tier in tiers.items()}
            for tier in tiers.values():
                tier.delays(False)
            assert sum(io.read_bytes for io in counted[source]) >= size_bytes
            assert sum(io.write_bytes for io in counted[target]) >= size_bytes
            emulated_s = sum(io.intended_s for files in counted.values() for io in files)
            ends = [partial(build, load_device(DEVICES[name]), seed=1) for name in (source, target)]
            planned_s = copy_s(size_bytes, ends[0], ends[1])
            assert planned_s == pytest.approx(emulated_s, rel=TOLERANCE), f"{source} to {target}"
            assert elapsed_s > 0.9 * emulated_s, "the server waited for what the devices took"
