"""The hit ratio of a cached device under PostgreSQL, against the one simulated from requests that were recorded without the cache."""

import importlib.util
from pathlib import Path

import pytest

from emulation import need_fuse
from tierwise.core import paths
from tierwise.devices.ssd_cache import POLICIES
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account


@pytest.mark.soak
def test_the_simulated_hit_ratio_is_postgresqls_within_a_percentage_point(workspace: Path) -> None:
    need_fuse()
    spec = importlib.util.spec_from_file_location("validate_cache", paths.home() / "scripts" / "validate_cache.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = workspace / "cached"
    folder.mkdir(mode=0o755)
    cluster = Cluster(folder / "server", find_binaries(), server_account())
    cluster.create()
    for row in script.checked(cluster, folder, list(POLICIES)):
        assert row["reads"] > 1000
        assert 0.05 < row["hit_ratio"] < 0.95
        assert row["simulated"] == pytest.approx(row["hit_ratio"], abs=0.01), row["policy"]
