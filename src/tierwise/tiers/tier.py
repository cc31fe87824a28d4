"""What a tier is to whoever measures on it."""

from dataclasses import dataclass
from pathlib import Path

from tierwise.core.vocabulary import Evidence


@dataclass(frozen=True, slots=True)
class FileIo:
    """Requests that reached the tier for one file since the last reset; seconds are sums."""

    reads: int
    read_bytes: int
    writes: int  # flushes count as neither, but their seconds do
    write_bytes: int
    intended_s: float  # service time of the device model, queueing included; 0 with the delays off
    actual_s: float  # what the requests took


class Tier:
    """A named place where files can live. Only an emulated one does what these methods say; a real disk takes the time that it takes."""

    name: str
    evidence: Evidence
    device: str | None = None  # what it emulates or simulates; None for a real disk
    directory: Path  # where files go: it exists once the tier is started, and belongs to the server's account

    def start(self) -> None:
        """Make the tier ready, delays off; nothing where it is."""

    def stop(self) -> None:
        """Unmount the tier, if it is started. An `InputError` names who still uses it. Its files stay for a resumed run."""

    def delays(self, on: bool, *, slowdown: float = 1.0) -> None:
        """Take `slowdown` times as long as the device would, or be as quick as possible (for loading)."""

    def empty_cache(self, *, cached: bool | None = None) -> None:
        """Forget what the kernel holds of an emulated tier (by a remount, for which the server must be down) and what the device holds.

        `cached`: whether the kernel's page cache is used from now on (None: as before); a mount past it is not remounted.
        """

    def forget(self) -> None:
        """Have an emulated device forget what its own buffer holds, and nothing else."""

    def io(self) -> dict[str, FileIo] | None:
        """Return the requests since the last reset by path relative to `directory`; None where nothing counts them."""
        return None

    def busy_s(self) -> float | None:
        """Return the seconds since the last reset in which the device had a request at least; None where nothing counts them."""
        return None

    def reset_io(self) -> None:
        """Let every file's counts of requests begin at zero again."""
