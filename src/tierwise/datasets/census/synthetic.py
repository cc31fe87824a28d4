"""A synthetic census file: seeded, of any size up to the real one's, and clustered as the real one is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.progress import Progress
from tierwise.datasets.census import places
from tierwise.datasets.census.columns import COLUMNS, COUNTS, ROWS, SCHEMA, STATES
from tierwise.datasets.census.facts import Ints, load_facts
from tierwise.datasets.census.households import StateBlock, apportion, lay_out
from tierwise.datasets.census.people import People

VERSION: Final = 1
LEAST_FRACTION: Final = 0.001


def counts_at(fraction: float) -> dict[int, int]:
    """Return rows by place of birth that a file of `fraction` has exactly, for the source's three states."""
    return {STATES[state]: round(count * fraction) for state, count in COUNTS.items()}


def state_batches(fraction: float, seed: int) -> Iterator[pa.RecordBatch]:
    """Yield the file in order, a batch for each state of residence; a fraction has fewer households in each, and these stay whole."""
    facts = load_facts()
    states = facts.states
    layout_seed, people_seed = np.random.SeedSequence(seed).spawn(2)
    rng = np.random.default_rng(layout_seed)
    rows = apportion(round(ROWS * fraction), [state.rows for state in states])
    wanted = counts_at(fraction)
    codes, shares = places.shares(states, rows, wanted)
    laid: list[StateBlock] = [lay_out(state, int(count), facts, rng) for state, count in zip(states, rows, strict=True)]
    pob = np.concatenate([places.draw(block, codes, share, facts, rng) for block, share in zip(laid, shares, strict=True)])
    places.make_exact(pob, wanted, rng)
    born = np.split(pob, np.cumsum(rows)[:-1])
    for block, where, block_seed in zip(laid, born, people_seed.spawn(len(states)), strict=True):
        columns = People(block, where, facts, np.random.default_rng(block_seed)).fill()
        yield pa.RecordBatch.from_arrays([_array(column.name, column.type, columns) for column in COLUMNS], schema=SCHEMA)


def write(parquet: Path, *, fraction: float, seed: int) -> dict[str, Any]:
    """Write a row group for each state; returns what provenance has to say of the file."""
    progress = Progress("census: generating", round(ROWS * fraction))
    with pq.ParquetWriter(parquet, SCHEMA, compression="zstd") as writer:
        for batch in state_batches(fraction, seed):
            writer.write_batch(batch, row_group_size=batch.num_rows)
            progress.step(batch.num_rows)
    facts = load_facts()
    return {
        "what": "synthetic rows drawn from distilled facts of the real file; no row is a real person's",
        "facts": "data/datasets/census1990.json",
        "pob_counts": {state: counts_at(fraction)[code] for state, code in STATES.items()},
        "assumed": list(facts.assumed),
    }


def _array(name: str, kind: str, columns: dict[str, Ints]) -> pa.Array:
    if name == "RECTYPE":
        return pa.repeat("P", len(columns["POB"]))
    if kind == "boolean":
        return pa.array(columns[name].astype(np.bool_))
    values = pa.array(columns[name].astype(np.int32))
    return values.cast(pa.string()) if kind == "text" else values
