"""A tier's places: the extent map of an emulated one, a folder on a real disk, and what the disk can do."""

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tierwise.core.errors import InputError
from tierwise.core.pairs import DirectoryTier
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Evidence
from tierwise.tiers.directory import calibrate
from tierwise.tiers.nodes import EXTENT_BYTES, Extents
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


@pytest.fixture
def extents(tmp_path: Path) -> Iterator[Extents]:
    with closing(Extents(tmp_path / "map", 100 * EXTENT_BYTES)) as new:
        yield new


def test_a_file_lies_in_one_piece(extents: Extents) -> None:
    addresses = [extents.address(11, offset) for offset in range(0, 10 * EXTENT_BYTES, MIB)]
    assert addresses == [MIB * number for number in range(len(addresses))]


def test_files_written_one_after_the_other_follow_each_other(extents: Extents) -> None:
    assert [extents.address(inode, 5) // EXTENT_BYTES for inode in (3, 4, 5, 3)] == [0, 1, 2, 0]
    assert extents.address(4, EXTENT_BYTES) == 3 * EXTENT_BYTES, "the place behind it is another file's"


def test_addresses_outlive_a_killed_process(tmp_path: Path, extents: Extents) -> None:
    places = {(inode, offset): extents.address(inode, offset) for inode in (7, 8, 9) for offset in (0, EXTENT_BYTES, 5 * EXTENT_BYTES)}
    extents.free(8)
    left = tmp_path / "left"
    shutil.copy(tmp_path / "map", left)
    with closing(Extents(left, 100 * EXTENT_BYTES)) as found:
        found.keep([7, 9, 10])
        assert all(found.address(inode, offset) == place for (inode, offset), place in places.items() if inode != 8)
    assert len(left.read_text(encoding="ascii").splitlines()) == 6


def test_space_given_back_is_used_again_once_the_end_is_reached(tmp_path: Path) -> None:
    with closing(Extents(tmp_path / "map", 4 * EXTENT_BYTES)) as extents:
        for inode in range(4):
            extents.address(inode, 0)
        with pytest.raises(OSError, match="full"):
            extents.address(4, 0)
        extents.free(1)
        assert extents.address(4, 0) == EXTENT_BYTES
        extents.keep([2])
        assert sorted(extents.address(inode, 0) // EXTENT_BYTES for inode in (5, 6, 7)) == [0, 1, 3]


def test_a_spoilt_map_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "map").write_text("1 0 0\n1 zero 1\n", encoding="ascii")
    with pytest.raises(InputError, match=r"map line 2 is '1 zero 1': must be .* Remedy: remove the file"):
        Extents(tmp_path / "map", EXTENT_BYTES)
