"""Pairs: the named places where files can live, as a reader writes them down (``data/tiers/*.toml``)."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from tierwise.core.errors import InputError
from tierwise.core.toml import FileName, Strict, input_file, read_toml
from tierwise.core.vocabulary import Evidence

Calibrations = dict[str, dict[str, float]]  # figures of real disks, by "pair/tier", as a run's manifest keeps them
TODAY: Final = "today"  # the source of a pair of what is sold today, which no text is about


class DirectoryTier(Strict):
    """A directory on a real disk of the reader's; its figures are calibrated before use."""

    kind: Literal["directory"]
    directory: str = Field(description="absolute, or relative to the work folder; created where absent")
    note: str = ""
    evidence: ClassVar = Evidence.MEASURED


class EmulatedTier(Strict):
    """A mount whose reads and writes take as long as a device of ``data/devices`` would."""

    kind: Literal["emulated"]
    device: str = Field(description="name of a file in data/devices")
    scale: float = Field(default=1.0, gt=0, description="stretch of seek distances, on top of 1/fraction of the profile")
    note: str = ""
    evidence: ClassVar = Evidence.EMULATED


class SimulatedTier(Strict):
    """A plain directory whose recorded requests are replayed through a device of ``data/devices``: an emulated tier without a mount."""

    kind: Literal["simulated"]
    device: str = Field(description="name of a file in data/devices")
    scale: float = Field(default=1.0, gt=0, description="as of an emulated tier")
    note: str = ""
    evidence: ClassVar = Evidence.SIMULATED


TierSpec = Annotated[DirectoryTier | EmulatedTier | SimulatedTier, Field(discriminator="kind")]


class Pair(Strict):
    """The tiers that a study compares; studies speak of the tiers by these names (``hdd``, ``ssd``)."""

    name: FileName
    description: str
    source: str | None = None
    """Letter of the source whose claims this pair judges; or the study, where no source has its question; or `today`."""
    tiers: dict[FileName, TierSpec] = Field(min_length=1)

    @property
    def evidence(self) -> Evidence:
        return Evidence.of({tier.evidence for tier in self.tiers.values()})

    def require(self, tiers: Iterable[str], study: str) -> None:
        if absent := [name for name in tiers if name not in self.tiers]:
            rule = f"{study} needs a tier named {absent[0]!r}"
            raise InputError(f"data/tiers/{self.name}.toml", field="tiers", value=sorted(self.tiers), rule=rule)

    def simulated(self) -> "Pair":
        """Return the same pair for a machine that can mount nothing: what would be emulated is simulated."""
        tiers = {
            name: SimulatedTier(**{**tier.model_dump(), "kind": "simulated"}) if isinstance(tier, EmulatedTier) else tier
            for name, tier in self.tiers.items()
        }
        return self.model_copy(update={"tiers": tiers})


def load_pair(name: str) -> Pair:
    return read_toml(input_file("tiers", name), Pair)
