"""How many times as fast each query is with the whole catalog on flash: on the survey's arrays, and on the pair of today."""

from itertools import product
from statistics import fmean
from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, number
from tierwise.report.run import Run
from tierwise.report.values.todays import devices
from tierwise.studies.survey_arrays.reading.catalog import SEEDS, hunted, scaled, seconds
from tierwise.studies.survey_arrays.reading.names import DISKS, QUERIES, SIX, STUDY

UNIT: Final = "seeds of queries"
EVIDENCE: Final = "simulated"
TIMES: Final = ("then_disks_s", "then_flash_s", "slow_s", "fast_s")
SCHEMA: Final = {
    **dict.fromkeys(("query", "slow", "fast"), pl.String),
    **dict.fromkeys((*TIMES, "least", "most"), pl.Float64),
}
ENDS: Final = (True, False)
"""The quick and the slow end of a band."""


def then_and_now(run: Run, pair: str) -> pl.DataFrame:
    """Return the seconds on disks and flash, then and today, and the gain today over the bands of the devices; empty without a pair."""
    tiers, record = devices(run), run.record(STUDY, pair)
    rows = []
    if len(tiers) > 1 and record and record.facts.get("published_bytes"):
        slow, fast = tiers.values()
        for query in QUERIES:
            ways, one = hunted(run, pair, query), scaled(record.facts, query)
            slow_s, fast_s = seconds(slow, one), seconds(fast, one)
            if not ways or not {DISKS, SIX} <= ways[0]["seconds"].keys() or slow_s is None or fast_s is None:
                continue
            ends = [(seconds(slow, one, on_slow), seconds(fast, one, on_fast)) for on_slow, on_fast in product(ENDS, ENDS)]
            gains = [slow_s / fast_s, *(low / high for low, high in ends if low is not None and high is not None)]
            then = (fmean(ways[0]["seconds"][place]) for place in (DISKS, SIX))
            rows.append((query, slow, fast, *then, slow_s, fast_s, min(gains), max(gains)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


SOURCE: Final = then_and_now


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows.height * SEEDS}


def tabulate(rows: pl.DataFrame) -> Cells:
    slow, fast = rows.row(0)[1:3]
    cells = []
    for query, _, _, *times, least, most in rows.rows():
        then, today = (
            [count(round(disks_s)), count(round(flash_s)), number(disks_s / flash_s)] for disks_s, flash_s in (times[:2], times[2:])
        )
        cells.append([QUERIES[query], *then, *today, f"{number(least)} to {number(most)}"])
    header = ["Query", "Then: disks, s", "SSDs, s", "Speed-up", f"{slow}, s", f"{fast}, s", "Speed-up today", "Over the band"]
    return Cells(header, cells, "lrrrrrrr")
