"""The rows of a run as they would be with other devices behind its tiers: recorded requests replayed on those in place of the run's own."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.advisor.service import REPLAYS, SEED, NewDevice
from tierwise.analysis import heat
from tierwise.analysis.heat import Recorded
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import PAGE_BYTES
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import DeviceSpec, load_device
from tierwise.simulate.replay import Access, Trace, lay_out_tiers, replay

RETIMED: Final = (files("tierwise.advisor") / "retime.sql").read_text(encoding="utf-8")


def retime(connection: duckdb.DuckDBPyConnection, run_folder: Path, pair: str, devices: Mapping[str, str]) -> None:
    """Give the rows of `pair` in the view `timings` of `connection` the times that they would have with `devices`, and call them simulated.

    A row's device time is multiplied by what its recorded requests take on `devices` (tier -> file of ``data/devices``), over what they
    take on the run's own; both are replayed from the same layout. Rows of which nothing was recorded are left out, but for those that
    requested nothing from the tiers of `devices`. The study's views must not be there yet. A tier that is no emulated one of the pair is
    refused, and a pair on which nothing was recorded.
    """
    steps = list(steps_on(connection, run_folder, pair))
    if not steps:
        why = f"run {run_folder.name} recorded no requests on pair {pair}"
        raise MissingError("times with other devices", why=why, remedy="use a study that records its requests on emulated tiers")
    for step in steps:
        _check(step.tiers, devices)
    chosen = {tier: load_device(name) for tier, name in devices.items()}
    with_factors(connection, pair, list(devices), factors_of(steps, [step.device_s(chosen) for step in steps]))


@dataclass(frozen=True)
class Step:
    """What was recorded of one step of a trial, on tiers that a pair's file describes, whose seeks were stretched."""

    study: str
    trial: str
    query: Recorded
    tiers: Mapping[str, Mapping[str, Any]]
    stretch: float

    @cached_property
    def own_s(self) -> float:
        """Return seconds that the requests take on the run's own devices, without the host's time between them."""
        return self.device_s({})

    def device_s(self, instead: Mapping[str, DeviceSpec], scale: float = 1.0) -> float:
        """Return the same with the devices `instead` of those of their tiers, and seeks stretched `scale` times as far."""
        touched = set(self.query.requests["tier"])
        if scale == 1.0 and instead and not touched & set(instead):
            return self.own_s
        return _device_s(self.query, self.tiers, self.stretch * scale, instead)


def steps_on(connection: duckdb.DuckDBPyConnection, run_folder: Path, pair: str) -> Iterator[Step]:
    """Yield every step on `pair` that the run in `run_folder` recorded the requests of."""
    trials = connection.execute("select distinct study, trial from timings where pair = ? order by all", [pair]).fetchall()
    for study, trial in trials:
        record, queries = heat.record_of(connection, study, pair), heat.recorded(run_folder, study, pair, trial)
        if record is not None:
            yield from (Step(study, trial, query, record.pair.get("tiers") or {}, record.stretch) for query in queries or ())


def factors_of(steps: Sequence[Step], other_s: Sequence[float]) -> pl.DataFrame:
    """Return how many times as long as on the run's own devices the requests of each of `steps` take: study, trial, step, factor."""
    found = [
        {"study": step.study, "trial": step.trial, "step": step.query.step, "factor": other / step.own_s}
        for step, other in zip(steps, other_s, strict=True)
        if step.own_s > 0
    ]
    return pl.DataFrame(found)


def with_factors(connection: duckdb.DuckDBPyConnection, pair: str, tiers: Sequence[str], factors: pl.DataFrame) -> None:
    """Multiply the device time of the rows of `pair` by `factors` (`factors_of`), where the devices of `tiers` are others."""
    connection.register("times_as_long", factors.to_arrow())
    for statement in RETIMED.split(";\n"):
        if statement.strip():
            given = {"pair": pair, "tiers": list(tiers)}
            connection.execute(statement, {name: value for name, value in given.items() if f"${name}" in statement})
    connection.unregister("times_as_long")


def _check(tiers: Mapping[str, Mapping[str, Any]], devices: Mapping[str, str]) -> None:
    emulated = [name for name, spec in tiers.items() if "device" in spec]
    for tier in devices:
        if tier not in emulated:
            raise InputError("DEVICES", value=tier, rule=f"must be an emulated tier of the pair: {', '.join(emulated) or 'none'}")


def _device_s(query: Recorded, tiers: Mapping[str, Mapping[str, Any]], stretch: float, instead: Mapping[str, DeviceSpec]) -> float:
    """Replay the requests of `query` without the host's time between them: seconds, with the devices `instead` of those of `tiers`."""
    requests = query.requests
    placement = dict(requests.select("relation", "tier").unique().rows())
    builds = {
        tier: NewDevice(instead.get(tier) or load_device(str(tiers[tier]["device"])), SEED, stretch * float(tiers[tier].get("scale", 1.0)))
        for tier in set(placement.values())
    }
    pages = pl.max_horizontal(pl.col("relation_pages").max(), pl.col("page").max() + 1)
    sizes = dict(requests.group_by("relation").agg(pages * PAGE_BYTES).rows())
    addresses = lay_out_tiers(sizes, placement)
    rows = requests.select("relation", "page", "size_bytes", "operation", "after").rows()
    accesses = [Access(relation, page, size, Operation[operation.upper()], 0.0, after) for relation, page, size, operation, after in rows]
    trace = Trace(accesses, tail_after=query.tail_after)
    starts_s = (random.Random(number).random() for number in range(REPLAYS))
    return fmean(
        replay(trace, placement, {tier: build() for tier, build in builds.items()}, addresses, started_s=start_s).elapsed_s
        for start_s in starts_s
    )
