"""The numbers of the census study's text; shares of time that are saved are in percent."""

from collections.abc import Mapping
from statistics import median
from typing import Any, Final

import polars as pl

from tierwise.advisor.ranking import Choice, choose
from tierwise.advisor.workload import workload_of
from tierwise.analysis.claim_rows import PUBLISHED, mode_in, mode_of
from tierwise.analysis.statistics import Estimate, enough, geometric_estimate
from tierwise.core.data_sets import whole_rows
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import MIB
from tierwise.core.vocabulary import IoMode
from tierwise.report.estimates import ends, estimates, least_most
from tierwise.report.formats import between, interval
from tierwise.report.run import Run
from tierwise.report.sizes_of_data import entries_of, extrapolate, holds, ratios
from tierwise.report.text_template import Value
from tierwise.report.words import VARIANTS, Truth, saves, variants
from tierwise.studies.index_placement.reading.names import BOTH, INDEX, PAIR, SQL, STUDY, TABLE, clean


def errors(run: Run, pair: str) -> list[float]:
    """Return the median error of each predicted trial over its replicates, of those that were also emulated often enough."""
    seen = {(trial, replicate): time_s for trial, replicate, time_s in run.query(SQL["emulated"], {"study": STUDY, "pair": pair}).rows()}
    found, record = [], run.record(STUDY, pair)
    for one in (record.facts.get("predictions") or []) if record else []:
        predicted = zip(one["replicates"], one["predicted_s"], strict=True)
        ratios = [time_s / seen[one["trial"], replicate] for replicate, time_s in predicted if (one["trial"], replicate) in seen]
        if enough(len(ratios)) and one["trial"] != one["reference"]:
            found.append(median(ratios) - 1)
    return found


SAVING: Final = "M1"  # the claim that an index on the SSD saves most of a cold count's time
AGREEMENT: Final = 0.1  # how near a predicted time should come to the emulated one (assumed)
CHOICES: Final = {"indexes ssd": "index", "tables ssd": "table", "all ssd": "both"}
FLORIDA: Final = "12"  # the code of Florida as a place of birth, by which the manifest names its statement
Gains = Mapping[tuple[Any, ...], Estimate]


def values(run: Run, pair: str = PAIR) -> dict[str, Any]:
    own, readers = _gains(run, pair), run.manifest.reader_pair
    here, io_mode = _gains(run, readers), mode_in(run.store, STUDY, pair)
    facts: Mapping[str, Any] = record.facts if (record := run.record(STUDY, pair)) else {}
    through = run.query(SQL["through"], {"pair": pair, "io_mode": io_mode})
    remedies = _estimates(run.query(SQL["remedies"], {"pair": pair, "io_mode": io_mode}), ["variant", "state"])
    moved = _estimates(run.query(SQL["indexes"], {"pair": pair, "io_mode": io_mode}), ["variant", "row"])
    return {
        "answered": bool(_of(own, "cold", TABLE)),
        "evidence": str(run.evidence(pair) or ""),
        "io_mode": str(io_mode),
        **_advice(run, pair),
        "todays": [_today(run, one) for one in run.manifest.todays_pairs],
        "readers_pair": readers,
        **_saved("index", _of(own, "cold", INDEX)),
        **ends("table", _of(own, "cold", TABLE)),
        **ends("both", _of(own, "cold", BOTH)),
        **_saved("cross", _of(own, "cross", INDEX)),
        **_saved("hot", _of(own, "hot", INDEX)),
        **least_most("index_pages", through["pages"]),
        **least_most("index_time", through["time"]),
        **least_most("heap_saved", through["heap_saved"]),
        **ends("bitmap", _of(remedies, "bitmap")),
        **ends("bitmap_index", _of(moved, "bitmap")),
        **ends("second", _of(moved, "two-indexes")),
        **ends("scan", _of(remedies, "index-only")),
        **ends("memory", _of(remedies, "heap-cached")),
        **_hunt(run),
        **_planner(facts),
        **_data(run, pair, facts),
        **_scale(run, pair),
        **_predicted(run, pair),
        **_saved("here_index", _of(here, "cold", INDEX)),
        **ends("here_table", _of(here, "cold", TABLE)),
    }


def _today(run: Run, pair: str) -> dict[str, Value]:
    gains = _gains(run, pair)
    return {"pair": pair, **_saved("index", _of(gains, "cold", INDEX)), **ends("table", _of(gains, "cold", TABLE))}


def _gains(run: Run, pair: str | None) -> Gains:
    return _estimates(clean(run, pair or "", run.query(SQL["gains"], {"pair": pair or ""})), ["cache", "placement", "row"])


def _estimates(rows: pl.DataFrame, keys: list[str]) -> Gains:
    return {key: one for key, one in estimates(rows.with_columns(flag=pl.lit("none")), keys, "speedup").items() if one.interval}


def _of(gains: Gains, *keys: str) -> Gains:
    return {key: one for key, one in gains.items() if key[: len(keys)] == keys}


