"""Studies that are simulated alone: no server, no mount; each trial is run once a block, and a block is a seed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tierwise.bench.inputs import Inputs
from tierwise.bench.order import interleave
from tierwise.bench.runs import record_study
from tierwise.bench.study import Trial, no_check
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import Progress
from tierwise.core.words import Substrate
from tierwise.timings.manifest import StudyRecord, load_manifest
from tierwise.timings.schema import Origin, Timing, frame
from tierwise.timings.store import done_parts, read_parts, write_part


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """One question from one source, answered by models alone on that source's pair.

    `simulate` gives the rows of one trial for a seed; equal seeds give equal rows. `describe` gives facts found out once. `check`
    raises `EvidenceError` where the complete rows contradict themselves.
    """

    name: str
    source: str
    question: str
    trials: Callable[[Profile, Pair], tuple[Trial, ...]]
    simulate: Callable[[Trial, Pair, int], Iterator[Timing]]
    describe: Callable[[Profile, Pair], dict[str, Any]]
    check: Callable[[pl.DataFrame], None] = field(default=no_check)


def simulate_on_pair(study: SimulatedStudy, pair: Pair, inputs: Inputs, folder: Path) -> None:
    """Simulate what the run in `folder` still lacks of `study`; the first block has the run's own seed."""
    if pair.source != study.source:
        return
    turns = interleave(study.trials(inputs.profile, pair), blocks=inputs.profile.blocks, seed=inputs.seed)
    done = done_parts(folder)
    left = [turn for turn in turns if (study.name, pair.name, turn.trial.key, turn.block) not in done]
    recorded = {(record.name, record.pair) for record in load_manifest(folder).studies}
    if not left and (study.name, pair.name) in recorded:
        return
    progress = Progress(f"{study.name} on {pair.name} (simulated)", len(turns), already=len(turns) - len(left))
    for turn in left:
        origin = Origin(
            run_id=folder.name,
            study=study.name,
            pair=pair.name,
            substrate=Substrate.SIMULATED,
            arm=turn.trial.arm,
            trial=turn.trial.key,
            block=turn.block,
            sequence=turn.sequence,
        )
        write_part(folder, frame(origin, list(study.simulate(turn.trial, pair, inputs.seed + turn.block))))
        progress.step(note=f"block {turn.block + 1}, {turn.trial.key}")
    study.check(read_parts(folder, study.name))
    record = StudyRecord(
        name=study.name,
        pair=pair.name,
        trials=tuple(sorted({turn.trial.key for turn in turns})),
        blocks=inputs.profile.blocks,
        settings={},
        server_version="",
        facts=study.describe(inputs.profile, pair),
    )
    record_study(folder, record)
