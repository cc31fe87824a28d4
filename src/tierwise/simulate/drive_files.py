"""Real drives as files of extracted parameters (DiskSim's notation) and tables of measured seek times."""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Final

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.toml import validate
from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.electronics import Electronics
from tierwise.devices.geometry import Zone, Zoned
from tierwise.devices.mechanism import Mechanics, SeekCurve, measured_curve
from tierwise.devices.spec import three_point_curve

_PIECE = re.compile(r"[{}\[\]=,]|[^{}\[\]=,\n]+")


@dataclass
class Block:
    """``kind { name = value, ... }``; names are compared without regard to case and spacing."""

    kind: str
    fields: dict[str, "Value"] = field(default_factory=dict)
    where: str = ""

    def walk(self) -> Iterator["Block"]:
        yield self
        for value in self.fields.values():
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, Block):
                    yield from inner.walk()

    def number(self, name: str, default: float | None = None) -> float:
        value = self.fields.get(key(name))
        if value is None and default is not None:
            return default
        with suppress(ValueError):
            if isinstance(value, str) and isfinite(float(value)):
                return float(value)
        rule = "must be a number" if value is not None else f"a {self.kind or 'file'} block must say it"
        raise InputError(self.where, field=name, value=value, rule=rule)

    def whole(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        number = self.number(name, default)
        if number % 1 or number < least:
            raise InputError(self.where, field=name, value=number, rule=f"must be a whole number of at least {least}")
        return int(number)

    def text(self, name: str, default: str) -> str:
        value = self.fields.get(key(name), default)
        return value if isinstance(value, str) else default

    def items(self, name: str) -> list["Value"]:
        value = self.fields.get(key(name), [])
        return value if isinstance(value, list) else [value]


Value = str | Block | list["Value"]


def bare_lines(path: Path) -> list[str]:
    """Return the lines of `path`, whatever its encoding, without what follows a ``#``."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(short(path), rule=f"cannot be read: {error.strerror}") from None
    return [line.partition("#")[0] for line in text.splitlines()]


def read_blocks(path: Path) -> Block:
    pieces = [piece for part in _PIECE.findall("\n".join(bare_lines(path))) if (piece := part.strip())]
    try:
        return _Parser(pieces[::-1], short(path)).block("", closing=None)
    except RecursionError:
        raise InputError(short(path), rule="brackets stand too deep in brackets") from None


@dataclass
class _Parser:
    left: list[str]  # pieces of the text, the next one last
    where: str

    def block(self, kind: str, closing: str | None) -> Block:
        found, name = Block(kind, where=self.where), ""
        pieces = self._until(closing)
        for piece in pieces:
            if piece == "=":
                value = next(pieces, None)
                if value is None:
                    raise InputError(self.where, field=name, rule="nothing follows the equals sign")
                found.fields[key(name)] = self._value(value)
            elif piece == "[":  # a statement's list of names
                self._items()
            elif piece == "{":
                found.fields[key(name)] = self.block(name, "}")
            elif piece != ",":
                name = piece
        return found

    def _until(self, closing: str | None) -> Iterator[str]:
        while (piece := self.left.pop() if self.left else None) != closing:
            if piece is None or piece in {"}", "]"}:
                raise InputError(self.where, value=piece, rule=f"a bracket does not match: expected {closing or 'the end of the file'!r}")
            yield piece

    def _value(self, piece: str) -> Value:
        if piece == "[":
            return self._items()
        if self.left[-1:] == ["{"]:
            self.left.pop()
            return self.block(piece, "}")
        return piece

    def _items(self) -> list[Value]:
        return [self._value(piece) for piece in self._until("]") if piece != ","]


def key(name: str) -> str:
    return " ".join(name.lower().split())


_PER_CYLINDER, _PER_TRACK, _PER_RANGE, _PER_ZONE = frozenset({2, 4, 5, 6}), 3, 8, frozenset({9, 10})
"""Sparing schemes, by the region that has spares; those of the others (0, 1, 7) shift no address by more than a few tracks."""


def read_drive(model: Path, seek: Path | None = None) -> Mechanics:
    """Read geometry, seeks and rotation of the drive in `model`, with the seek times of `seek`; without these, as `model` says they are.

    A change of track within the cylinder takes the head switch time or what the track skew allows for it, whichever is longer:
    extracted head switch times are what is left after the skew. The order of tracks within a cylinder (mapping scheme) makes no
    difference to any time, and a remapped defect is taken to lie where it belongs.
    """
    where = short(model)
    blocks = list(read_blocks(model).walk())
    disk = _having(blocks, "number of data surfaces", where)
    mechanism = _having(blocks, "rotation speed (in rpms)", where)
    rpm = mechanism.number("Rotation speed (in rpms)")
    if rpm <= 0:
        raise InputError(where, field="Rotation speed (in rpms)", value=rpm, rule="must be above zero")
    switch_ms = mechanism.number("Head switch time", 0.0)
    if switch_ms < 0:
        raise InputError(where, field="Head switch time", value=switch_ms, rule="must be zero or more")
    layout = _having(blocks, "zones", where)
    geometry = _geometry(disk, layout, where)
    seek = seek or seek_table(mechanism, model)
    cylinders = 1 + max(zone.whole("Last cylinder number") for zone in layout.items("Zones") if isinstance(zone, Block))
    return Mechanics(
        geometry=geometry,
        seek=read_seeks(seek) if seek else seek_formula(mechanism, cylinders),
        turn_s=60 / rpm,
        head_switch_s=max(switch_ms / 1e3, geometry.track_skew_turns * 60 / rpm),
        write_settle_s=mechanism.number("Add. write settling delay", 0.0) / 1e3,
    )


def _having(blocks: list[Block], field: str, where: str, kind: str = "dm_disk block: surfaces, zones and mechanics") -> Block:
    for block in blocks:
        if key(field) in block.fields:
            return block
    raise InputError(where, field=field, rule="no block says it", remedy=f"give a file with a {kind}")


def _geometry(disk: Block, layout: Block, where: str) -> Zoned:
    surfaces = disk.whole("Number of data surfaces", least=1)
    listed = (_zone(block, layout, surfaces) for block in layout.items("Zones") if isinstance(block, Block))
    zones = sorted(listed, key=lambda zone: zone.first_cylinder)
    if not zones:
        raise InputError(where, field="Zones", rule="must list at least one zone in braces")
    sectors = disk.whole("Block count", least=1)
    try:
        geometry = Zoned(zones, surfaces=surfaces, sector_bytes=SECTOR_BYTES, sectors=sectors)
    except OverflowError as error:
        rule = "must be so few that the disk's sectors can be counted"
        raise InputError(where, field="Number of data surfaces", value=surfaces, rule=rule) from error
    if geometry.zoned_sectors < 0.95 * sectors:
        raise InputError(where, field="Block count", value=sectors, rule=f"the zones hold {geometry.zoned_sectors} blocks only")
    return geometry


def _zone(zone: Block, layout: Block, surfaces: int) -> Zone:
    first, last = zone.whole("First cylinder number"), zone.whole("Last cylinder number")
    if last < first:
        raise InputError(zone.where, field="Last cylinder number", value=last, rule=f"must not be below the zone's first, {first}")
    track = zone.whole("Blocks per track", least=1)
    unit = track if layout.text("Skew units", "sectors").lower().startswith("rev") else 1
    region, spares = _spares(zone, layout, track, surfaces)
    return Zone(
        first_cylinder=first,
        last_cylinder=last,
        track_sectors=track,
        track_skew=zone.number("Skew for track switch", 0.0) * unit,
        cylinder_skew=zone.number("Skew for cylinder switch", 0.0) * unit,
        offset=zone.number("Offset of first block", 0.0),
        unused_front=zone.whole("Empty space at zone front", 0),
        region_sectors=region,
        region_spares=spares,
        slips=tuple(sorted(int(slip) for slip in zone.items("slips") if isinstance(slip, str) and slip.isdigit())),
    )


def _spares(zone: Block, layout: Block, track: int, surfaces: int) -> tuple[int, int]:
    """(sectors of a region, spares at its end); spares at the front of a cylinder are counted at its end, a shift of a few sectors."""
    scheme, spares = layout.whole("Sparing scheme used", 0), zone.whole("Number of spares", 0)
    if scheme == _PER_TRACK:
        region = track
    elif scheme in _PER_CYLINDER:
        region = track * surfaces
    elif scheme == _PER_RANGE:
        region = track * surfaces * layout.whole("Rangesize for sparing", 1, least=1)
    elif scheme in _PER_ZONE:
        region = 0
    else:
        return 0, 0
    if spares >= (region or math.inf):
        raise InputError(zone.where, field="Number of spares", value=spares, rule=f"a region of {region} blocks cannot hold that many")
    return region, spares


def read_seeks(path: Path) -> SeekCurve:
    """Return a table of cylinders and milliseconds, a pair to a line; lines that begin otherwise are headings."""
    points: dict[float, float] = {}
    for number, line in enumerate(bare_lines(path), start=1):
        fields = re.split(r"[\s,;:]+", line.strip(" \t,;"))
        if not fields[0][:1].isdigit():
            continue
        try:
            distance, time_ms = float(fields[0]), float(fields[1])
        except (ValueError, IndexError):
            rule = "must be a distance in cylinders and a time in milliseconds"
            raise InputError(f"{short(path)} line {number}", value=line, rule=rule) from None
        if not (0 <= time_ms < math.inf):
            raise InputError(f"{short(path)} line {number}", field="seek time", value=time_ms, rule="must be zero or more milliseconds")
        if distance > 0:
            points[distance] = time_ms / 1e3
    if not points:
        raise InputError(short(path), rule="holds no pair of cylinders and milliseconds")
    return measured_curve(sorted(points.items()))


def read_specs(path: Path) -> Electronics:
    """Return the electronics in `path`. Fields that make no difference while one request at a time is outstanding are passed over."""
    where = short(path)
    block = _having(list(read_blocks(path).walk()), "Number of buffer segments", where, "disksim_disk block")
    names = {key(field.alias): field.alias for field in Electronics.model_fields.values() if field.alias}
    absent = names.keys() - block.fields.keys()
    for said in block.fields.keys() - names.keys():
        for meant in get_close_matches(said, absent, n=1, cutoff=0.95):
            raise InputError(where, field=said, rule="is no field of this notation", remedy=f"write {names[meant]!r}")
    try:
        return validate({name: block.fields[one] for one, name in names.items() if one not in absent}, Electronics, where=where)
    except InputError as error:
        if error.value is not None:
            raise
        remedy = f"add the line `{error.field} = ...` to the disksim_disk block"
        raise InputError(where, field=error.field, rule="is not said, and has no default", remedy=remedy) from error


SINGLE: Final = "Single cylinder seek time"
AVERAGE: Final = "Average seek time"
FULL: Final = "Full strobe seek time"
EQUATION: Final = "HPL seek equation values"
FIRST_TEN: Final = "First ten seek times"
KINDS: Final = ("linear", "curve", "constant", "hpl", "hplplus10")


def seek_table(mechanism: Block, model: Path) -> Path | None:
    """Return the table of measured times that `mechanism`, a block of the file `model`, names; it lies beside that file."""
    name = mechanism.text("Full seek curve", "").removeprefix("source ").strip()
    return model.with_name(name) if name and mechanism.text("Seek type", "").lower() == "extracted" else None


def seek_formula(mechanism: Block, cylinders: int) -> SeekCurve:
    """Return seconds over the distance on a drive with `cylinders` cylinders, by the block's *Seek type*.

    `linear`: from one cylinder to all; `curve`: ``a + b sqrt(d - 1) + c (d - 1)`` through the times for one cylinder, on average and for
    all of them; `constant`: the average at any distance; `hpl`: ``V2 + V3 sqrt(d)`` below V1 cylinders and ``V4 + V5 d`` from
    there, for one cylinder V6 unless it is -1; `hplplus10`: the same after ten listed times.
    """
    number, kind = mechanism.number, mechanism.text("Seek type", "").lower()
    if kind not in KINDS:
        remedy = "give a table of cylinders and milliseconds with --seek"
        raise InputError(mechanism.where, field="Seek type", value=kind or None, rule=f"must be one of {', '.join(KINDS)}", remedy=remedy)
    if kind in {"linear", "constant"}:
        single_ms, full_ms = (number(name) for name in ((SINGLE, FULL) if kind == "linear" else (AVERAGE, AVERAGE)))
        curve_ms: SeekCurve = lambda distance: single_ms + (full_ms - single_ms) * (distance - 1) / max(1, cylinders - 2)  # noqa: E731
    elif kind == "curve":
        curve_ms = _three_points(number(SINGLE), number(AVERAGE), number(FULL), cylinders)
    else:
        first_ms = _list(mechanism, FIRST_TEN, 10) if kind == "hplplus10" else []
        curve_ms = _equation(_list(mechanism, EQUATION, 6), first_ms)
    lowest_ms = min(curve_ms(distance) for distance in range(1, cylinders + 1))
    if lowest_ms < 0:
        raise InputError(mechanism.where, field="Seek type", value=kind, rule=f"gives {lowest_ms:g} ms at some distance, below zero")
    return lambda distance: curve_ms(max(1.0, distance)) / 1e3


def _three_points(single_ms: float, mean_ms: float, full_ms: float, cylinders: int) -> SeekCurve:
    fixed_ms, root_ms, rest_ms = three_point_curve(single_ms, mean_ms, full_ms)

    def curve_ms(distance: float) -> float:
        share = (distance - 1) / cylinders
        return fixed_ms + root_ms * math.sqrt(share) + rest_ms * share

    return curve_ms


def _equation(values: list[float], first_ms: list[float]) -> SeekCurve:
    border, near_ms, root_ms, far_ms, slope_ms, single_ms = values

    def curve_ms(distance: float) -> float:
        if distance <= len(first_ms):
            return first_ms[round(distance) - 1]
        if distance <= 1 and single_ms != -1:
            return single_ms
        return near_ms + root_ms * math.sqrt(distance) if distance < border else far_ms + slope_ms * distance

    return curve_ms


def _list(mechanism: Block, name: str, count: int) -> list[float]:
    try:
        found = [float(item) for item in mechanism.items(name) if isinstance(item, str)]
    except ValueError:
        found = []
    if len(found) != count:
        raise InputError(mechanism.where, field=name, value=len(found), rule=f"must be {count} numbers in brackets")
    return found
