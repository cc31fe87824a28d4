"""A synthetic Point Source Catalog: seeded, of any size up to the real one's, in the release's order."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.progress import Progress
from tierwise.datasets.dataset import check_size
from tierwise.datasets.sky import batch
from tierwise.datasets.sky.columns import PSC, ROWS
from tierwise.datasets.sky.density import BIN_DEG, CELLS, bins_joined, cell_counts, cell_densities
from tierwise.datasets.sky.facts import load_facts
from tierwise.datasets.sky.positions import scatter, tiles

VERSION: Final = 1
LEAST_FRACTION: Final = 1e-5
BATCH_ROWS: Final = 1 << 17  # about how many rows a batch has: batches end where a cell does
_THREADS: Final = 2


@dataclass(frozen=True)
class Sky:
    """The whole file as a plan: how many sources stand in each [joined bin, cell, bin within], and how densely."""

    counts: npt.NDArray[np.int64]
    per_deg2: npt.NDArray[np.float64]
    seed: int

    @property
    def joined(self) -> int:
        return int(self.counts.shape[2])

    def slices(self) -> Iterator[tuple[int, int, int]]:
        """Yield the first and the last cell (exclusive, in the file's order) of each batch, and the rows before it."""
        until = np.cumsum(self.counts.sum(axis=2).ravel())
        begin, before = 0, 0
        while begin < len(until):
            end = max(begin + 1, int(np.searchsorted(until, before + BATCH_ROWS)))
            yield begin, end, before
            begin, before = end, int(until[end - 1])

    def make(self, begin: int, end: int, before: int) -> pa.RecordBatch:
        rng = np.random.default_rng([self.seed, 1, begin])
        flat = self.counts.reshape(-1, self.joined)[begin:end]
        row, cell = divmod(begin, CELLS)
        ra, dec, found = scatter(flat, row * self.joined, cell, rng)
        density = self.per_deg2.reshape(-1, self.joined)[begin:end].ravel()[found]
        columns = batch.columns(ra, dec, density, first_row=before, tiles=tiles(self.seed), rng=rng)
        return pa.RecordBatch.from_arrays([columns[name] for name in PSC.columns], schema=PSC.schema)


def plan(fraction: float, seed: int) -> Sky:
    check_size("sky", fraction, seed, least=LEAST_FRACTION, why=f"of {ROWS:,} sources")
    density, joined = load_facts().density, bins_joined(fraction)
    counts = cell_counts(density, round(ROWS * fraction), joined)
    per_deg2 = cell_densities(density).reshape(counts.shape[0], joined, CELLS).swapaxes(1, 2)
    return Sky(counts, np.ascontiguousarray(per_deg2), seed)


def batches(sky: Sky) -> Iterator[pa.RecordBatch]:
    """Yield the file in order; two are made ahead, never more, so that a large file is not all in memory."""
    slices = sky.slices()
    with ThreadPoolExecutor(max_workers=_THREADS) as makers:
        coming = [makers.submit(sky.make, *one) for one in islice(slices, _THREADS)]
        while coming:
            yield coming.pop(0).result()
            coming += [makers.submit(sky.make, *one) for one in islice(slices, 1)]


def write(parquet: Path, sky: Sky) -> dict[str, Any]:
    """Write a row group for each batch; returns what provenance has to say of the file."""
    progress = Progress("sky: generating", int(sky.counts.sum()))
    with pq.ParquetWriter(parquet, PSC.schema, compression="snappy", use_dictionary=False) as writer:
        for rows in batches(sky):
            writer.write_batch(rows, row_group_size=rows.num_rows)
            progress.step(rows.num_rows)
    return {
        "what": "synthetic sources drawn from distilled facts of the real catalog; none is a real one",
        "facts": "data/datasets/twomass.toml",
        "declination_bin_deg": round(sky.joined * BIN_DEG, 1),
        "assumed": list(load_facts().assumed),
    }
