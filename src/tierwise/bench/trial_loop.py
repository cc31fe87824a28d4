"""The trial loop: observe and record, replicate by replicate, what a run still lacks of a study on a pair; resumable."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from tierwise.bench.study import Turn
from tierwise.core.pairs import Pair
from tierwise.core.progress import Progress
from tierwise.core.vocabulary import Evidence
from tierwise.timings.parts import done_parts, rows_so_far, without_real_time_rows, write_part
from tierwise.timings.schema import Origin, Timing, frame

if TYPE_CHECKING:
    from tierwise.bench.run_record import RunRecord
    from tierwise.bench.testbed import DatasetLike


class Observer(Protocol):
    """Executes the turns of one replicate of one study on one pair: on a server, on files, or by models alone."""

    @property
    def settings(self) -> Mapping[str, str]: ...
    @property
    def server_version(self) -> str: ...
    @property
    def datasets(self) -> "Sequence[DatasetLike]": ...
    def observe(self, turn: Turn) -> Sequence[Timing]: ...
    def evidence(self, turn: Turn, timings: Sequence[Timing]) -> Evidence: ...
    def facts(self, rows: pl.DataFrame, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what was found out, when every turn of the replicate is done.

        `rows`: the raw ones of the study so far, on any pair; `before`: the facts of the replicates before this one, None in the first.
        """


OpenObserver = Callable[[int, Sequence[Turn]], AbstractContextManager[Observer]]
"""A function of this type opens the observer of a replicate, by its number, for those of its turns that are left."""


def run_trials(study: Any, pair: Pair, turns: Sequence[Turn], record: "RunRecord", opened: OpenObserver, *, how: str) -> None:
    """Get what the run of `record` lacks of the `turns` of a study, live or simulated, with an observer for each replicate."""
    done = done_parts(record.folder, study.name)
    left = [turn for turn in turns if (study.name, pair.name, turn.trial.key, turn.replicate) not in done]
    progress = Progress(f"{study.name.replace('_', ' ')} on {pair.name} ({how})", len(turns), already=len(turns) - len(left))
    for testbeds, (replicate, _) in enumerate(groupby(turns, key=lambda turn: turn.testbed), start=1):
        known = record.of(study.name, pair.name)
        missing = [turn for turn in left if turn.testbed == replicate]
        if known and known.replicates >= testbeds and not missing:
            continue
        with opened(replicate, missing) as observer:
            for turn in missing:
                timings = observer.observe(turn)
                origin = Origin(
                    run_id=record.folder.name,
                    study=study.name,
                    pair=pair.name,
                    evidence=observer.evidence(turn, timings),
                    io_mode=turn.trial.io_mode,
                    trial=turn.trial.key,
                    replicate=turn.replicate,
                    sequence=turn.sequence,
                )
                write_part(record.folder, frame(origin, timings))
                progress.step(note=f"replicate {turn.replicate + 1}, {turn.trial.key}")
            rows = without_real_time_rows(rows_so_far(record.folder, study.name))
            if replicate == turns[-1].testbed:
                study.check(rows.filter(pair=pair.name))  # a pair of today has the data of the first replicate alone
            facts = observer.facts(rows, known.facts if known else None)
            record.record(
                study.name,
                pair.name,
                turns,
                testbeds=max(testbeds, known.replicates if known else 0),
                facts=facts,
                settings=observer.settings,
                server_version=observer.server_version,
                datasets=observer.datasets,
            )
