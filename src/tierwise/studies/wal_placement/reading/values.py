"""The numbers of the WAL study's text."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from tierwise.analysis.model_interval import shifts_of
from tierwise.analysis.statistics import Estimate
from tierwise.report.estimates import ends, estimates
from tierwise.report.exhibit_registry import find
from tierwise.report.run import Run
from tierwise.report.session_time import records_sessions
from tierwise.report.text_template import Value
from tierwise.studies.wal_placement.reading.log_moves import PAIR, SQL, STUDY, WORKLOADS, WORTH, headline, moved

Ratios = Mapping[tuple[object, ...], Estimate]


def values(run: Run, pair: str = PAIR) -> dict[str, Any]:
    disks, cache, battery = (_over(run, pair, *one) for one in (("ssd", "hdd"), ("ssd", "cached"), ("cached", "hdd")))
    model, disks_model = ({key: _widened(pair, key, one) for key, one in ratios.items()} for ratios in (cache, disks))
    widened = any(model[key] != one for key, one in cache.items())
    delay = {key: one for key, one in estimates(run.query(SQL["delayed"], {"pair": pair}), ["wal", "clients"]).items() if one.interval}
    readers = run.manifest.reader_pair
    paced = moved(run, pair).filter(workload=WORKLOADS["hdd"]).drop_nulls("with_processors").with_columns(flag=pl.lit("none"))
    return {
        "answered": bool(disks or cache),
        "with_processors": next((one.value for one in estimates(paced, ["workload"], "with_processors").values()), None),
        "worth": WORTH,
        "recorded": records_sessions(run, STUDY, pair),
        **run.query(SQL["slowed"], {"pair": pair}).row(0, named=True),
        "evidence": str(run.evidence(pair)) if disks else None,
        "todays": [{"pair": one, **ends("ssd", _over(run, one, "ssd", "hdd"))} for one in run.manifest.todays_pairs],
        "readers_pair": readers,
        "disks_pays": _above(disks, WORTH),
        "battery_pays": _above(battery, WORTH),
        "cache_pays": _above(model, WORTH),
        "cache_costs": _below(model, 1.0),
        "cache_model_known": widened,
        **_ends_of("cache_model", model.values()),
        **_ends_of("disks_model", [one for key, one in disks_model.items() if one != disks[key]]),
        "delay_pays": _above(delay, WORTH),
        "delay_costs": _below(delay, 1.0),
        **ends("disks", disks),
        **ends("cache", cache),
        **ends("battery", battery),
        **ends("delay", delay),
        **_ends_of("delay", delay.values()),
        "delay_cases": len(delay),
        "delay_faster": sum((one.low or 0.0) > 1.0 for one in delay.values()),
        "delay_slower": sum((one.high or 1.0) < 1.0 for one in delay.values()),
        "delay_disks": any(place == "hdd" for place, _ in delay),
        **ends("here", _over(run, readers, "ssd", "hdd") if readers else {}),
    }


def _over(run: Run, pair: str, place: str, over: str) -> Ratios:
    ratios = estimates(find("tbl-wal-ratios", STUDY).rows(run, pair).frame, ["group_commit", "clients", "wal", "over"])
    return {key: one for key, one in ratios.items() if (key[0], *key[2:]) == ("off", place, over) and one.interval}


def _widened(pair: str, key: tuple[object, ...], one: Estimate) -> Estimate:
    """Return `one` with its model interval, where that was computed."""
    named = headline(pair, int(str(key[1])), str(key[2]), str(key[3]))
    shifts = named and shifts_of(named)
    if shifts is None or one.low is None or one.high is None:
        return one
    low, high = shifts.widened(one.low, one.high)
    return replace(one, low=low, high=high)


def _ends_of(name: str, ratios: Iterable[Estimate]) -> dict[str, Value]:
    intervals = [one.interval for one in ratios if one.interval]
    return {
        f"{name}_low": min((low for low, _ in intervals), default=None),
        f"{name}_high": max((high for _, high in intervals), default=None),
    }


def _above(ratios: Ratios, bound: float) -> bool:
    return bool(ratios) and all(one.low is not None and one.low > bound for one in ratios.values())


def _below(ratios: Ratios, bound: float) -> bool:
    return bool(ratios) and all(one.high is not None and one.high < bound for one in ratios.values())
