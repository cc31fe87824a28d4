"""A tier from its description."""

from pathlib import Path
from typing import Any

from tierwise.core.pairs import DirectoryTier, TierSpec
from tierwise.devices.spec import load_device
from tierwise.tiers.directory import Directory
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.tier import Tier


def open_tier(name: str, spec: TierSpec, *, work: Path, stretch: float, seed: int, owner: tuple[int, int]) -> Tier:
    """The tier `name`, not started.

    Args:
        work: folder of this tier alone, for what it keeps there.
        stretch: factor on seek distances, on top of the tier's own `scale`.
        seed: of the device model.
        owner: uid and gid of the server's account, to whom the directory will belong.
    """
    if isinstance(spec, DirectoryTier):
        return Directory(name, spec.directory, work=work, owner=owner)
    return Emulated(name, spec.device, work=work, stretch=spec.scale * stretch, seed=seed, owner=owner)


def device_files(spec: TierSpec) -> dict[str, dict[str, Any]]:
    """Every device file behind a tier, by name, as it stands now (an array holds its member)."""
    if isinstance(spec, DirectoryTier):
        return {}
    return {spec.device: load_device(spec.device).model_dump(mode="json")}