def gains_by_variant(rows: pl.DataFrame) -> pl.DataFrame:
    """Return variant, what it differs in, and the range over the states of its speed-ups by ``cold`` and by ``cross`` counts."""
    found: dict[str, dict[str, list[Estimate]]] = {}
    for (variant, cache, _), one in estimates(rows, ["variant", "cache", "row"], "speedup").items():
        found.setdefault(variant, {"cold": [], "cross": []})[cache].append(one)
    ordered = sorted(found.items(), key=lambda item: -max((one.value or 0.0 for one in item[1]["cold"]), default=0.0))
    columns = ("variant", "differs", "cold", "cross")
    return pl.DataFrame([(*VARIANTS[variant], *map(_range, by_cache.values())) for variant, by_cache in ordered], columns, orient="row")


def _range(found: list[Estimate]) -> str:
    values, ends = [one.value for one in found if one.value is not None], [end for one in found for end in one.interval or ()]
    return f"{between(min(values), max(values), 3)} ({interval(min(ends), max(ends))})" if ends else ""


def _saved(name: str, gains: Gains) -> dict[str, Value]:
    """Return the range of the saved percents of time, and whether every interval lies above nothing."""
    pays = bool(gains) and all((one.low or 0.0) > 1 for one in gains.values())
    return {f"{name}_pays": pays, **least_most(f"{name}_saved", (100 - 100 / (one.value or 1.0) for one in gains.values()))}


def _advice(run: Run, pair: str) -> dict[str, Value]:
    try:
        best = choose(workload_of(run.store, run.folder, study=STUDY, pair=pair, name="cold counts"))
    except (InputError, MissingError):  # the pair was not measured, or too few of its replicates are clean
        best = Choice()
    return {"advised": CHOICES[best.gain.placement] if best.gain else None, "unclear": best.unclear}


def _hunt(run: Run) -> dict[str, Value]:
    """Return in how many variants the published saving is there, each by the I/O mode that decides, else by direct I/O."""
    claim = run.verdict(SAVING)
    limit = claim.bounds[1] if claim and claim.bounds else None
    others = [one for one in variants(claim) if one.variant != PUBLISHED] if claim else []
    modes: dict[str, list[IoMode]] = {}
    for one in others:
        modes.setdefault(one.variant, []).append(one.io_mode or IoMode.DIRECT)
    truth = {one.variant: saves(one, limit or 0.0) for one in others if one.io_mode == mode_of(STUDY, modes[one.variant])}
    saving = [name for name, found in truth.items() if found is Truth.TRUE]
    unclear = sum(found is Truth.UNKNOWN for found in truth.values())
    return {"variants": len(truth), "saving": len(saving), "unclear_variants": unclear, "only_cached": saving == ["asymmetric"]}


def _planner(facts: Mapping[str, Any]) -> dict[str, Value]:
    planner = facts.get("planner") or {}
    florida = (planner.get("published_switches") or {}).get(FLORIDA) or {}
    return {
        **{f"planner_{name}": florida.get(name) for name in ("rows", "total_cost", "found_rows")},
        **least_most("planner_implied", [one.get("correlation") for one in (planner.get("explained") or {}).values()]),
        "planner_correlation": planner.get("correlation"),
    }


def _data(run: Run, pair: str, facts: Mapping[str, Any]) -> dict[str, Value]:
    record, found, pages = run.manifest.data("census", STUDY), run.query(SQL["counts"], {"pair": pair}), facts.get("cold_pages") or {}
    sizes = {name: facts.get("size_bytes", {}).get(name) for name in ("census", "pob")}
    return {
        "rows": record and record.rows,
        "share": record and record.rows / whole_rows("census"),
        "synthetic": record is not None and run.manifest.source_of(record) == "synthetic",
        **least_most("held", (rows / pages[state]["census"] for state, rows in found.rows() if pages.get(state, {}).get("census"))),
        **{f"{name}_mib": size and size / MIB for name, size in sizes.items()},
    }


def _scale(run: Run, pair: str) -> dict[str, Value]:
    if not (entries := entries_of(run, STUDY, pair, "seconds")):
        return dict.fromkeys(("scale_rows", "scale_saved", "scale_small_rows", "scale_small_saved", "scale_holds"))
    line = ratios(entries, "seconds", "rows", of="ssd", over="hdd")
    least, most = min(line), max(line)
    saved = {size: 100 - 100 * (geometric_estimate(line[size]).value or 1.0) for size in (least, most)}
    small = {"scale_small_rows": round(least), "scale_small_saved": saved[least]}
    miss = extrapolate(line, float(entries[0]["published_rows"])).miss
    return {**small, "scale_rows": round(most), "scale_saved": saved[most], "scale_holds": holds(miss)}


def _predicted(run: Run, pair: str) -> dict[str, Value]:
    found = errors(run, pair)
    return {"predicted": len(found), "predicted_within": sum(abs(error) <= AGREEMENT for error in found), "agreement": 100 * AGREEMENT}
