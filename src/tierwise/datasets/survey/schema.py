"""The tables of a multi-epoch survey archive (UKIDSS, VISTA, VST), as ``data/datasets/survey.toml`` has them."""

from functools import cache
from typing import Final

from pydantic import Field

from tierwise.core import paths
from tierwise.core.toml import Strict, read_table, validate
from tierwise.datasets.archive_table import Table

NAMES: Final = ("Multiframe", "MergeLog", "Source", "Detection", "BestMatch", "Variability")
"""The names of the tables, in the order in which they can be loaded."""

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "Multiframe": ("multiframeID",),
    "MergeLog": ("frameSetID",),
    "Source": ("sourceID",),
    "Detection": ("multiframeID", "extNum", "seqNum"),
    "BestMatch": ("sourceID", "multiframeID"),
    "Variability": ("sourceID",),
}
"""The archives' own: sources and frames by their id, a detection by its place in a frame, a match by source and frame."""

INDEXED: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "Multiframe": (("filterID",),),
    "MergeLog": (),
    "Source": (("frameSetID",), ("ra",), ("dec",)),
    "Detection": (("objID",), ("ra",), ("dec",)),
    "BestMatch": (("multiframeID", "extNum", "seqNum"),),
    "Variability": (("variableClass",),),
}
"""Assumed, beyond the keys: positions, the way from a detection to its source, and what a query for variable sources selects by."""

NO_INTEGER: Final = -99_999_999
NO_REAL: Final = -0.9999995e9
NO_TEXT: Final = "NONE"  # what the archives store for a missing value: no column may be null (defaults in the WSA's glossary)


class _Columns(Strict):
    source: str
    columns: tuple[tuple[str, str], ...] = Field(min_length=1)


@cache
def load_tables() -> dict[str, Table]:
    path = paths.data() / "datasets" / "survey.toml"
    read = {name: validate(entry, _Columns, where=f"{paths.short(path)}: {name}") for name, entry in read_table(path).items()}
    types = {name: {column: kind for kind, columns in entry.columns for column in columns.split()} for name, entry in read.items()}
    return {name: Table(name, types[name], KEYS[name], INDEXED[name]) for name in NAMES}
