"""Estimates from the rows of an exhibit, by group."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.report.formats import DASH, with_interval
from tierwise.report.text_template import Value


def estimates(rows: pl.DataFrame, keys: Sequence[str], value: str = "ratio") -> dict[tuple[Any, ...], Estimate]:
    """Return the estimate of `value` by `keys`, in the order of the rows: over the replicates whose `flag` is ``none``."""
    groups = rows.group_by(list(keys), maintain_order=True)
    return {key: geometric_estimate(dict(part.filter(flag="none").select("replicate", value).rows())) for key, part in groups}


def ends(name: str, found: Mapping[Any, Estimate]) -> dict[str, Value]:
    """Return ``NAME_known``, ``NAME_least`` and ``NAME_most``, for the text: the range of the estimates."""
    middles = [one.value for one in found.values() if one.value is not None]
    return {f"{name}_known": bool(middles), **least_most(name, middles)}


def least_most(name: str, values: Iterable[float | None]) -> dict[str, Value]:
    """Return ``NAME_least`` and ``NAME_most`` of the `values` that are known."""
    known = [value for value in values if value is not None]
    return {f"{name}_least": min(known, default=None), f"{name}_most": max(known, default=None)}


def by_group(rows: pl.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Return a row for each group of `keys` with the estimate of each of `values` as text, where the first of them has an interval."""
    found = {value: estimates(rows, keys, value) for value in values}
    groups = [key for key, one in found[values[0]].items() if one.interval]
    return pl.DataFrame([dict(zip(keys, key, strict=True)) | {value: cell(of[key]) for value, of in found.items()} for key in groups])


def cell(one: Estimate | None) -> str:
    """Return ``12.3 (11.9 to 12.8)``, ``12.3 (no interval)`` where all replicates agree, or a dash where nothing was estimated."""
    if one is None or one.value is None or one.interval is None:
        return DASH
    return with_interval(one.value, *one.interval)
