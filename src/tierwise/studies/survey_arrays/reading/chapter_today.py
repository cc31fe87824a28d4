"""The survey's queries on a whole catalog, then and now: at the published size on the devices that the pair of today has, simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import fmean
from typing import Any, Final

from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.devices.model import build
from tierwise.devices.parameter_bands import at_end
from tierwise.devices.spec import load_device
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count, number
from tierwise.report.prices import run_note
from tierwise.report.run import Run
from tierwise.report.values.todays import Now, now
from tierwise.simulate.table_reads import Reading, duration_s, parts_in_order, whole
from tierwise.studies.survey_arrays.reading.figures import NOT_HUNTED, hunted
from tierwise.studies.survey_arrays.reading.shown import ARRAYS

REQUEST_BYTES: Final = 128 * KIB
"""The largest request of PostgreSQL 18 by its io_combine_limit, in bytes."""
REQUESTS: Final = 64
"""Simulated requests of each reading, at the least."""
SEEDS: Final = 5
TABLE: Final = "twomass_psc"
DISKS: Final = "hdd"
FLASH: Final = "ssd_raid5"
"""The subsystems of then: those with a redundancy and space for the catalog."""
ENDS: Final = (True, False)
"""The quick and the slow end of a band."""


@dataclass(frozen=True)
class ScaledQuery:
    """What one query reads of a catalog of `table_bytes`, one reading after the other."""

    table_bytes: float
    readings: tuple[Reading, ...]


def asked(facts: Mapping[str, Any], query: str) -> ScaledQuery:
    """Return `query`, as printed, at the published size, from the study's facts: the pages that its plan reads, in proportion."""
    touched, table_bytes = facts["touched"][f"{query}, printed"], float(facts["published_bytes"])
    if touched["plan"][0].startswith("Seq Scan"):
        return ScaledQuery(table_bytes, (whole(table_bytes, request_bytes=REQUEST_BYTES),))
    larger = table_bytes / facts["size_bytes"][TABLE] * PAGE_BYTES
    heap = touched["pages"][TABLE] * larger
    index = (sum(touched["pages"].values()) - touched["pages"][TABLE]) * larger
    return ScaledQuery(
        table_bytes, (whole(index, request_bytes=PAGE_BYTES), parts_in_order(heap, table_bytes, request_bytes=REQUEST_BYTES))
    )


@cache
def seconds(device: str, one: ScaledQuery, quick: bool | None = None) -> float | None:
    """Return the mean seconds of `one` on `device`, in the middle of its band (over `SEEDS`) or at an end (of one seed); `None` where the
    catalog does not fit on it.
    """
    spec = load_device(device) if quick is None else at_end(load_device(device), quick=quick)
    if build(spec).capacity_bytes <= one.table_bytes:
        return None
    return fmean(
        sum(duration_s(build(spec, seed=seed), reading, one.table_bytes, requests=REQUESTS, seed=seed) for reading in one.readings)
        for seed in range(1, (SEEDS if quick is None else 1) + 1)
    )


def table(run: Run, pair: str) -> Table | Sentence:
    """Tabulate how many times as fast each query is with the whole catalog on flash: on the survey's arrays, and on the pair of today."""
    found, record = now(run), run.record(ARRAYS.study, pair)
    if found is None:
        return Sentence("This run has no pair of today: the profiles `quick` and `full` have one; `TIERS=today-aws` names another.")
    if record is None or not record.facts.get("published_bytes") or not all(hunted(run, pair, query) for query in ARRAYS.queries):
        return Sentence(NOT_HUNTED.format(pair))
    rows = [row for query in ARRAYS.queries if (row := _row(run, pair, found, query, asked(record.facts, query)))]
    if not rows:
        return Sentence(f"The catalog fits on no device of `{found.pair}`, or one of its tiers is a real disk.")
    slow, fast = found.devices.values()
    return Table(
        ["Query", "Then: disks, s", "SSDs, s", "Gain", f"{slow}, s", f"{fast}, s", "Gain today", "Over the band"],
        rows,
        f"The queries as printed, from empty caches, with the whole catalog at its published size on disks or on flash: then on "
        f"{ARRAYS.places[DISKS]} and {ARRAYS.places[FLASH]}, today on `{slow}` and `{fast}` of "
        f"`{found.pair}`. The devices' time alone for the "
        "pages that the live plan reads, one request at a time. *Over the band*: the gain while each parameter that no page states is at "
        f"either end. {run_note(run, Evidence.SIMULATED, len(rows) * SEEDS, 'seeds of queries')}",
        align="l" + "r" * 7,
    )


def _row(run: Run, pair: str, found: Now, query: str, one: ScaledQuery) -> list[str] | None:
    then = hunted(run, pair, query)[0]["seconds"]
    if len(found.devices) < 2 or not {DISKS, FLASH} <= then.keys():
        return None
    slow, fast = found.devices.values()
    now_s = seconds(slow, one), seconds(fast, one)
    ends = [(seconds(slow, one, on_slow), seconds(fast, one, on_fast)) for on_slow, on_fast in product(ENDS, ENDS)]
    if now_s[0] is None or now_s[1] is None:
        return None
    gains = [low / high for low, high in [now_s, *ends] if low is not None and high is not None]
    disks_s, flash_s = fmean(then[DISKS]), fmean(then[FLASH])
    return [
        ARRAYS.queries[query],
        *_told(disks_s, flash_s),
        *_told(now_s[0], now_s[1]),
        f"{number(min(gains))} to {number(max(gains))}",
    ]


def _told(disks_s: float, flash_s: float) -> Sequence[str]:
    """Both times and the gain."""
    return count(round(disks_s)), count(round(flash_s)), number(disks_s / flash_s)
