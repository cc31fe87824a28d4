"""The studies as their packages have them, found by name; and on which pairs each is measured."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import polars as pl

from tierwise.bench.simulation import SimulatedStudy
from tierwise.bench.study import Study
from tierwise.core import studies
from tierwise.core.pairs import TODAY, Pair


def trials_module(name: str) -> str:
    return f"tierwise.studies.{studies.known(name)}.measuring.trials"


def load_study(name: str) -> Study[Any, Any] | SimulatedStudy[Any, Any]:
    module = trials_module(name)
    study = import_module(module).STUDY
    assert isinstance(study, Study | SimulatedStudy), f"{module}.STUDY is a {type(study).__name__}"
    return study


def summary_of(name: str, rows: pl.DataFrame) -> dict[str, Any]:
    study = load_study(name)
    return study.summarise(rows) if isinstance(study, Study) else {}


def pairs_of(study: Study[Any, Any] | SimulatedStudy[Any, Any], pairs: Iterable[Pair], reader_pair: str | None) -> list[Pair]:
    """Choose its source's pairs; where it needs a server, the reader's as well, and, where a placement is in question, that of today."""
    if isinstance(study, SimulatedStudy):
        return [pair for pair in pairs if pair.source == study.source]
    sources = {study.source, *([TODAY] if study.today else [])}
    return [pair for pair in pairs if pair.source in sources or pair.name == reader_pair]
