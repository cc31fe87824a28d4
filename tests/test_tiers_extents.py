"""The extent map: what is written one after the other lies one after the other, and stays there."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tierwise.core.errors import InputError
from tierwise.core.units import MIB
from tierwise.tiers.extents import EXTENT_BYTES, Extents


@pytest.fixture
def extents(tmp_path: Path) -> Iterator[Extents]:
    """Provide a new map, of a device of a hundred extents."""
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
