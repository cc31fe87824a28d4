"""The order of trials: interleaved replicates, each replicate shuffled, the same for the same seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tierwise.bench.study import Cell, Trial

SEED_BITS: Final = 31  # the bits of a drawn seed that pgbench takes


def replicate_seed(seed: int, replicate: int) -> int:
    """Return the seed of everything that is drawn for `replicate` of a run with `seed`: data, keys, layout, platters, clients.

    The first replicate has the run's own. Those of the others have nothing in common with any of a run with another seed, so that runs can
    be put together.
    """
    return random.Random(f"{seed}/{replicate}").getrandbits(SEED_BITS) if replicate else seed


@dataclass(frozen=True, slots=True)
class Turn:
    sequence: int
    replicate: int
    trial: Trial[Cell]

    @property
    def testbed(self) -> int:
        """Return the replicate in whose testbed the turn is executed: its own, but for a trial that is not replicated."""
        return self.replicate if self.trial.replicated else 0


def interleave(trials: Sequence[Trial[Cell]], *, replicates: int, seed: int) -> list[Turn]:
    """Return every trial once in each replicate that it is measured in, replicates one after the other.

    Within a replicate the preparations come in random order, and the trials of one preparation in random order, so that
    drift over time falls on every cell alike; the order depends on `seed` alone, so that a resumed run goes on in it.
    """
    turns: list[Turn] = []
    for replicate in range(replicates):
        shuffle = random.Random(f"{seed}/{replicate}").shuffle
        measured = [trial for trial in trials if trial.most_replicates is None or replicate < trial.most_replicates]
        preparations = sorted({trial.preparation for trial in measured})
        shuffle(preparations)
        for preparation in preparations:
            group = sorted((trial for trial in measured if trial.preparation == preparation), key=lambda trial: trial.key)
            shuffle(group)
            for trial in group:
                turns.append(Turn(len(turns), replicate, trial))
    return turns


def in_testbed(turns: Sequence[Turn], replicate: int | None) -> list[Turn]:
    """Return those of `turns` that are executed in the testbed of `replicate`; all, if it is None."""
    return [turn for turn in turns if replicate in {None, turn.testbed}]


def in_real_time(trials: Sequence[Trial[Cell]], *, seed: int) -> tuple[Trial[Cell], ...]:
    """Return a sample of the virtual-time `trials`, drawn by `seed`, to be run in real time as well: one of each placement."""
    by_placement: dict[str, list[Trial[Cell]]] = {}
    for trial in sorted(trials, key=lambda trial: trial.key):
        if not trial.real_time:
            by_placement.setdefault(trial.placed or trial.preparation, []).append(trial)
    draw = random.Random(f"{seed}/real")
    return tuple(draw.choice(group).in_real_time() for _, group in sorted(by_placement.items()))
