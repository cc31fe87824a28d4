"""What a reader may pick in a chart, a legend's entry or a row's mark, so that the rest fades; the page links equal fields."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

LEGENDS: Final = ("color", "fill", "stroke", "shape", "strokeDash")
POSITIONS: Final = ("y", "x")
DISCRETE: Final = ("nominal", "ordinal")
PARTS: Final = ("layer", "concat", "vconcat", "hconcat")
FADED: Final = 0.08  # opacity of what is not picked: enough to see what was left out


def selectable(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the Vega-Lite `spec` with a selection for each field of a legend or a discrete axis, beside those it declares itself."""
    made = deepcopy(spec)
    params: list[dict[str, Any]] = made.get("params", [])
    named = {tuple(param["select"]["fields"]): param["name"] for param in params if _on_fields(param)}
    units = [unit for view in _views(made) for unit in _units(view)]
    legends = _fields(units, LEGENDS)
    for field in {**legends, **_fields(units, POSITIONS)}:
        if (field,) not in named:
            named[field,] = name = f"picked_{len(named) + 1}"
            select = {"type": "point", "fields": [field], "on": "click", "toggle": "true"}
            bound = {"bind": "legend"} if field in legends else {}
            params.append({"name": name, "select": select, **bound, "views": [*_named_views(made, field)]})
    for unit in units:
        _fade(unit, [name for fields, name in named.items() if set(fields) <= _fields([unit], LEGENDS + POSITIONS).keys()])
    return {**made, "params": params} if params else made


def _on_fields(param: dict[str, Any]) -> bool:
    return isinstance(param.get("select"), dict) and "fields" in param["select"]


def _views(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (name for name in PARTS[1:] if name in spec):
        for view in spec[part]:
            yield from _views(view)
    if "spec" in spec:
        yield from _views(spec["spec"])
    if "layer" in spec or "mark" in spec:
        yield spec


def _units(view: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "layer" not in view:
        yield view
    for layer in view.get("layer", ()):
        yield from _units(layer)


def _fields(units: list[dict[str, Any]], channels: tuple[str, ...]) -> dict[str, None]:
    found = (unit.get("encoding", {}).get(channel, {}) for unit in units for channel in channels)
    shown = (parameter for parameter in found if parameter.get("type") in DISCRETE and parameter.get("legend", "") is not None)
    return dict.fromkeys(parameter["field"] for parameter in shown if "field" in parameter)


def _named_views(spec: dict[str, Any], field: str) -> Iterator[str]:
    for number, view in enumerate(_views(spec), 1):
        unit = next((unit for unit in _units(view) if field in _fields([unit], LEGENDS + POSITIONS)), None)
        if unit is not None:
            named = next((each for each in _units(view) if "name" in each), unit)
            yield named.setdefault("name", f"plot_{number}")


def _fade(unit: dict[str, Any], names: list[str]) -> None:
    encoding = unit.setdefault("encoding", {})
    declared = encoding.get("opacity", {})
    condition = declared.get("condition", {})
    if not names or ("condition" in declared) != ("param" in condition) or "field" in declared:
        return
    mark = unit["mark"] if isinstance(unit["mark"], dict) else {}
    shown = condition.get("value", declared.get("value", mark.get("opacity", 1)))
    every = dict.fromkeys([*([condition["param"]] if condition else []), *names])
    encoding["opacity"] = {"condition": {"test": {"and": [{"param": name} for name in every]}, "value": shown}, "value": FADED}
