"""The numbers of the pgbench study's text."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.causes import Cause
from tierwise.analysis.claim_rows import PUBLISHED, mode_in
from tierwise.analysis.judging import WITH_PROCESSORS
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, geometric_estimate, paired_ratios
from tierwise.report.estimates import ends, estimates
from tierwise.report.run import Run
from tierwise.report.session_time import records_sessions
from tierwise.report.sizes_of_data import entries_of, extrapolate, holds, ratios
from tierwise.report.text_template import Value
from tierwise.studies.pgbench_placement.reading.names import COORDINATES, GAINS, PAIR, SQL, STUDY, points

CLAIM: Final = "V1"  # the claim whose gain hangs on settings that the source leaves open
MOVES: Final = {"tables": "table_ssd", "indexes": "index_ssd"}
NEAR: Final = (0.8 * (1 - 1 / 1.4), 1.2 * (1 - 1 / 1.5))
"""Shares of the misses that are taken for the one by which indexes would gain 1.4 to 1.5 times, as published (a fifth is assumed)."""
Gains = dict[tuple[str, str, str], Estimate]  # size, placement, whether it is judged -> gain over everything on HDD


def values(run: Run, pair: str = PAIR) -> dict[str, Any]:
    rows = _rows(run, pair)
    here, readers = _gains(rows), run.manifest.reader_pair
    tables, indexes = here.get(("large", "table_ssd", "yes")), here.get(("large", "index_ssd", "yes"))
    all_on_ssd = here.get(("large", "all_ssd", "yes"))
    paced_rows = _rows(run, pair, WITH_PROCESSORS)
    paced = _gains(paced_rows)
    tables_paced = paced.get(("large", "table_ssd", "yes"))
    both = {end: _all_over_tables(every) for end, every in (("storage", rows), ("processors", paced_rows))}
    small = {key: one for key, one in here.items() if (key[0], key[2]) == ("small", "yes")}
    slowed = here.get(("small", "table_ssd", "no"))
    turned = estimates(run.query(SQL["turned"], _at(run, pair)), ["variant"])
    judged, record = rows.filter(size="large", judged="yes"), run.record(STUDY, pair)
    facts = record.facts if record else {}
    return {
        "answered": bool(tables and indexes),
        "evidence": str(run.evidence(pair)) if tables else None,
        "io_mode": str(mode_in(run.store, STUDY, pair)),
        "slowdown": round(judged["slowdown"][0]) if judged.height else None,
        "busy": rows.filter(flag="none")["cpu_share"].max(),
        "tables_first": _first("table_ssd", "index_ssd", here, paced),
        "indexes_first": _first("index_ssd", "table_ssd", here, paced),
        "indexes_pay": _pays(indexes),
        "all_pays": bool(all_on_ssd) and all(_pays(one) for one in both.values() if one),
        "small_pays": any(map(_pays, small.values())),
        "small_slowed": slowed.value if slowed else None,
        "prepared": "branches" in facts,
        "async_known": run.query(SQL["async"], _at(run, pair)).item(),
        "with_processors": tables_paced and tables_paced.value,
        "small_branches": facts.get("branches", facts.get("scales", {})).get("small"),
        "todays": [{"pair": one, **_moves("", _gains(_rows(run, one)))} for one in run.manifest.todays_pairs],
        "readers_pair": readers,
        **ends("small", small),
        **_moves("", here),
        **_parts("all", all_on_ssd),
        **_parts("turned", turned.get((PUBLISHED,))),
        **_parts("turned_paced", turned.get(("with-processors",))),
        **{key: value for end, one in both.items() for key, value in _parts(f"all_{end}", one).items()},
        "recorded": records_sessions(run, STUDY, pair),
        **_moves("here_", _gains(_rows(run, readers)) if readers else {}),
        **run.query(SQL["mechanism"], {**_at(run, pair), "minimum": MINIMUM_REPEATS}).row(0, named=True),
        **run.query(SQL["conditions"], {"pair": pair}).row(0, named=True),
        **_open(run),
        **_scale(run, pair),
        **_map(run, pair),
    }


def _at(run: Run, pair: str) -> dict[str, object]:
    return {"pair": pair, "io_mode": str(mode_in(run.store, STUDY, pair))}


def _rows(run: Run, pair: str, variant: str = PUBLISHED) -> pl.DataFrame:
    return run.query(SQL["gains"], {**_at(run, pair), "variant": variant})


def _all_over_tables(rows: pl.DataFrame) -> Estimate | None:
    """Return the rate of the large set with everything on the SSD over that with its tables there, by the ratio of the same replicate."""
    clean = rows.filter(size="large", judged="yes", flag="none")
    every, tables = (dict(clean.filter(placement=name).select("replicate", "ratio").rows()) for name in ("all_ssd", "table_ssd"))
    found = geometric_estimate(paired_ratios(every, tables))
    return found if found.interval else None


def _gains(rows: pl.DataFrame) -> Gains:
    found = estimates(rows.filter(pl.col("placement") != "all_hdd"), ["size", "placement", "judged"])
    return {(size, placement, judged): one for (size, placement, judged), one in found.items() if one.interval}


def _pays(one: Estimate | None, other: Estimate | None = None) -> bool:
    """Return whether the interval of `one` lies above 1, and above that of the `other` one, if it has one."""
    return one is not None and (one.low or 0.0) > max(1.0, other.high or 1.0 if other else 1.0)


def _first(placement: str, other: str, here: Gains, paced: Gains) -> bool:
    """Return whether `placement` gains more than the `other` one, also with the processors' own time where that is known."""
    ends = ([one.get(("large", name, "yes")) for name in (placement, other)] for one in (here, paced or here))
    return all(_pays(*end) for end in ends)


