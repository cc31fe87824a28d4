"""The client of an emulated tier: it mounts, controls and unmounts it."""

import mmap
import os
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.files import closing_fd
from tierwise.core.private_folders import closed_folder
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import ClockKind, Evidence
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import load_device
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.meter import COLUMNS
from tierwise.tiers.mounting import mounts_below, require_fuse, unmount
from tierwise.tiers.tier import FileIo, Tier

PROBES: Final = 1000
UNDISTURBED: Final = 0.1
"""Reads that find out how long the path is; this quantile of them counts, because whatever else runs only adds to it."""


class Mount:
    def __init__(self, name: str, device: str, backing: Path, mountpoint: Path, daemon: Daemon, *, stretch: float, seed: int):
        self.name, self.device, self.directory, self.daemon = name, device, mountpoint, daemon
        self._backing = backing
        self._stretch, self._seed = stretch, seed
        self._mounted = False
        self._path: dict[str, float] = {}

    @property
    def path_s(self) -> float:
        """Return the seconds that a request is on its way to the daemon and back, in real time; 0 in virtual time."""
        return self._path.get("seconds", 0.0) if self.daemon.clock is ClockKind.REAL else 0.0

    def mount(self, *, cache: bool) -> None:
        load_device(self.device)  # a bad file is reported here, not in the daemon's words
        require_fuse()
        if mounts_below(self.directory):
            raise InputError(str(self.directory), rule="is mounted already", remedy=f"umount {self.directory}")
        folders = {"backing": str(self._backing), "mountpoint": str(self.directory)}
        try:
            self.daemon.mount(self.name, device=self.device, **folders, seed=self._seed, stretch=self._stretch, cache=cache)
        except TierwiseError as error:
            raise TierwiseError(f"{self.directory} could not be mounted: {error}") from error
        self._mounted = True
        self.directory.stat()  # the kernel's idea of the root's owner is stale until then

    def delays(self, on: bool, *, slowdown: float = 1.0) -> None:
        """Switch the delays of the mount's device; before the first request in real time, the path of a request is measured."""
        if on and self.daemon.clock is ClockKind.REAL:
            self._path = self._path or self._measure_path()
            self.call("path", **self._path)
        self.call("delays", on=on, slowdown=slowdown)

    def stop(self) -> None:
        if not self._mounted:
            return
        with suppress(OSError):  # it is no mount (any more)
            unmount(self.directory)
        self._mounted = False
        self.daemon.unmounted(self.name)

    def end(self) -> None:
        """Unmount whoever uses the mount, and end the daemon, or clean up after it where it was killed."""
        if not self._mounted:
            return
        self._mounted = False
        self.daemon.end()
        if mounts_below(self.directory):
            unmount(self.directory, lazily=True)

    def call(self, do: str, **arguments: bool | float | str) -> Any:
        if not self._mounted:
            raise TierwiseError(f"{self.directory} is not mounted. Remedy: start the tier first")
        return self.daemon.call(do, tier=self.name, **arguments)

    def requests(self) -> pl.DataFrame:
        """Return about a million latest requests by arrival: time_s, operation (read, write, flush), file (path below the mount),
        offset_bytes, address_bytes, size_bytes, intended_s, actual_s; times by the daemon's clock.
        """
        raw = self.daemon.folder / f"requests-{self.name}"
        try:
            files = self.call("log", path=str(raw))
            log = np.fromfile(raw, dtype=list(COLUMNS.items()))
        finally:
            raw.unlink(missing_ok=True)
        operations = {int(operation): operation.name.lower() for operation in Operation}
        frame = pl.DataFrame({name: log[name] for name in COLUMNS if name != "padding"}).sort("time_s", maintain_order=True)
        return frame.with_columns(
            pl.col("file").cast(pl.String).replace_strict(files, return_dtype=pl.String),
            pl.col("operation").replace_strict(operations, return_dtype=pl.String),
        )

    def _measure_path(self) -> dict[str, float]:
        """Return what a read needs beyond the model's time, by reads in file order: `seconds` in all, `outside` the daemon's reckoning."""
        probe = self.directory / ".tierwise-probe"
        try:
            probe.write_bytes(bytes(PROBES * PAGE_BYTES))
            self.call("reset")
            self.call("delays", on=True)
            took_s = _read_in_order(probe)
            self.call("delays", on=False)
            read = self.requests().filter(operation="read").head(len(took_s))  # what was written before may be put down only now
            seen = read.select(seconds=took_s - pl.col("intended_s"), outside=took_s - pl.col("actual_s"))
        finally:
            probe.unlink(missing_ok=True)
        self.call("reset")
        seconds, outside = seen.quantile(UNDISTURBED).row(0)
        return {"seconds": max(0.0, seconds), "outside": max(0.0, outside)}


