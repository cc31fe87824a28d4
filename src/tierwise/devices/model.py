"""The device models by their descriptions: the one way in for whoever drives a device."""

from dataclasses import replace

from tierwise.core.units import PAGE_BYTES
from tierwise.devices.array import Array
from tierwise.devices.controller import Controller
from tierwise.devices.hdd import Hdd
from tierwise.devices.protocol import DeviceModel
from tierwise.devices.slowed_device import BusyTime
from tierwise.devices.spec import ArraySpec, CachedSpec, DeviceSpec, HddSpec, SsdSpec
from tierwise.devices.ssd import ErasingSsd, Ssd
from tierwise.devices.ssd_cache import POLICIES, SsdCache
from tierwise.devices.volume import Cloud, CloudSpec
from tierwise.devices.writeback import WriteBack


def build(
    spec: DeviceSpec, *, seed: int = 0, stretch: float = 1.0, erasing: bool = False, drives: list[BusyTime] | None = None
) -> DeviceModel:
    """Return the model of `spec`; equal seeds give equal times.

    `stretch` multiplies seek distances, so that a file of a scaled-down data set spans as much of the disk as the full one would. Caches
    shrink by it, to hold the same share of the data: a controller's to eight rows at least, one on flash to a bucket at least. `erasing`:
    flash whose file describes erasing is held up by it. Each drive is added to `drives`, if given, with its busy time.
    """
    match spec:
        case HddSpec():
            return _drive(Hdd.of(spec, seed=seed, stretch=stretch), drives)
        case SsdSpec():
            ssd = _drive(ErasingSsd(spec, spec.erase) if erasing and spec.erase else Ssd(spec), drives)
            return WriteBack(spec.write_cache, ssd, row_bytes=PAGE_BYTES, depth=_writes_at_once(spec)) if spec.write_cache else ssd
        case CloudSpec():
            return _drive(Cloud(spec), drives)
        case ArraySpec():
            return _array(spec, seed, stretch, erasing, drives)
        case CachedSpec():
            disk, flash = (build(part, seed=seed, stretch=stretch, erasing=erasing, drives=drives) for part in (spec.disk, spec.flash))
            policy = POLICIES[spec.policy.value]
            policy = replace(policy, block_bytes=int(spec.block.base)) if spec.block else policy
            size_bytes = max(policy.bucket_blocks * policy.block_bytes, int(spec.size.base / stretch))
            return SsdCache(disk, flash, policy, cache_bytes=size_bytes)


def built_of(spec: DeviceSpec) -> frozenset[type]:
    """Return the classes of the models that `build` makes of `spec`: only their code decides its times."""
    match spec:
        case HddSpec():
            return frozenset({Hdd})
        case SsdSpec():
            return frozenset({Ssd, *({WriteBack} if spec.write_cache else ()), *({ErasingSsd} if spec.erase else ())})
        case CloudSpec():
            return frozenset({Cloud})
        case ArraySpec():
            before = {WriteBack} if spec.write_cache else set()
            limits = {Controller} if spec.max_iops or spec.max_rate else set()
            return frozenset({Array, *before, *limits, *built_of(spec.member)})
        case CachedSpec():
            return frozenset({SsdCache, *built_of(spec.disk), *built_of(spec.flash)})


def _drive(model: DeviceModel, drives: list[BusyTime] | None) -> DeviceModel:
    if drives is None:
        return model
    drives.append(BusyTime(model))
    return drives[-1]


def _array(spec: ArraySpec, seed: int, stretch: float, erasing: bool, drives: list[BusyTime] | None) -> DeviceModel:
    count = int(spec.members.base)
    seeds = range(seed * count, (seed + 1) * count)
    array = Array(spec, [build(spec.member, seed=one, stretch=stretch, erasing=erasing, drives=drives) for one in seeds])
    model: DeviceModel = array
    if spec.write_cache:
        size = spec.write_cache.size
        size_bytes = max(min(size.base, 8 * array.row_bytes), size.base / stretch)
        cache = spec.write_cache.model_copy(update={"size": size.model_copy(update={"value": size_bytes, "unit": "B"})})
        model = WriteBack(cache, array, row_bytes=array.row_bytes, depth=count * _writes_at_once(spec.member))
    if spec.max_iops or spec.max_rate:
        model = Controller(model, max_iops=spec.max_iops, max_rate=spec.max_rate)
    return model


def _writes_at_once(spec: HddSpec | SsdSpec | CloudSpec) -> int:
    """How many writes of a cache a drive is given at a time: half its channels are left to reads; an arm goes to one place."""
    return max(1, int(spec.channels.base) // 2) if isinstance(spec, SsdSpec) else 1
