"""The bands of ``data/sensitivity/bands.toml``: what each parameter becomes at either end, and a checkout in which it stands there."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, write_whole
from tierwise.core.pairs import Pair, load_pair
from tierwise.core.toml import Strict, as_toml, input_file, read_table, read_toml
from tierwise.devices.naming import named
from tierwise.devices.parameter import ASSUMED, UNITS, Parameter, Sourced, sourced
from tierwise.devices.spec import load_device
from tierwise.pipeline import variables
from tierwise.simulate.machine import load_machine

Value = float | bool | str
Factor = Annotated[float, Field(gt=0, le=1e3, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MEMBER: Final = "member."


class Band(Strict):
    """How far the values of some parameters may lie from ours; one way of giving it, or none where we chose the values."""

    parameters: tuple[str, ...] = Field(min_length=1)
    factors: tuple[Factor, Factor] | None = None
    values: tuple[Amount, Amount] | None = None
    unit: str | None = None
    others: tuple[Value, ...] | None = None
    chosen: bool = False
    reason: str = Field(min_length=1)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if [self.factors, self.values, self.others, self.chosen or None].count(None) != 3:
            raise ValueError("a band has factors, values, others or chosen = true, and one of these alone")
        if (self.values is None) != (self.unit is None):
            raise ValueError("values and unit go together")
        if self.unit is not None and self.unit not in UNITS:
            raise ValueError(f"unit must be one of {', '.join(UNITS)}, not {self.unit!r}")
        return self

    def holds(self, parameter: str) -> bool:
        return any(fnmatchcase(parameter, pattern) for pattern in self.parameters)


class Method(Strict):
    """A parameter that no file has: a factor on the result, or on the stretch of seek distances."""

    name: str
    kind: Literal["factor", "scale"]
    studies: tuple[str, ...]
    factors: tuple[Factor, Factor]
    reason: str = Field(min_length=1)


class Rule(Strict):
    factors: tuple[Factor, Factor]
    reason: str


class Bands(Strict):
    rule: Rule
    bands: tuple[Band, ...] = ()
    method: tuple[Method, ...] = ()

    def of(self, parameter: str) -> Band | None:
        """Return the first band that names `parameter`; `None` where the rule holds."""
        return next((band for band in self.bands if band.holds(parameter)), None)


@dataclass(frozen=True)
class Move:
    """One parameter at one end of its band: at `place` in a `file` of ``data``; a method's has `kind`, and a factor as `value`."""

    parameter: str
    end: str
    own: Value
    value: Value
    unit: str
    kind: str = "value"
    file: str = ""
    place: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in f"{self.parameter}-{self.end}")

    def at(self, share: float) -> Self:
        """Return the move with its number only `share` of the way from the own value to the end."""
        assert not isinstance(self.own, str)
        assert not isinstance(self.value, str)
        value = self.own + share * (self.value - self.own)
        return replace(self, value=float(round(value)) if self.unit == "1" else value)


def load_bands() -> Bands:
    return read_toml(paths.data() / "sensitivity" / "bands.toml", Bands)


def moves_of(study: str, pair: str) -> list[Move]:
    """Return what is moved of the devices of `pair`, of the machine that `study` simulates on it, and of the method."""
    known, tiers = load_bands(), load_pair(pair)
    found = [move for name, one in _assumed(tiers) for move in _ends(name, one, known.of(name), known.rule)]
    for method in known.method:
        if study in method.studies:
            file = f"tiers/{pair}" if method.kind == "scale" else ""
            ends = zip(("low", "high"), method.factors, strict=True)
            found += [Move(method.name, end, 1.0, factor, "", method.kind, file) for end, factor in ends]
    return found


def _assumed(pair: Pair) -> Iterator[tuple[str, Sourced]]:
    stems = dict.fromkeys(named(device).stem for tier in pair.tiers.values() if (device := getattr(tier, "device", None)))
    seen = set[str]()
    for stem in stems:
        member = read_table(input_file("devices", stem)).get("member")
        for place, one in sourced(load_device(stem)):
            name = f"{member}.{place.removeprefix(MEMBER)}" if place.startswith(MEMBER) else f"{stem}.{place}"
            if ASSUMED in one.source and name not in seen:
                seen.add(name)
                yield name, one
    if input_file("machines", pair.name).exists():
        for place, one in sourced(load_machine(pair.name)):
            if ASSUMED in one.source:
                yield f"machines/{pair.name}.{place}", one


