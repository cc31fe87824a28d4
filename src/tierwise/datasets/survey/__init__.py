"""The multi-epoch survey of the second battery: seeded, of any size, in tables as UKIDSS's and VISTA's archives have them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core import paths
from tierwise.core.progress import Progress
from tierwise.datasets.dataset import Dataset, cached, check_size, sha256_of
from tierwise.datasets.survey import rows
from tierwise.datasets.survey.fields import PER_FIELD, Field, Frames, observe, schedule
from tierwise.datasets.survey.rows import NAMES, TABLES, load_tables

VERSION: Final = 1  # the version of the rows, raised whenever the same seed gives other ones

SOURCES: Final = 100_000
"""The number of sources of the whole survey: assumed, so that Detection, more than sixty times as long, still fits a laptop's disk."""
LEAST_FRACTION: Final = 0.001
_GROUP_ROWS: Final = 1 << 15


class Survey:
    def __init__(self, fraction: float, seed: int):
        check_size("survey", fraction, seed, least=LEAST_FRACTION, why=f"of {SOURCES:,} sources")
        self.sources, self.seed = round(SOURCES * fraction), seed
        self.field_count = -(-self.sources // PER_FIELD)

    @cached_property
    def frames(self) -> Frames:
        return schedule(self.field_count, self.seed)

    @cached_property
    def fields(self) -> list[Field]:
        """Return every field, with what its exposures found: nine bytes a source and exposure."""
        bounds = [self.sources * number // self.field_count for number in range(self.field_count + 1)]
        return [
            observe(number, bounds[number], bounds[number + 1] - bounds[number], self.frames, self.seed)
            for number in range(self.field_count)
        ]

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        if name == "Multiframe":
            yield rows.multiframe(self.frames)
        elif name == "Detection":
            yield from self._detections()
        else:
            make = {"MergeLog": rows.merge_log, "Source": rows.source, "BestMatch": rows.best_match, "Variability": rows.variability}[name]
            yield from (make(field, self.frames) for field in self.fields)

    def _detections(self) -> Iterator[pa.RecordBatch]:
        places = [field.every_place for field in self.fields]
        done = [0] * self.field_count
        for number in self.frames.field.tolist():
            yield rows.detection(self.fields[number], self.frames, done[number], places[number])
            done[number] += 1

    def _row_groups(self, name: str, progress: Progress) -> Iterator[pa.Table]:
        held: list[pa.RecordBatch] = []
        for batch in self.batches(name):
            held.append(batch)
            if sum(one.num_rows for one in held) >= _GROUP_ROWS:
                yield pa.Table.from_batches(held)
                held = []
            progress.step()
        if held:
            yield pa.Table.from_batches(held)

    def write(self, name: str, parquet: Path) -> dict[str, Any]:
        schema, total = load_tables()[name].schema, len(self.frames.field) if name == "Detection" else self.field_count
        progress = Progress(f"survey: generating {name}", total)
        # Of columns that hold other values in each row a dictionary would be begun, and given up again, in every row group.
        with (
            pq.ParquetWriter(parquet, schema, compression="snappy", use_dictionary=False) as writer,
            ThreadPoolExecutor(max_workers=1) as beside,  # a row group is written while the next one is made
        ):
            writing = beside.submit(lambda: None)
            for group in self._row_groups(name, progress):
                writing.result()
                writing = beside.submit(writer.write_table, group)
            writing.result()
        return {"what": "synthetic rows; no source is a real one", "columns": "data/datasets/survey.toml", "assumed": list(TABLES.assumed)}


__all__ = ["NAMES", "SOURCES", "acquire", "load_tables"]


def acquire(*, fraction: float, seed: int, folder: Path) -> dict[str, Dataset]:
    """Make each table of the survey of `fraction` of `SOURCES` as a Parquet file in `folder`, or use it again; in order of `NAMES`."""
    survey = Survey(fraction, seed)
    digest = sha256_of(paths.data() / "datasets" / "survey.toml")
    request = {"source": "synthetic", "fraction": fraction, "seed": seed, "generator_version": VERSION, "tables_sha256": digest}
    return {
        name: cached(
            f"survey {name}",
            folder / f"survey-{fraction:g}-seed{seed}-{name.lower()}.parquet",
            {**request, "table": name},
            partial(survey.write, name),
        )
        for name in NAMES
    }
