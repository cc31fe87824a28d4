"""The survey's queries on a whole catalog, at the published size, simulated: what the run kept of them, and on any device."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any, Final

from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.parameter_bands import at_end
from tierwise.devices.spec import load_device
from tierwise.report.figures.places import simulated_ways
from tierwise.report.run import Run
from tierwise.simulate.table_reads import Reading, duration_s, parts_in_order, whole
from tierwise.studies.survey_arrays.reading.names import STUDY

REQUEST_BYTES: Final = 128 * KIB
"""The largest request of PostgreSQL 18 by its io_combine_limit, in bytes."""
REQUESTS: Final = 64
"""Simulated requests of each reading, at the least."""
SEEDS: Final = 5
TABLE: Final = "twomass_psc"


@dataclass(frozen=True)
class ScaledQuery:
    """What one query reads of a catalog of `table_bytes`, one reading after the other."""

    table_bytes: float
    readings: tuple[Reading, ...]


def scaled(facts: Mapping[str, Any], query: str) -> ScaledQuery:
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


def hunted(run: Run, pair: str, query: str, form: str = "printed") -> list[dict[str, Any]]:
    """Return what was simulated of `query` in `form` at the published size: the server's way of reading, the ideal one, then the others."""
    return simulated_ways(run, pair, STUDY, query, form)


def published_bytes(run: Run, pair: str) -> float | None:
    """Return the size of the published table in this server's format."""
    record = run.record(STUDY, pair)
    return record.facts.get("published_bytes") if record else None
