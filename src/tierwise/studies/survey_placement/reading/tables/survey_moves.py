"""Each timed move of files to the SSDs and back, beside the same move simulated."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, difference, seconds, size
from tierwise.report.run import Run
from tierwise.studies.survey_placement.reading.moves import MOVED, moves_of, predicted_s

UNIT: Final = "moves there and back"
HEADER: Final = ["Moved", "Size", "There", "Back", "Devices' part", "Simulated", "Error, devices", "Error, whole"]
TIMES: Final = dict.fromkeys(("there_s", "back_s", "device_s", "simulated_s"), pl.Float64)
SCHEMA: Final = {"placement": pl.String, "size_bytes": pl.Int64, **TIMES, "repeats": pl.Int64}


def timed(run: Run, pair: str) -> pl.DataFrame:
    rows = [
        (
            one.placement,
            sum(one.sizes_bytes.values()),
            *(times.mean_s for times in (one.there, one.back, one.device_s)),
            predicted_s(run.store, pair, one),
            len(one.there.by_replicate),
        )
        for one in moves_of(run.store, pair)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


SOURCE: Final = timed


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows["repeats"].sum()}


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = []
    for placement, size_bytes, *times, _ in rows.rows():
        there_s, back_s, device_s, simulated_s = times
        found = [DASH, DASH, DASH]
        if simulated_s is not None:
            found = [seconds(simulated_s), difference(simulated_s / device_s), difference(simulated_s / (there_s + back_s))]
        cells.append([MOVED[placement], size(size_bytes), *map(seconds, times[:3]), *found])
    return Cells(HEADER, cells, "lrrrrrrr")
