"""Where on the platters an address lies.

A place is measured in *turns*: how far the platter has turned when everything before it has been read in order. The fraction
of that number is the angle of the place, and reading from one place to a later one takes exactly their difference.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

Spot = tuple[float, float]  # a place on the platters: how far they have turned, in turns, and the cylinder


class Geometry(ABC):
    """Addresses in bytes and places of one drive, `surfaces` tracks to a cylinder."""

    capacity_bytes: int
    surfaces: int
    has_one_rate: ClassVar[bool]  # whether what follows each other is read without pauses and, within a request, at one rate

    @abstractmethod
    def spot(self, address_bytes: int) -> Spot:
        """Find where on the platters `address_bytes` lies."""

    @abstractmethod
    def end(self, address_bytes: int) -> Spot:
        """Return where what lies before `address_bytes` ends; `spot` is further on, where a skew or spares lie between."""

    @abstractmethod
    def address(self, turns: float) -> int:
        """Return what has been read completely when the platter has turned that far: the inverse of `end`, rounded down."""

    @abstractmethod
    def comes_by(self, head_turns: float, turns: float) -> bool:
        """Return whether the place `turns` comes by where the head has read until `head_turns`, without a move of the arm."""

    @abstractmethod
    def around(self, address_bytes: int, tracks: int) -> tuple[int, int]:
        """Return the first address of the group of `tracks` tracks on which `address_bytes` lies, and the first behind it."""

    def track(self, address_bytes: int) -> tuple[int, int]:
        return self.around(address_bytes, 1)

    def cylinder(self, address_bytes: int) -> tuple[int, int]:
        return self.around(address_bytes, self.surfaces)


class Spiral(Geometry):
    """A data sheet's drive: one long track whose rate falls linearly from address 0 to the capacity; skew hides switches of tracks."""

    has_one_rate = True

    def __init__(self, capacity_bytes: int, turn_s: float, outer_rate: float, inner_rate: float, surfaces: int):
        self.capacity_bytes, self.surfaces = capacity_bytes, surfaces
        self._scale = outer_rate * turn_s  # bytes of the outermost turn
        self._slope = (inner_rate - outer_rate) / capacity_bytes * turn_s
        self.cylinders = self.spot(capacity_bytes)[1]

    def spot(self, address_bytes: int) -> Spot:
        # The turns are the integral of 1 / (bytes of a turn).
        slope, share = self._slope, address_bytes / self._scale
        turns = math.log1p(slope * share) / slope if slope else share
        return turns, turns / self.surfaces

    end = spot

    def address(self, turns: float) -> int:
        if self._slope == 0:
            return int(turns * self._scale)
        return int(math.expm1(self._slope * turns) * self._scale / self._slope)

    def comes_by(self, head_turns: float, turns: float) -> bool:
        return 0 <= turns - head_turns < 1

    def around(self, address_bytes: int, tracks: int) -> tuple[int, int]:
        first = int(self.spot(address_bytes)[0] / tracks) * tracks
        return self.address(first), min(self.capacity_bytes, self.address(first + tracks))


@dataclass(frozen=True)
class Zone:
    """Cylinders with equally long tracks. Lengths are in sectors; `slips` count from the start of the zone and are passed over."""

    first_cylinder: int
    last_cylinder: int
    track_sectors: int
    track_skew: float
    cylinder_skew: float
    offset: float = 0.0  # of the first sector from the angle 0
    unused_front: int = 0
    region_sectors: int = 0  # sectors, spares included, after which `region_spares` follow; 0: no such regions
    region_spares: int = 0
    slips: tuple[int, ...] = ()


