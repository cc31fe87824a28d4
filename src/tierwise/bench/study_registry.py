"""The studies as their packages have them, found by name; on which pairs each is measured; and its fingerprint."""

import hashlib
import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

import polars as pl

from tierwise.bench import live, simulation
from tierwise.bench.code_digests import DIGITS, code_of, data_sets_in
from tierwise.bench.inputs import Inputs, identity, pair_file
from tierwise.bench.simulation import SimulatedStudy
from tierwise.bench.study import Study
from tierwise.core import data_sets, studies
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.pairs import TODAY, Pair
from tierwise.tiers.open import device_modules
from tierwise.timings.manifest import Fingerprint


def trials_module(name: str) -> str:
    return f"tierwise.studies.{studies.known(name)}.measuring.trials"


def load_study(name: str) -> Study[Any, Any] | SimulatedStudy[Any]:
    module = trials_module(name)
    study = import_module(module).STUDY
    assert isinstance(study, Study | SimulatedStudy), f"{module}.STUDY is a {type(study).__name__}"
    return study


def summary_of(name: str, rows: pl.DataFrame) -> dict[str, Any]:
    study = load_study(name)
    return study.summarise(rows) if isinstance(study, Study) else {}


def pairs_of(study: Study[Any, Any] | SimulatedStudy[Any], pairs: Iterable[Pair], reader_pair: str | None) -> list[Pair]:
    """Choose its source's pairs; where it needs a server, the reader's as well, and, where a placement is in question, that of today."""
    if isinstance(study, SimulatedStudy):
        return [pair for pair in pairs if pair.source == study.source]
    sources = {study.source, *([TODAY] if study.today else [])}
    return [pair for pair in pairs if pair.source in sources or pair.name == reader_pair]


WORDS: Final = frozenset({"date", "description", "fitted_on", "high", "low", "note", "source"})
"""Fields of pairs and devices that tell people something and decide no number."""


def fingerprints(inputs: Inputs) -> dict[str, Fingerprint]:
    return {name: fingerprint(name, inputs) for name in studies.names()}


def fingerprint(name: str, inputs: Inputs) -> Fingerprint:
    study, code = load_study(name), code_of_study(name, inputs)
    profile = inputs.profile
    decisive: dict[str, Any] = {
        "profile": profile.model_dump(mode="json", exclude={"description", "free_space_bytes", "studies", "today"}),
        "profile of the study": profile.studies.get(name),
        "seed": inputs.seed,
        **{f"pair {pair.name}": _figures(pair_file(pair)) for pair in pairs_of(study, inputs.pairs, inputs.reader_pair)},
        **{
            f"source of {data}": identity(inputs.sources.get(data, SYNTHETIC), data.upper())
            for data in data_sets_in(code, data_sets.names())
        },
    }
    if not isinstance(study, SimulatedStudy):
        decisive["server version"] = inputs.server_version
        decisive["counting of several sessions"] = not inputs.needs_real_time  # a run goes on by the clocks that it began with
        if study.today:
            decisive["pairs of few cells"] = profile.today
    return Fingerprint(inputs={what: _digest(value) for what, value in sorted(decisive.items())}, code=code)


def code_of_study(name: str, inputs: Inputs) -> dict[str, str]:
    """Return the code (`code_of`) of study `name`, of its runner, and of the models of the devices that its pairs name."""
    study = load_study(name)
    runner = simulation if isinstance(study, SimulatedStudy) else live
    tiers = (tier for pair in pairs_of(study, inputs.pairs, inputs.reader_pair) for tier in pair.tiers.values())
    return code_of({trials_module(name), runner.__name__, *(module for tier in tiers for module in device_modules(tier))})


def _figures(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _figures(part) for name, part in value.items() if name not in WORDS}
    return [_figures(part) for part in value] if isinstance(value, list) else value


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:DIGITS]
