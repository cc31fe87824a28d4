"""The studies as their rooms have them, found by name; and on which pairs each is measured."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from tierwise.bench.simulation import SimulatedStudy
from tierwise.bench.study import Study
from tierwise.core import studies
from tierwise.core.pairs import Pair


def trials_module(name: str) -> str:
    """Return the module in which the room of study `name` begins to measure."""
    return f"tierwise.studies.{studies.known(name)}.measuring.trials"


def load_study(name: str) -> Study[Any, Any] | SimulatedStudy[Any, Any]:
    """Return the study `name`, by what its room measures."""
    module = trials_module(name)
    study = import_module(module).STUDY
    assert isinstance(study, Study | SimulatedStudy), f"{module}.STUDY is a {type(study).__name__}"
    return study


def pairs_of(study: Study[Any, Any] | SimulatedStudy[Any, Any], pairs: Iterable[Pair], reader_pair: str | None) -> list[Pair]:
    """Choose from `pairs` what `study` is measured on: its source's pairs; and the reader's, unless it needs no server."""
    own = None if isinstance(study, SimulatedStudy) else reader_pair
    return [pair for pair in pairs if pair.source == study.source or (own is not None and pair.name == own)]
