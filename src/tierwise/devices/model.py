"""The device models by their descriptions: the one way in for whoever drives a device."""

from tierwise.devices.array import Array
from tierwise.devices.hdd import Hdd
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec, DeviceSpec, HddSpec, SsdSpec
from tierwise.devices.ssd import Ssd

__all__ = ["DeviceModel", "Operation", "build"]


def build(spec: DeviceSpec, *, seed: int = 0, stretch: float = 1.0) -> DeviceModel:
    """The model of `spec`; equal seeds give equal times.

    `stretch` multiplies seek distances, so that a file of a scaled-down data set spans as much of the disk as the
    full one would; sequential access stays sequential.
    """
    match spec:
        case HddSpec():
            return Hdd(spec, seed=seed, stretch=stretch)
        case SsdSpec():
            return Ssd(spec)
        case ArraySpec():
            members = int(spec.members.base)
            return Array(spec, [build(spec.member, seed=seed * members + number, stretch=stretch) for number in range(members)])