def _ends(name: str, one: Sourced, band: Band | None, rule: Rule) -> Iterator[Move]:
    file, _, place = name.partition(".")
    file = file if "/" in file else f"devices/{file}"
    own: Value = one.value  # type: ignore[attr-defined]  # whatever has a source has a value
    unit = one.unit if isinstance(one, Parameter) else ""
    if band is not None and band.chosen:
        return
    for end, value in _values(name, one, band, rule).items():
        if value != own:
            yield Move(f"{file.removeprefix('devices/')}: {place}", end, own, value, unit, file=file, place=tuple(place.split(".")))


def _values(name: str, one: Sourced, band: Band | None, rule: Rule) -> Mapping[str, Value]:
    if band is not None and band.others is not None:
        return {str(other).lower(): other for other in band.others}
    if not isinstance(one, Parameter):
        why, remedy = "is no number, and no band lists what may stand in its place", "add a band with `others` or `chosen`"
        raise InputError("data/sensitivity/bands.toml", field="parameters", value=name, rule=why, remedy=remedy)
    if band is not None and band.values is not None and band.unit is not None:
        low, high = (value * UNITS[band.unit][1] / UNITS[one.unit][1] for value in band.values)
    else:
        factors = rule.factors if band is None or band.factors is None else band.factors
        low, high = (one.value * factor for factor in factors)
        if band is None and one.low is not None and one.high is not None:
            low, high = min(low, one.low), max(high, one.high)
    if one.unit == "1":
        low, high = max(1.0, float(round(low))), float(round(high))
    return {"low": low, "high": high}


HOME: Final = "TIERWISE_HOME"
OUTPUTS: Final = ("work", "raw", "external")  # folders of ``data`` that a checkout writes
HALVINGS: Final = 12
"""How often the way to an end that the model refuses is halved, until the furthest value that it takes is known closely enough."""


def make_checkout(folder: Path, move: Move) -> Move | None:
    """Make the checkout in the empty `folder`, and return its move; `None` where the model takes no other value than its own."""
    changed = f"{move.file}.toml" if move.file else ""
    _link(paths.home(), folder, without={"data", "report"})
    make_folder(folder / "report")
    _link(paths.home() / "report", folder / "report", without={"_site", "_build"})
    top = changed.split("/", maxsplit=1)[0]
    _link(paths.data(), folder / "data", without={*OUTPUTS, top})
    if not changed:
        return move
    _link(paths.data() / top, folder / "data" / top, without={Path(changed).name})
    table = read_table(paths.data() / changed)
    with suppress(InputError):
        return _written(folder / "data" / changed, table, move)
    return None if isinstance(move.own, str | bool) else _furthest(folder / "data" / changed, table, move)


def _furthest(path: Path, table: dict[str, Any], move: Move) -> Move | None:
    least, most, found = 0.0, 1.0, None
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        try:
            found, least = _written(path, table, move.at(middle)), middle
        except InputError:
            most = middle
    if found is None or found.value == move.own:
        return None
    return _written(path, table, found)


def _written(path: Path, table: dict[str, Any], move: Move) -> Move:
    write_whole(path, as_toml(_changed(table, move)))
    with variables({HOME: str(path.parents[2])}):
        if move.file.startswith("devices/"):
            load_device(path.stem)
        elif move.file.startswith("machines/"):
            load_machine(path.stem)
    return move


def _changed(table: dict[str, Any], move: Move) -> dict[str, Any]:
    if move.kind == "scale":
        tiers = {
            name: tier | {"scale": tier.get("scale", 1.0) * move.value} if "device" in tier else tier
            for name, tier in table["tiers"].items()
        }
        return table | {"tiers": tiers}
    *sections, last = move.place
    if sections:
        (section,) = sections
        return table | {section: _changed(table[section], replace(move, place=(last,)))}
    own = {name: part for name, part in table.get(last, {"unit": move.unit, "source": ASSUMED}).items() if name not in {"low", "high"}}
    return table | {last: {name: part for name, part in own.items() if part != ""} | {"value": move.value}}


def _link(source: Path, target: Path, without: set[str]) -> None:
    make_folder(target)
    for one in source.iterdir():
        if one.name not in without:
            (target / one.name).symlink_to(one)
