"""Databases that many trials begin with: filled once, then restored before each trial on its tiers."""

import json
import shutil
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

from psycopg import sql

from tierwise.bench.testbed import Testbed
from tierwise.core.files import write_whole
from tierwise.core.progress import say
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.cluster_files import TABLESPACES, restore
from tierwise.postgres.loading import loading
from tierwise.postgres.settings import Connection

TEMPLATES: Final = ("template0", "template1")
Fill = Callable[[Cluster, Connection], Mapping[str, Any]]  # fills the database of a running cluster and returns facts to keep


def prepare_database(testbed: Testbed, name: str, tablespaces: tuple[str, ...], fill: Fill) -> None:
    """Make the database `name` by `fill`, with `tablespaces`, once, whole or not at all."""
    cluster = _cluster(testbed, name)
    if _facts_file(testbed, name).exists():
        return
    say(f"filling the database {name}")
    cluster.stop("immediate")
    shutil.rmtree(cluster.folder, ignore_errors=True)
    testbed.make_cluster(cluster)
    with loading(cluster, {tablespace: cluster.folder / TABLESPACES / tablespace for tablespace in tablespaces}) as connection:
        facts = fill(cluster, connection)
        for template in TEMPLATES:  # two thirds of a small cluster's files, each of which would be put back for every trial
            connection.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE false").format(sql.Identifier(template)))
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(template)))
    write_whole(_facts_file(testbed, name), json.dumps(facts))


def database_facts(testbed: Testbed, name: str) -> dict[str, Any] | None:
    file = _facts_file(testbed, name)
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def restore_database(testbed: Testbed, name: str, tablespaces: Mapping[str, str], *, wal: str) -> None:
    """Make the testbed's cluster the database `name` as prepared, with tablespaces (name -> tier), and WAL on the tier `wal`."""
    testbed.cluster.stop("immediate")
    for tier, tablespace in product(testbed.tiers.values(), tablespaces):
        shutil.rmtree(tier.directory / tablespace, ignore_errors=True)  # of the trial before
    places = {tablespace: testbed.tiers[tier].directory for tablespace, tier in tablespaces.items()}
    restore(_cluster(testbed, name), testbed.cluster, places, testbed.tiers[wal].directory if wal in testbed.tiers else None)


def _cluster(testbed: Testbed, name: str) -> Cluster:
    return Cluster(testbed.work / f"prepared-{name}", testbed.cluster.binaries, testbed.cluster.account)


def _facts_file(testbed: Testbed, name: str) -> Path:
    return _cluster(testbed, name).folder / "facts.json"
