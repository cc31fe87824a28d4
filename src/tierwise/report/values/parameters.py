"""Every parameter of every emulated device, with its source."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

import polars as pl

from tierwise.core.dates import is_stale
from tierwise.report.formats import NBSP, tied
from tierwise.report.run import Run
from tierwise.report.words import unit_of

ASSUMED: Final = "assumed"
SCHEMA: Final = {"device": pl.String, "source": pl.String, "parameter": pl.String}


def rows(run: Run) -> pl.DataFrame:
    devices = {name: spec for record in run.manifest.pairs.values() for name, spec in record.get("devices", {}).items()}
    on = run.manifest.started_at.date()
    leaves = [(device, path, leaf) for device, spec in sorted(devices.items()) for path, leaf in _leaves(spec)]
    found = [(device, source_of(leaf, on), f"{path} {_value(leaf)}{band_of(leaf)}") for device, path, leaf in leaves]
    return pl.DataFrame(found, schema=SCHEMA, orient="row").group_by("device", "source", maintain_order=True).agg("parameter")


def facts(rows: pl.DataFrame) -> dict[str, int]:
    stated = rows["parameter"].list.len()
    assumed = stated.filter(rows["source"].str.contains(ASSUMED, literal=True))
    return {"parameters": int(stated.sum()), "assumed": int(assumed.sum())}


def source_of(leaf: Mapping[str, Any], on: date) -> str:
    """Return where a parameter was read, and of which day; what was assumed, fitted on data, or is old on the day `on`, says so."""
    source = str(leaf["source"]).replace(ASSUMED, f"**{ASSUMED}**")
    parts = [source, *([f"fitted on {leaf['fitted_on']}"] if leaf.get("fitted_on") else [])]
    if day := leaf.get("date"):
        parts.append(f"{day}{', older than a year' if is_stale(day, on) else ''}")
    return ", ".join(parts)


def band_of(leaf: Mapping[str, Any]) -> str:
    return "" if leaf.get("low") is None else tied(f" ({leaf['low']:g} to {leaf['high']:g} {unit_of(leaf)}".removesuffix(" 1") + ")")


def _leaves(spec: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, part in spec.items():
        if isinstance(part, Mapping):
            where = f"{path}{name.replace('_', ' ')}"
            yield from [(where, part)] if {"value", "source"} <= part.keys() else _leaves(part, f"{where}, ")


def _value(leaf: Mapping[str, Any]) -> str:
    value = leaf["value"]
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = unit_of(leaf)
    return f"{value:,g}{'' if unit in ('', '1') else f'{NBSP}{unit}'}" if isinstance(value, int | float) else str(value)