def _moves(prefix: str, found: Gains) -> dict[str, Value]:
    ones = {name: found.get(("large", placement, "yes")) for name, placement in MOVES.items()}
    return {part: value for name, one in ones.items() for part, value in _parts(f"{prefix}{name}", one).items()}


def _parts(name: str, one: Estimate | None) -> dict[str, Value]:
    return {f"{name}_{part}": getattr(one, key, None) for part, key in {"gain": "value", "low": "low", "high": "high"}.items()}


def _open(run: Run) -> dict[str, Value]:
    claim = run.verdict(CLAIM)
    mapped = claim.open_map if claim else None
    least, most = (round(share * len(mapped.points)) for share in mapped.share) if mapped else (None, None)
    decides = claim is not None and claim.cause is Cause.LEFT_OPEN
    return {"open_settings": len(mapped.points) if mapped else None, "open_least": least, "open_most": most, "open_decides": decides}


def _scale(run: Run, pair: str) -> dict[str, Value]:
    entries, found = entries_of(run, STUDY, pair, "tps"), dict[str, Value]()
    lines = {move: ratios(entries, "tps", "scale", of=placement, over="all_hdd") for move, placement in MOVES.items()}
    for move, line in lines.items():
        for name, scale in (("small", min(line, default=None)), ("large", max(line, default=None))):
            gain = None if scale is None else geometric_estimate(line[scale]).value
            found |= {f"scale_{name}": scale and round(scale), f"scale_{move}_{name}": gain}
    misses = [extrapolate(line, float(entries[0]["published_scale"])).miss for line in lines.values() if line]
    return {**found, "scale_holds": bool(misses) and all(map(holds, misses))}


def _map(run: Run, pair: str) -> dict[str, Value]:
    """Return where each move gains more, whether the simulation and pgbench agree, and what other uses gain."""
    known, live = points(run, pair), run.query(SQL["live_gains"], {"pair": pair})
    long = known.unpivot(GAINS, index=COORDINATES, variable_name="placement", value_name="simulated")
    moves = live.filter(pl.col("placement").is_in([*MOVES.values()]))
    both = long.join(moves, on=[*COORDINATES, "placement"]).drop_nulls("simulated")
    index, table, size = pl.col("index_ssd"), pl.col("table_ssd"), pl.col("index_to_memory")
    near = size.filter((1 - 1 / index).is_between(*NEAR), skew=0.0, writes=1.0)
    compared = known.select(
        map_points=pl.len(),
        map_tables=(table > index).sum(),
        map_indexes=(table <= index).sum(),
        map_random=pl.len().gt(0) & ((table > index) | (pl.col("layout") == "random-keys")).all(),
        map_size=size.filter(table <= index).min(),
        near_least=near.min(),
        near_most=near.max(),
        heat_points=pl.col("heat").count(),
        **{f"{name}_better": (pl.col(name) > index).sum() for name in ("dm_cache", "l2arc", "heat")},
    )
    errors = both.select(map_spots=pl.len(), map_error=(pl.col("simulated") / pl.col("gain") - 1).abs().max())
    first_by = (pl.col("placement").get(pl.col(name).arg_max()) for name in ("simulated", "gain"))
    ranked = both.group_by(COORDINATES).agg(moves=pl.len(), right=pl.Expr.eq(*first_by))
    right = ranked.filter(moves=len(MOVES))["right"]
    return {**compared.row(0, named=True), **errors.row(0, named=True), "map_ordered": right.len() > 0 and bool(right.all())}
