"""A tier from its description."""

from pathlib import Path
from typing import Any

from tierwise.core.pairs import DirectoryTier, SimulatedTier, TierSpec
from tierwise.devices.model import build, built_of
from tierwise.devices.protocol import DeviceModel
from tierwise.devices.slowed_device import SlowedDevice
from tierwise.devices.spec import drive_of, load_device
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.directory import Directory, Simulated
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.tier import Tier


def open_tier(
    name: str, spec: TierSpec, *, work: Path, stretch: float, seed: int, owner: tuple[int, int], daemon: Daemon | None = None
) -> Tier:
    """Return the tier `name`, not started, which keeps what it needs in the folder `work`; its `owner` is the server's account (uid, gid).

    `stretch` of seek distances comes on top of the tier's own `scale`. Without a `daemon`, an emulated tier has its own one and clock.
    """
    if isinstance(spec, DirectoryTier):
        return Directory(name, spec.directory, work=work, owner=owner)
    if isinstance(spec, SimulatedTier):
        return Simulated(name, spec.device, work=work, owner=owner)
    return Emulated(name, spec.device, work=work, stretch=spec.scale * stretch, seed=seed, owner=owner, daemon=daemon)


def device_model(spec: TierSpec, *, stretch: float, seed: int, slowdown: float = 1.0, erasing: bool = False) -> DeviceModel | None:
    """Return the model behind a tier, as new, with the stretch that `open_tier` would give it, slowed by a factor; None for a real disk."""
    if isinstance(spec, DirectoryTier):
        return None
    model = build(load_device(spec.device), seed=seed, stretch=spec.scale * stretch, erasing=erasing)
    if slowdown == 1.0:
        return model
    slowed = SlowedDevice(model)
    slowed.slow(0.0, slowdown)
    return slowed


def is_flash(spec: TierSpec) -> bool:
    """Return whether the tier's device has no heads to move: flash or a rented volume. Nothing is known of a real disk."""
    return not isinstance(spec, DirectoryTier) and drive_of(load_device(spec.device)).kind != "hdd"


def keeps_writes(spec: TierSpec) -> bool:
    """Return whether a write to the tier's device is safe before it is on a drive: a battery backs an array's cache."""
    cache = None if isinstance(spec, DirectoryTier) else getattr(load_device(spec.device), "write_cache", None)
    return cache is not None and bool(cache.battery_backed.value)


def device_files(spec: TierSpec) -> dict[str, dict[str, Any]]:
    """Return every device file behind a tier, by name, as it stands now (an array holds its member, a cached device its parts)."""
    return {} if isinstance(spec, DirectoryTier) else {spec.device: load_device(spec.device).model_dump(mode="json")}


def device_modules(spec: TierSpec) -> frozenset[str]:
    """Return the modules whose code decides the times of the device behind a tier; none for a real disk."""
    models = [] if isinstance(spec, DirectoryTier) else built_of(load_device(spec.device))
    return frozenset(model.__module__ for model in models)
