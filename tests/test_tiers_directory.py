"""A tier on a real disk: a folder of its own there, and what the disk can do."""

import os
import resource
from pathlib import Path

import pytest

from tierwise.core.errors import InputError
from tierwise.core.pairs import DirectoryTier
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Evidence
from tierwise.tiers.directory import calibrate
from tierwise.tiers.open import open_tier
from tierwise.tiers.reclaim import discard
from tierwise.tiers.tier import Tier

MYSELF = (os.getuid(), os.getgid())


def tier_on(directory: str, work: Path) -> Tier:
    return open_tier("ssd", DirectoryTier(kind="directory", directory=directory), work=work, stretch=1, seed=1, owner=MYSELF)


def test_a_relative_directory_lies_in_the_work_folder(tmp_path: Path) -> None:
    tier = tier_on("disk", tmp_path)
    tier.start()
    assert tier.directory.is_relative_to(tmp_path / "disk")
    assert tier.directory.stat().st_mode & 0o777 == 0o700


def test_the_readers_own_directory_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    (tmp_path / "mine" / "letter").write_text("dear", encoding="utf-8")
    tier = tier_on(str(tmp_path / "mine"), tmp_path / "work")
    tier.start()
    tier.start()
    tier.delays(True)
    tier.empty_cache()
    tier.reset_io()
    tier.stop()
    assert tier.io() is None
    assert tier.device is None
    assert tier.evidence is Evidence.MEASURED
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o755
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"letter", tier.directory.name}


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"tier ssd: directory is '.*file': must be a directory"):
        tier_on(str(tmp_path / "file"), tmp_path).start()


def test_a_disk_is_calibrated_in_seconds_and_left_clean(tmp_path: Path) -> None:
    found = calibrate(tmp_path, seconds=0.6)
    assert 1e-6 < found.random_read_latency_s < 0.1
    assert found.random_read_iops_8jobs > 0.5 / found.random_read_latency_s, "eight at a time are not slower than one"
    assert found.sequential_read_bytes_per_s > 1e6
    assert list(tmp_path.iterdir()) == []


def test_a_calibration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, usual[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            calibrate(tmp_path, seconds=0.3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert list(tmp_path.iterdir()) == []


def test_discarding_a_work_folder_takes_the_folder_that_its_tier_made_in_the_readers_directory_and_nothing_else(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter").write_text("dear", encoding="utf-8")
    ours, anothers = (tier_on(str(mine), tmp_path / work / "ssd") for work in ("work", "work-of-another-checkout"))
    for tier in (ours, anothers):
        tier.start()
        (tier.directory / "relation").write_bytes(b"rows")
    discard(tmp_path / "work")
    assert sorted(mine.iterdir()) == sorted([mine / "letter", anothers.directory])
    assert not (tmp_path / "work").exists()
