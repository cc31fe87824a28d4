"""A checkout in which one parameter stands at an end of its band: links to this one, but for the file that has the parameter."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, write_whole
from tierwise.core.toml import read_table
from tierwise.devices.parameter import ASSUMED
from tierwise.devices.spec import load_device
from tierwise.pipeline import variables
from tierwise.sensitivity.bands import Move, as_table
from tierwise.simulate.machine import load_machine

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
    write_whole(path, as_table(_changed(table, move)))
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
