"""The numbers of the page on provenance, and the rows of its tables."""

from collections.abc import Iterator, Mapping
from datetime import date
from importlib.resources import files
from statistics import median
from typing import Any, Final

import polars as pl

from tierwise.analysis.quality import machine_effects, rejections
from tierwise.core.data_sets import published_rows
from tierwise.core.dates import is_stale
from tierwise.core.units import human_seconds
from tierwise.core.vocabulary import Evidence
from tierwise.report.estimates import least_most
from tierwise.report.formats import NBSP, tied
from tierwise.report.reference import beside_reference, recoded
from tierwise.report.run import Run
from tierwise.report.text_template import fill
from tierwise.report.words import unit_of

ASSUMED: Final = "assumed"
PARAMETERS: Final = {"device": pl.String, "source": pl.String, "parameter": pl.String}
CLOCKS: Final = "analysis/figures/clocks.sql"


def run_items(run: Run) -> pl.DataFrame:
    """Return when, on which machine, by which profile, on which pairs and with what code; nothing that names the machine or its user."""
    clocks = sorted({text for text in run.manifest.clocks.values() if text != "virtual"})
    known = {"run": run, "manifest": run.manifest, "host": run.manifest.host, "clocks": clocks, "duration": human_seconds}
    lines = fill("run_items.txt", **known).splitlines()
    return pl.DataFrame([line.split(": ", 1) for line in lines if line], schema=["item", "value"], orient="row")


def data_sets(run: Run) -> pl.DataFrame:
    found = []
    for record in run.manifest.datasets:
        whole = published_rows(record.name)
        known = {"data": record.name, "source": run.manifest.source_of(record), "rows": record.rows, "studies": list(record.studies)}
        found.append({**known, "share": record.rows / whole if whole else None, "digest": (record.sha256 or "")[:16]})
    return pl.DataFrame(found)


def tiers(run: Run) -> pl.DataFrame:
    found = [
        (name, tier, str(spec.get("kind")), str(spec.get("device") or spec.get("directory")), str(spec.get("note") or ""))
        for name, record in run.manifest.pairs.items()
        for tier, spec in record.get("tiers", {}).items()
    ]
    return pl.DataFrame(found, schema=["pair", "tier", "kind", "place", "note"], orient="row")


def clocks(run: Run) -> pl.DataFrame:
    """Return the cells that were measured in virtual and in real time."""
    return clock_ratios(run, "", run.query((files("tierwise") / CLOCKS).read_text(encoding="utf-8")))


def clock_ratios(_run: Run, _pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Add what is compared (the time of the devices, rates, or elapsed times), and virtual over real time, or the rates."""
    one, rates = pl.col("clock") == "virtual-one", (pl.col("virtual_per_s") > 0) & (pl.col("per_s") > 0)
    ratio = pl.when(one).then(pl.col("virtual_device_s") / pl.col("requests_s")).when(rates).then(pl.col("virtual_per_s") / pl.col("per_s"))
    return rows.with_columns(
        what=pl.when(one).then(pl.lit("devices")).when(rates).then(pl.lit("rate")).otherwise(pl.lit("elapsed")),
        ratio=ratio.otherwise(pl.col("virtual_s") / pl.col("elapsed_s")),
    ).filter(pl.col("ratio").is_finite())


def cells_of_clocks(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows.height}


def clock_groups(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("study", "what", maintain_order=True).agg(
        cells=pl.len(),
        flagged=(pl.col("flags").list.len() > 0).sum(),
        least=pl.col("ratio").min(),
        median=pl.col("ratio").median(),
        most=pl.col("ratio").max(),
    )


def parameters(run: Run) -> pl.DataFrame:
    """Return every parameter of every emulated device, with its source."""
    devices = {name: spec for record in run.manifest.pairs.values() for name, spec in record.get("devices", {}).items()}
    on = run.manifest.started_at.date()
    leaves = [(device, path, leaf) for device, spec in sorted(devices.items()) for path, leaf in _leaves(spec)]
    found = [(device, source_of(leaf, on), f"{path} {_value(leaf)}{band_of(leaf)}") for device, path, leaf in leaves]
    return pl.DataFrame(found, schema=PARAMETERS, orient="row").group_by("device", "source", maintain_order=True).agg("parameter")


def number_of_parameters(rows: pl.DataFrame) -> dict[str, int]:
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


def values(run: Run, pair: str = "") -> dict[str, Any]:  # noqa: ARG001  of all pairs
    live = [one for one in rejections(run.store) if one.evidence is not Evidence.SIMULATED]
    found = beside_reference(run)
    ratios = found.cells["ratio"].to_list() if found else []
    rates = clocks(run).filter(what="rate")
    kept = rates.filter(pl.col("flags").list.len() == 0)["ratio"].to_list()
    return {
        "is_reference": run.is_reference,
        "run_note": run.manifest.note,
        "reference": f"{found.reference.name} ({found.reference.origin})" if found else None,
        "same_size": found.same_size if found else True,
        "recoded": len(recoded(run.manifest, found.reference.manifest)) if found else 0,
        "cells": len(ratios),
        "ratio": median(ratios) if ratios else None,
        **least_most("ratio", ratios),
        "claims": len(found.claims) if found else 0,
        "differing": len(found.differing) if found else 0,
        "observations": sum(one.observations for one in live),
        "rejected": sum(one.rejected for one in live),
        "machines": machine_effects(run.store, run.manifest.attempts),
        "rates": rates.height,
        "higher_rates": rates.filter(pl.col("ratio") > 1).height,
        "kept_most": max(kept) - 1 if kept and max(kept) > 1 else None,
    }
