"""How quickly the synthetic data sets are made, against DuckDB writing random columns of the same schema.

Run: ``make bench``, or ``python benchmarks/generators.py``. Both sides write Parquet, on two threads, and each begins every other pair; the
ratio depends little on the machine, as long as nothing else keeps its two processors busy. The sky must come at 300,000 rows a second or
more, and neither may take 2 GiB of memory.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.analysis.statistics import geometric_estimate
from tierwise.core.units import GIB, KIB, MIB
from tierwise.datasets.sky import synthetic as sky
from tierwise.datasets.sky.columns import PSC
from tierwise.datasets.survey import Survey
from tierwise.datasets.survey.rows import load_tables

SKY_FRACTION, SURVEY_FRACTION = 0.003, 0.05
REPEATS = 5
SKY_ROWS_PER_S = 300_000
MEMORY_BYTES = 2 * GIB

RANDOM = {
    pa.float64(): "random()",
    pa.float32(): "random()::REAL",
    pa.int64(): "(random() * 1e15)::BIGINT",
    pa.int32(): "(random() * 1e9)::INTEGER",
    pa.int16(): "(random() * 3e4)::SMALLINT",
    pa.date32(): "DATE '2000-01-01' + (random() * 1000)::INTEGER",
    pa.string(): "((random() * 1e4)::INTEGER)::VARCHAR",
}
"""A column of each type; the random texts are short, as most of the catalog's are."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="bench-generators-") as folder:
        slow = compare("sky", Path(folder), lambda path: sky.write(path, sky.plan(SKY_FRACTION, 1)), PSC.schema, least=SKY_ROWS_PER_S)
        survey = Survey(SURVEY_FRACTION, 1)
        compare("survey Detection", Path(folder), lambda path: survey.write("Detection", path), load_tables()["Detection"].schema)
    memory_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    print(f"largest memory of this process {memory_bytes / MIB:,.0f} MiB, DuckDB's included (bound: {MEMORY_BYTES / MIB:,.0f})")
    return int(slow or memory_bytes > MEMORY_BYTES)


def compare(name: str, folder: Path, write: Callable[[Path], object], schema: pa.Schema, least: float = 0.0) -> bool:
    """Print each pair and their ratio; whether the best rate is below `least`."""
    ours, theirs = folder / "ours.parquet", folder / "theirs.parquet"
    write(ours)  # the first run warms tables and code, and tells the rows
    rows = pq.read_metadata(ours).num_rows
    ways: dict[str, Callable[[], object]] = {"tierwise": lambda: write(ours), "DuckDB": lambda: random_columns(theirs, rows, schema)}
    ratios, rates, processor_s = [], [], []
    for repeat in range(REPEATS):
        took_s = {}
        for way in ways if repeat % 2 == 0 else reversed(ways):
            begun_s, used_s = time.perf_counter(), time.process_time()
            ways[way]()
            took_s[way] = time.perf_counter() - begun_s
            if way == "tierwise":
                processor_s.append(time.process_time() - used_s)
        rates.append(rows / took_s["tierwise"])
        ratios.append(took_s["tierwise"] / took_s["DuckDB"])
        print(f"{name}: {rows:,} rows, " + ", ".join(f"{way} {rows / took:,.0f} rows/s" for way, took in took_s.items()), flush=True)
    estimate, best, used_us = geometric_estimate(ratios), max(rates), min(processor_s) / rows * 1e6
    print(f"{name}: ratio of times {estimate.value:.2f}, 95 % interval {estimate.low:.2f} to {estimate.high:.2f}", flush=True)
    print(f"{name}: at best {best:,.0f} rows/s, {used_us:.2f} us of processor a row (bound: {least:,.0f} rows/s)", flush=True)
    return bool(best < least)


def random_columns(path: Path, rows: int, schema: pa.Schema) -> None:
    """Return what a database makes at its quickest: random values of the schema's types."""
    columns = ", ".join(f'{RANDOM[field.type]} AS "{field.name}"' for field in schema)
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


if __name__ == "__main__":
    sys.exit(main())
