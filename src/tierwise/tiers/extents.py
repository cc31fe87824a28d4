"""Where on the device a file's bytes lie: a persistent map of 16 MiB extents.

One line of the map file gives an extent: inode, number of the extent in the file, number of the extent on the device;
``inode - -`` gives all extents of an inode back. Lines are appended as extents are given out, so a killed daemon loses
none, and the file is written anew whenever it is opened.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.paths import short
from tierwise.core.units import MIB

EXTENT_BYTES: Final = 16 * MIB


class Extents:
    """The map in `path`, for a device of `capacity_bytes`; what is written one after the other lies one after the other."""

    def __init__(self, path: Path, capacity_bytes: int):
        self._path = path
        self._count = capacity_bytes // EXTENT_BYTES
        self._files: dict[int, dict[int, int]] = {}
        self._used: set[int] = set()
        self._last = -1
        if path.exists():
            self._read()
        self._log = path.open("a", encoding="ascii", buffering=1)

    def keep(self, inodes: Iterable[int]) -> None:
        """Give back what belongs to no inode of `inodes`, and write the map anew."""
        living = set(inodes)
        for inode in [inode for inode in self._files if inode not in living]:
            self._used.difference_update(self._files.pop(inode).values())
        lines = (f"{inode} {number} {extent}\n" for inode, extents in self._files.items() for number, extent in extents.items())
        self._log.close()
        write_whole(self._path, "".join(lines))
        self._log = self._path.open("a", encoding="ascii", buffering=1)

    def address(self, inode: int, offset_bytes: int) -> int:
        """Return the address on the device of `offset_bytes` in the file `inode`. A full device is an `OSError`."""
        number, rest = divmod(offset_bytes, EXTENT_BYTES)
        try:
            return self._files[inode][number] * EXTENT_BYTES + rest
        except KeyError:
            return self._grow(inode, number) * EXTENT_BYTES + rest

    def free(self, inode: int) -> None:
        if extents := self._files.pop(inode, None):
            self._used.difference_update(extents.values())
            self._log.write(f"{inode} - -\n")

    def close(self) -> None:
        self._log.close()

    def _grow(self, inode: int, number: int) -> int:
        if len(self._used) >= self._count:
            raise OSError(28, "the emulated device is full")
        extents = self._files.setdefault(inode, {})
        extent = extents.get(number - 1, self._last) + 1
        if extent in self._used or extent >= self._count:
            extent = self._last + 1
        while extent in self._used or extent >= self._count:
            extent = 0 if extent >= self._count else extent + 1
        extents[number] = self._last = extent
        self._used.add(extent)
        self._log.write(f"{inode} {number} {extent}\n")
        return extent

    def _read(self) -> None:
        for line, text in enumerate(self._path.read_text(encoding="ascii").splitlines(), start=1):
            match text.split():
                case [inode, "-", "-"]:
                    self._used.difference_update(self._files.pop(int(inode), {}).values())
                case [inode, number, extent] if (inode + number + extent).isdigit():
                    self._files.setdefault(int(inode), {})[int(number)] = self._last = int(extent)
                    self._used.add(int(extent))
                case _:
                    rule = "must be `inode number extent` or `inode - -`"
                    raise InputError(
                        f"{short(self._path)} line {line}",
                        value=text,
                        rule=rule,
                        remedy="remove the file: tierwise then assigns new addresses",
                    )
