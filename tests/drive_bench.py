"""A drive of round figures, whose electronics are given in full, to time single commands on.

A turn takes 10 ms, a track holds 100 sectors, so a sector passes in 0.1 ms; the next track or cylinder begins a tenth or a fifth of a turn
later. One cylinder is 0.4 ms away, ten are 2 ms, 19 are 4 ms; another track of a cylinder 1 ms. Sectors 0 to 199 are cylinder 0.
"""

from typing import Any

from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.electronics import Electronics
from tierwise.devices.geometry import Zone, Zoned
from tierwise.devices.hdd import Hdd
from tierwise.devices.mechanism import Mechanics, measured_curve
from tierwise.devices.protocol import Operation
from tierwise.simulate.device_validation import served_s

READ, WRITE = Operation.READ, Operation.WRITE
SECTORS = 4000
GEOMETRY = Zoned([Zone(0, 19, 100, track_skew=10, cylinder_skew=20)], surfaces=2, sector_bytes=SECTOR_BYTES, sectors=SECTORS)
SEEK = measured_curve([(1, 0.4e-3), (10, 2e-3), (19, 4e-3)])
FIELDS: dict[str, Any] = {
    "Read hit over. after read": 0.2,
    "Read hit over. after write": 0.25,
    "Read miss over. after read": 0.5,
    "Read miss over. after write": 0.6,
    "Write hit over. after read": 0.3,
    "Write hit over. after write": 0.35,
    "Write miss over. after read": 0.7,
    "Write miss over. after write": 0.8,
    "Bulk sector transfer time": 0.05,
    "Number of buffer segments": 2,
    "Segment size (in blks)": 40,
    "Buffer continuous read": 0,
    "Fast write level": 0,
}
WARM_ANGLE = 0.01  # where the head is, in turns, when sector 0 has just been read


class Bench:
    """A drive that has read sector 0 last; milliseconds count from the moment at which the head had passed it."""

    def __init__(self, changes: dict[str, Any], settle_ms: float):
        specs = Electronics.model_validate(FIELDS | changes)
        self.specs = specs
        mechanics = Mechanics(geometry=GEOMETRY, seek=SEEK, turn_s=0.01, head_switch_s=1e-3, write_settle_s=settle_ms / 1e3)
        self._drive = Hdd(mechanics, specs, seed=3)
        done_s = served_s(self._drive, 0.0, READ, 0, SECTOR_BYTES)
        end_ms = specs.first_reselect_ms + specs.prepare_ms + specs.bus_ms_per_sector + specs.read_end_ms
        self._zero_s = done_s - end_ms / 1e3

    def __call__(self, at_ms: float, operation: Operation, sector: int, sectors: int) -> float:
        now_s = self._zero_s + at_ms / 1e3
        return (served_s(self._drive, now_s, operation, sector * SECTOR_BYTES, sectors * SECTOR_BYTES) - now_s) * 1e3


def wait_ms(at_ms: float, sector: int) -> float:
    turns = GEOMETRY.spot(sector * SECTOR_BYTES)[0]
    return (turns - WARM_ANGLE - at_ms / 10) % 1 * 10


def bench(fields: dict[str, Any] | None = None, *, settle_ms: float = 0.0) -> Bench:
    return Bench(fields or {}, settle_ms)
