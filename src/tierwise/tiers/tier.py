"""What a tier is to whoever measures on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tierwise.core.vocabulary import Evidence


@dataclass(frozen=True, slots=True)
class FileIo:
    """Requests that reached the tier for one file since the last reset; seconds are sums, overshoot is actual - intended."""

    reads: int
    read_bytes: int
    writes: int  # flushes count as neither, but their seconds do
    write_bytes: int
    intended_s: float  # service time of the device model, queueing included; 0 with the delays off
    actual_s: float  # what the requests took
    overshoot_max_s: float  # of a single request


class Tier(Protocol):
    """A named place where files can live."""

    @property
    def name(self) -> str: ...
    @property
    def evidence(self) -> Evidence: ...
    @property
    def device(self) -> str | None:
        """Return the name of the device that the tier emulates; it is None for a real directory."""

    @property
    def directory(self) -> Path:
        """Return the folder where files go, which exists once the tier is started, and belongs to the server's account."""

    def start(self) -> None:
        """Make the tier ready, delays off; nothing where it is."""

    def stop(self) -> None:
        """Unmount the tier, if it is started. An `InputError` names who still uses it."""

    def delays(self, on: bool, *, slowdown: float = 1.0) -> None:
        """Take `slowdown` times as long as the device would, or be as quick as possible (for loading); nothing on a directory."""

    def empty_cache(self, *, cached: bool | None = None) -> None:
        """Forget every page that the kernel holds of an emulated tier (a remount, for which the server must be down) and the device itself.

        `cached` says whether the kernel's page cache is used from now on (None: as before); a mount past it, before and after, is
        left as it is. Nothing on a directory, whose pages the kernel gives up file by file.
        """

    def forget(self) -> None:
        """Have an emulated device forget what its own buffer holds, and nothing else; nothing on a directory."""

    def io(self) -> dict[str, FileIo] | None:
        """Return the requests since the last reset by path relative to `directory`; None where nothing counts them."""

    def busy_s(self) -> float | None:
        """Return the seconds since the last reset in which the device had a request at least; None where nothing counts them."""

    def reset_io(self) -> None:
        """Let every file's counts of requests begin at zero again."""
