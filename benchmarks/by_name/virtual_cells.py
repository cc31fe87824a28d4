"""Cells of a study measured over and over on one loading: by a virtual or a real clock, undisturbed or beside what disturbs."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl
from machine_state import Machine, Quota, Sleeper, Watch, busy, held_cluster

from tierwise.bench.inputs import Inputs
from tierwise.bench.live import open_testbed
from tierwise.bench.recording import Recorder
from tierwise.bench.study import Cell, Study, Trial
from tierwise.bench.study_registry import load_study
from tierwise.bench.testbed import Testbed
from tierwise.bench.workspace import exclusive_workspace
from tierwise.core import session_group
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.progress import Progress
from tierwise.core.vocabulary import IoMode
from tierwise.postgres.binaries import find_binaries
from tierwise.tiers import reclaim
from tierwise.timings.schema import Origin, frame

Item = TypeVar("Item")
Side = Callable[[Testbed], AbstractContextManager[None]]
"""What is different while a trial is measured."""


@dataclass
class Measured:
    """Raw rows, whose `run_id` is the side, and the machine meanwhile by (side, trial, replicate)."""

    rows: pl.DataFrame
    machines: dict[tuple[str, str, int], Machine] = field(default_factory=dict)
    late_s: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def of(self, side: str) -> list[Machine]:
        return [machine for (name, _, _), machine in self.machines.items() if name == side]


def profile_of(fraction: float) -> Profile:
    """Return the quick profile with another share of the rows, by direct I/O alone."""
    return load_profile("quick").model_copy(update={"fraction": fraction, "io_modes": (IoMode.DIRECT,)})


class Opened(NamedTuple):
    """A study, the testbed that it is in, and what it keeps in mind there."""

    study: Study[Any, Any]
    testbed: Testbed
    study_state: Any


@contextmanager
def opened(name: str, profile: Profile, seed: int, *, pair: str = "") -> Iterator[Opened]:
    """Study `name` in a testbed on `pair`, by default its source's; its data go at the end."""
    study = load_study(name)
    assert isinstance(study, Study)
    tiers = load_pair(pair or f"source-{study.source.lower()}")
    version = ".".join(map(str, find_binaries().version))
    inputs = Inputs(profile, (tiers,), None, seed, version, needs_real_time=session_group.obstacle())
    with exclusive_workspace() as workspace:
        work: Path = workspace / f"virtual-time-{name}"
        try:
            with open_testbed(study, tiers, inputs, work, seed=seed) as (testbed, study_state):
                yield Opened(study, testbed, study_state)
        finally:
            reclaim.discard(work)


@contextmanager
def undisturbed(testbed: Testbed) -> Iterator[None]:  # noqa: ARG001 - a side
    yield


@contextmanager
def real_time(testbed: Testbed) -> Iterator[None]:
    testbed.waiting = True
    try:
        yield
    finally:
        testbed.waiting = False


def beside(processes: int) -> Side:
    @contextmanager
    def side(testbed: Testbed) -> Iterator[None]:  # noqa: ARG001 - a side
        with busy(processes):
            yield

    return side


def held_to(quota: Quota) -> Side:
    """Server and daemon held to a quota; the daemon then has no real-time priority either, which such a group does not hand out."""

    @contextmanager
    def side(testbed: Testbed) -> Iterator[None]:
        assert testbed.daemon is not None
        assert testbed.daemon.pid is not None
        usual = testbed.cluster
        testbed.cluster.stop()
        testbed.cluster = held_cluster(usual, quota)
        try:
            with quota.held(testbed.daemon.pid):
                yield
        finally:
            testbed.cluster = usual

    return side


def repeat(
    there: Opened,
    trials: Sequence[Trial[Cell]],
    *,
    repetitions: int,
    sides: Mapping[str, Side],
    seed: int,
    same_platters: bool = False,
    enough: Callable[[Measured], bool] | None = None,
) -> Measured:
    """Each trial `repetitions` times a side, the sides in turn; one preparation after the other, so that files lie where they lie.

    The sides of a repetition begin with platters that stand alike; each repetition draws them anew, unless `same_platters`.
    It ends before its time when `enough` says so, which is called after each round of a preparation's trials.
    """
    study, testbed, study_state = there
    found, frames = Measured(pl.DataFrame()), list[pl.DataFrame]()
    progress = Progress(f"{study.name}: {', '.join(sides)}", repetitions * len(trials) * len(sides))
    for _, group in groupby(sorted(trials, key=lambda trial: (trial.preparation, trial.key)), key=lambda trial: trial.preparation):
        placed = list(group)
        study.prepare(placed[0], testbed, study_state)
        for replicate in range(repetitions):
            random.Random(f"{seed}/{replicate}").shuffle(placed)
            for trial, (name, side) in ((trial, each) for trial in placed for each in turned(list(sides.items()), replicate)):
                testbed.origin_s = random.Random(f"{seed}/{0 if same_platters else replicate}/{trial.key}").random()
                watch = Watch()
                with Sleeper() as sleeper, side(testbed):
                    timings = study.measure(trial, testbed, study_state, Recorder()).timings
                key = (name, trial.key, replicate)
                found.machines[key], found.late_s[key] = watch.found(), sleeper.late_s
                origin = Origin(
                    name, study.name, testbed.pair.name, trial.evidence(testbed.pair), trial.io_mode, trial.key, replicate, len(frames)
                )
                frames.append(frame(origin, timings))
                progress.step(note=f"{name}, repetition {replicate + 1}, {trial.key}")
            if enough and enough(found):
                break
    return replace(found, rows=pl.concat(frames))


def turned(items: list[Item], by: int) -> list[Item]:
    """`items` beginning with another one each time."""
    first = by % len(items)
    return [*items[first:], *items[:first]]