class _Band:
    """A zone in its place among the others: first sector (as the host counts them) and first turn."""

    def __init__(self, zone: Zone, surfaces: int, first: int, turn: int):
        self.surfaces, self.first = surfaces, first
        self.cylinder = zone.first_cylinder
        self.sectors, self.front, self.slips = zone.track_sectors, zone.unused_front, list(zone.slips)
        physical = (zone.last_cylinder - zone.first_cylinder + 1) * surfaces * zone.track_sectors
        self.region = zone.region_sectors or physical
        self.used = max(1, self.region - zone.region_spares)  # sectors of a region that hold data
        regions, rest = divmod(physical, self.region)
        self.count = max(0, regions * self.used + max(0, rest - zone.region_spares) - zone.unused_front)
        self.turn = turn + zone.offset / zone.track_sectors
        self.track_turn = 1 + zone.track_skew / zone.track_sectors
        self.cylinder_turn = surfaces + ((surfaces - 1) * zone.track_skew + zone.cylinder_skew) / zone.track_sectors
        self.end_turn = math.ceil(self.turn + (zone.last_cylinder - zone.first_cylinder + 1) * self.cylinder_turn)

    def spot(self, sector: int) -> Spot:
        track, rest = divmod(self._physical(sector - self.first), self.sectors)
        cylinder, head = divmod(track, self.surfaces)
        turns = self.turn + cylinder * self.cylinder_turn + head * self.track_turn + rest / self.sectors
        return turns, self.cylinder + cylinder

    def _physical(self, sector: int) -> int:
        sector += self.front
        region = sector // self.used
        slipped = bisect_right(self.slips, sector) - bisect_left(self.slips, region * self.used) if self.slips else 0
        return min(sector + region * (self.region - self.used) + slipped, (region + 1) * self.region - 1)

    def logical(self, physical: int) -> int:
        """Return the inverse, near enough for what a head passes by: slips, a few sectors of a zone, are not counted."""
        region, rest = divmod(physical, self.region)
        return min(self.count, max(0, region * self.used + min(rest, self.used) - self.front))

    def around(self, sector: int, length: int) -> tuple[int, int]:
        """Return the stretch of `length` sectors of the platter, counted from the band's start, in which the host's `sector` lies."""
        number = self._physical(sector - self.first) // length
        return self._from(number * length), self._from((number + 1) * length)

    def _from(self, physical: int) -> int:
        near = self.logical(physical)
        sectors = range(max(0, near - len(self.slips)), near)
        return self.first + sectors.start + bisect_left(sectors, physical, key=self._physical)


class Zoned(Geometry):
    """A drive whose zones are known, sector by sector; equal addresses always lie at equal angles."""

    has_one_rate = False

    def __init__(self, zones: Sequence[Zone], *, surfaces: int, sector_bytes: int, sectors: int):
        self._sector_bytes, self.surfaces = sector_bytes, surfaces
        self._bands: list[_Band] = []
        first = turn = 0
        for zone in zones:
            band = _Band(zone, surfaces, first, turn)
            self._bands.append(band)
            first, turn = first + band.count, band.end_turn
        self.zoned_sectors = first
        self.capacity_bytes = sectors * sector_bytes
        self.track_skew_turns = max(zone.track_skew / zone.track_sectors for zone in zones)
        self._firsts = [band.first for band in self._bands]
        self._turns = [band.turn for band in self._bands]

    def spot(self, address_bytes: int) -> Spot:
        sector = address_bytes // self._sector_bytes
        return self._bands[bisect_right(self._firsts, sector) - 1].spot(sector)

    def end(self, address_bytes: int) -> Spot:
        sector = max(0, -(-address_bytes // self._sector_bytes) - 1)
        band = self._bands[bisect_right(self._firsts, sector) - 1]
        turns, cylinder = band.spot(sector)
        return turns + 1 / band.sectors, cylinder

    def around(self, address_bytes: int, tracks: int) -> tuple[int, int]:
        sector = address_bytes // self._sector_bytes
        band = self._bands[bisect_right(self._firsts, sector) - 1]
        start, end = band.around(sector, tracks * band.sectors)
        return start * self._sector_bytes, end * self._sector_bytes

    def comes_by(self, head_turns: float, turns: float) -> bool:
        return self._place(head_turns - 1e-6)[:2] == self._place(turns + 1e-6)[:2]

    def address(self, turns: float) -> int:
        band, track, rest = self._place(turns)
        sector = min(int(rest * band.sectors), band.sectors)
        address = (band.first + band.logical(track * band.sectors + sector)) * self._sector_bytes
        while address and self.end(address)[0] > turns:  # spares and slips
            address -= self._sector_bytes
        while address < self.capacity_bytes and self.end(address + self._sector_bytes)[0] <= turns:
            address += self._sector_bytes
        return address

    def _place(self, turns: float) -> tuple[_Band, int, float]:
        band = self._bands[max(0, bisect_right(self._turns, turns) - 1)]
        cylinder, rest = divmod(max(0.0, turns - band.turn), band.cylinder_turn)
        head = min(int(rest / band.track_turn), band.surfaces - 1)
        return band, int(cylinder) * band.surfaces + head, rest - head * band.track_turn
