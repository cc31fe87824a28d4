"""The trial loop: what a run still lacks of a study on a pair is observed block by block, whoever observes, and recorded; resumable."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from tierwise.bench.order import Turn
from tierwise.core.pairs import Pair
from tierwise.core.progress import Progress
from tierwise.core.words import Substrate
from tierwise.timings.parts import done_parts, rows_so_far, without_checks, write_part
from tierwise.timings.schema import Origin, Timing, frame

if TYPE_CHECKING:
    from tierwise.bench.book import Book
    from tierwise.bench.lab import DatasetLike


class Question(Protocol):
    """What the loop knows of a study."""

    @property
    def name(self) -> str: ...
    @property
    def check(self) -> Callable[[pl.DataFrame], None]: ...


class Observer(Protocol):
    """Executes the turns of one block of one study on one pair: on a server, on files, or by models alone."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the server's settings by name, empty without a server."""

    @property
    def server_version(self) -> str:
        """Return the server's version, such as ``18.6``, empty without a server."""

    @property
    def datasets(self) -> "Sequence[DatasetLike]":
        """Return the data sets that were loaded for the study."""

    def observe(self, turn: Turn) -> Sequence[Timing]:
        """Execute `turn` once, and return its timings."""

    def substrate(self, turn: Turn, timings: Sequence[Timing]) -> Substrate:
        """Return how the times of `turn` came to be."""

    def facts(self, rows: pl.DataFrame, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what was found out, when every turn of the block is done.

        `rows`: the raw ones of the study so far, on any pair; `before`: the facts of the blocks before this one, None in the first.
        """


OpenObserver = Callable[[int, Sequence[Turn]], AbstractContextManager[Observer]]
"""A function of this type opens the observer of a block, by its number, for those of its turns that are left."""


def run_trials(study: Question, pair: Pair, turns: Sequence[Turn], book: "Book", opened: OpenObserver, *, how: str) -> None:
    """Get what the run of `book` still lacks of `turns`, block by block, check the complete rows and record the study.

    Each block has an observer of its own. Nothing is opened where all that is done. `how` tells the reader what observes.
    """
    done = done_parts(book.folder, study.name)
    left = [turn for turn in turns if (study.name, pair.name, turn.trial.key, turn.block) not in done]
    progress = Progress(f"{study.name} on {pair.name} ({how})", len(turns), already=len(turns) - len(left))
    for labs, (block, _) in enumerate(groupby(turns, key=lambda turn: turn.lab), start=1):
        known = book.of(study.name, pair.name)
        missing = [turn for turn in left if turn.lab == block]
        if known and known.blocks >= labs and not missing:
            continue
        with opened(block, missing) as observer:
            for turn in missing:
                timings = observer.observe(turn)
                origin = Origin(
                    run_id=book.folder.name,
                    study=study.name,
                    pair=pair.name,
                    substrate=observer.substrate(turn, timings),
                    arm=turn.trial.arm,
                    trial=turn.trial.key,
                    block=turn.block,
                    sequence=turn.sequence,
                )
                write_part(book.folder, frame(origin, timings))
                progress.step(note=f"block {turn.block + 1}, {turn.trial.key}")
            rows = without_checks(rows_so_far(book.folder, study.name))
            if block == turns[-1].lab:
                study.check(rows.filter(pair=pair.name))  # a pair of today has the data of the first block alone
            facts = observer.facts(rows, known.facts if known else None)
            book.record(
                study.name,
                pair.name,
                turns,
                labs=max(labs, known.blocks if known else 0),
                facts=facts,
                settings=observer.settings,
                server_version=observer.server_version,
                datasets=observer.datasets,
            )
