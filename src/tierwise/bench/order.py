"""The order of trials: interleaved blocks, each block shuffled, the same for the same seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tierwise.bench.study import Cell, Trial

SEED_BITS: Final = 31
"""The bits of a drawn seed: as many as pgbench takes."""


def block_seed(seed: int, block: int) -> int:
    """Return the seed of everything that is drawn for `block` of a run with `seed`: data, keys, layout, platters, clients.

    The first block has the run's own. Those of the others have nothing in common with any of a run with another seed, so that runs can be
    put together.
    """
    return random.Random(f"{seed}/{block}").getrandbits(SEED_BITS) if block else seed


@dataclass(frozen=True, slots=True)
class Turn:
    """One execution of one trial."""

    sequence: int
    block: int
    trial: Trial[Cell]

    @property
    def lab(self) -> int:
        """Return the block in whose lab the turn is executed: its own, but for a trial that is not replicated."""
        return self.block if self.trial.replicated else 0


def interleave(trials: Sequence[Trial[Cell]], *, blocks: int, seed: int) -> list[Turn]:
    """Return every trial once in each block, blocks one after the other.

    Within a block the preparations come in random order, and the trials of one preparation in random order, so that
    drift over time falls on every cell alike; the order depends on `seed` alone, so that a resumed run goes on in it.
    """
    turns: list[Turn] = []
    for block in range(blocks):
        shuffle = random.Random(f"{seed}/{block}").shuffle
        preparations = sorted({trial.preparation for trial in trials})
        shuffle(preparations)
        for preparation in preparations:
            group = sorted((trial for trial in trials if trial.preparation == preparation), key=lambda trial: trial.key)
            shuffle(group)
            for trial in group:
                turns.append(Turn(len(turns), block, trial))
    return turns


def also_waited(trials: Sequence[Trial[Cell]], *, seed: int) -> tuple[Trial[Cell], ...]:
    """Return a sample of the counted `trials`, drawn by `seed`, to be waited for as well: one of each placement."""
    by_placement: dict[str, list[Trial[Cell]]] = {}
    for trial in sorted(trials, key=lambda trial: trial.key):
        if not trial.waited:
            by_placement.setdefault(trial.placed or trial.preparation, []).append(trial)
    draw = random.Random(f"{seed}/waited")
    return tuple(draw.choice(group).also_waited() for _, group in sorted(by_placement.items()))