def _read_in_order(path: Path) -> pl.Series:
    took_s = []
    with closing_fd(os.open(path, os.O_RDONLY | os.O_DIRECT)) as descriptor, mmap.mmap(-1, PAGE_BYTES) as page:
        for number in range(PROBES):
            started_s = time.perf_counter()
            os.preadv(descriptor, [page], number * PAGE_BYTES)
            took_s.append(time.perf_counter() - started_s)
    return pl.Series(took_s)


class Emulated(Mount, Tier):
    """A mount in `work`, which behaves like `device`; what is written lies in ``work/backing``. Tiers of one `daemon` go by one clock."""

    evidence = Evidence.EMULATED
    device: str

    def __init__(
        self, name: str, device: str, *, work: Path, stretch: float, seed: int, owner: tuple[int, int], daemon: Daemon | None = None
    ):
        super().__init__(name, device, work / "backing", work / "mount", daemon or Daemon(work / "daemon"), stretch=stretch, seed=seed)
        self._owner = owner
        self._cached = self._delayed = False

    def start(self) -> None:
        if self._mounted:
            return
        uid, gid = self._owner
        # Root writes beside the mount (the map of extents), so the server's account may only pass: through its group.
        closed_folder(self._backing.parent, owner=(os.geteuid(), gid), mode=0o700 if uid == os.geteuid() else 0o710)
        closed_folder(self._backing, owner=self._owner)
        self.directory.mkdir(exist_ok=True)
        self.mount(cache=self._cached)
        self._delayed = False

    def delays(self, on: bool, *, slowdown: float = 1.0) -> None:
        super().delays(on, slowdown=slowdown)
        self._delayed = on

    def empty_cache(self, *, cached: bool | None = None) -> None:
        if not (self._cached or cached):
            self.forget()  # a mount past the page cache has no pages
            return
        delayed = self._delayed
        self.stop()
        self._cached = self._cached if cached is None else cached
        self.start()
        self.delays(delayed)

    def forget(self) -> None:
        self.call("forget")

    def io(self) -> dict[str, FileIo]:
        return {path: FileIo(**counted) for path, counted in self.call("statistics").items()}

    def busy_s(self) -> float:
        return float(self.call("busy"))

    def hits(self) -> tuple[int, int] | None:
        found = self.call("hits")
        return tuple(found) if found else None

    def reset_io(self) -> None:
        self.call("reset")


def emulate(device: str, backing: Path, mountpoint: Path, *, stretch: float = 1.0, cache: bool = False) -> None:
    """Show `backing` at `mountpoint` as if it lay on `device`, until unmounted, SIGTERM or Ctrl-C; the mount is then gone."""
    for name, folder in (("BACKING", backing), ("MOUNTPOINT", mountpoint)):
        if not folder.is_dir():
            raise InputError(name, value=str(folder), rule="must be a directory that exists", remedy=f"mkdir -p {folder}")
    backing, mountpoint = backing.resolve(), mountpoint.resolve()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT):  # of these a shell lets its background jobs ignore the second
        signal.signal(number, interrupt)
    with tempfile.TemporaryDirectory(prefix="tierwise-") as place:
        mount = Mount("emulate", device, backing, mountpoint, Daemon(Path(place)), stretch=stretch, seed=0)
        try:
            mount.mount(cache=cache)
            mount.delays(True)
            print(f"{mountpoint} is ready as {device}; end it with Ctrl-C, kill {os.getpid()}, or umount {mountpoint}", flush=True)
            if code := mount.daemon.wait():
                raise TierwiseError(f"{mountpoint}: its daemon ended with {code}: {mount.daemon.said()}")
        except KeyboardInterrupt:
            mount.end()
        finally:
            if mounts_below(mountpoint):
                unmount(mountpoint, lazily=True)
