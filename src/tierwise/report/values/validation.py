"""What the models and the emulator were compared with, as committed, and the numbers of the page on it."""

from collections.abc import Sequence
from datetime import date
from statistics import mean
from typing import Any, Final

import polars as pl

from tierwise.analysis.causes import Cause
from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import load_claims
from tierwise.analysis.rates import compare_rates, load_rates
from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.core.text_files import read_json
from tierwise.report.formats import MINUS, NBSP
from tierwise.report.run import Run
from tierwise.report.text_template import Value

MODELS: Final = ("data/validation/models.json", "scripts/validate_models.py")
EMULATOR: Final = ("data/validation/emulator.json", "benchmarks/emulator.py")
MAP: Final = ("data/validation/map.json", "scripts/validate_map.py")
ADVICE: Final = ("data/validation/advice.json", "scripts/validate_advice.py")
CACHE: Final = ("data/validation/cache.json", "scripts/validate_cache.py")
SMALL: Final = 0.15  # of a transaction's time: moves that save less should be within the noise, or in the range
POLICIES: Final = ("smq", "bcache", "l2arc")
PARTS: Final = ("first_half", "second_half", "own_electronics")  # of a drive's trace
LOAD: Final = ("subject", "operation", "bytes", "depth", "jobs", "unit", "measured", "expected", "limit", "met")
WHOLE: Final = "own_electronics"  # the part of a drive's trace with the drive's own electronics, to which nothing was fitted


def load(place: str, maker: str) -> dict[str, Any]:
    path = paths.home() / place
    if not path.exists():
        raise MissingError(place, why="the page on the models shows it", remedy=f"python {maker}")
    found: dict[str, Any] = read_json(path)
    return found


def gain_per_dollar(size: dict[str, Any], relation: str) -> float:
    """Return the device time that a placement of `relation` on SSD saves for each dollar a month that it costs more."""
    saved_s, dearer = size["disk_s"] - size[f"{relation}_ssd_s"], size[f"{relation}_ssd_cost"] - size["disk_cost"]
    return float(saved_s / dearer)


def measured_s(row: dict[str, Any]) -> float:
    """Return a transaction's mean time: the mean of all its measurements."""
    return mean(float(one["seen_s"]) for one in [row, *row.get("earlier", [])])


def moves(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each measured move: what share of a transaction's time it saved, how far `off` the prediction was, and whether it `held`."""
    found: list[dict[str, Any]] = []
    bases = {(row["load"], row["open"]): row for row in rows if row["placement"] == []}
    for row in (row for row in rows if row["placement"]):
        base = bases[row["load"], row["open"]]
        base_s, seen_s = measured_s(base), measured_s(row)
        saved_s = base_s - seen_s
        of = {"load": f"{row['load']}, at {100 * row['open']:.0f}\u00a0% of capacity" if row["open"] else row["load"]}
        saved, off = saved_s / base_s, row["said_s"] / saved_s - 1
        of |= {"saved": saved, "medium": 0.2 <= saved <= 0.8, "off": off, "close": abs(off) <= 0.2}
        left = (row["watched_s"] - row["said_s"]) / seen_s
        of |= {"left": 1 / 1.5 <= left <= 1.5, "held": row["predicted_s"]["low"] <= saved_s <= row["predicted_s"]["high"]}
        of["half_width"] = (row["predicted_s"]["high"] - row["predicted_s"]["low"]) / 2 / saved_s
        of["within_noise"] = row["said_s"] <= row["noise"] * row["watched_s"]
        found.append(of | {"place": (row["load"], row["open"])})
    return found


def drives(_run: Run) -> pl.DataFrame:
    return pl.DataFrame([{**drive[part], "drive": drive["drive"], "part": part} for drive in load(*MODELS)["drives"] for part in PARTS])


def caches(_run: Run) -> pl.DataFrame:
    return pl.DataFrame(load(*MODELS)["caches"])


def cache_rows(_run: Run) -> pl.DataFrame:
    seconds = (pl.col(name).struct.field("seconds") for name in POLICIES)
    return pl.DataFrame(load(*CACHE)["rows"]).with_columns(fastest_s=pl.min_horizontal("tablespace_s", *seconds))


def emulator_loads(_run: Run) -> pl.DataFrame:
    """Return the loads with an expected time (s) or bandwidth (B/s)."""
    held = [line for line in load(*EMULATOR)["rows"] if line["expected"] is not None]
    return pl.DataFrame([[line[name] for name in LOAD] for line in held], schema=LOAD, orient="row", infer_schema_length=None)


def map_points(_run: Run) -> pl.DataFrame:
    return pl.DataFrame(load(*MAP)["rows"])


def map_times(_run: Run) -> pl.DataFrame:
    return pl.DataFrame(load(*MAP)["times"])


def memory_map(_run: Run) -> pl.DataFrame:
    """Return misses, times and costs by the size of the RAM; `index_over_table`: what a dollar gains with the index over the table."""
    rows = load(*MAP)["maps"]
    return pl.DataFrame([row | {"index_over_table": gain_per_dollar(row, "index") / gain_per_dollar(row, "table")} for row in rows])


def measured_moves(_run: Run) -> pl.DataFrame:
    return pl.DataFrame([{name: value for name, value in one.items() if name != "place"} for one in moves(load(*ADVICE)["rows"])])


def moves_by_load(rows: pl.DataFrame) -> pl.DataFrame:
    found = []
    for (name,), own in rows.group_by(["load"], maintain_order=True):
        medium = own.filter("medium")
        ends = dict.fromkeys(f"{100 * end:.0f}" for end in (min(own["saved"]), max(own["saved"])))
        saved = f"{' to '.join(ends).replace('-', MINUS)}{NBSP}%"
        near = {"medium": medium.height, "close": medium["close"].sum(), "worst": max(medium["off"], key=abs, default=None)}
        found.append({"load": name, "moves": own.height, "saved": saved, **near, "held": own["held"].sum()})
    return pl.DataFrame(found)


def left_out(_run: Run) -> pl.DataFrame:
    """Return the stated times that no rate compares."""
    sources = load_claims().sources
    return pl.DataFrame([{**one.model_dump(), "source": sources[one.source].author} for one in load_rates().left_out])


def rates(run: Run) -> pl.DataFrame:
    sources = load_claims().sources
    found = [
        {
            **one.rate.model_dump(include={"name", "stated", "published", "least", "unit", "why"}),
            "source": sources[one.rate.source].author,
            "claims": ", ".join(one.rate.claims),
            "ours": one.ours,
            "factor": one.factor,
            "met": one.met,
            "evidence": str(run.evidence(sources[one.rate.source].pair) or ""),
        }
        for one in compare_rates(Rows(run.store, run.manifest))
    ]
    return pl.DataFrame(found, infer_schema_length=None)


def values(run: Run, pair: str = "") -> dict[str, Value]:  # noqa: ARG001  of all pairs
    models, emulator = load(*MODELS), load(*EMULATOR)
    means = [abs(drive[WHOLE]["mean_error"]) for drive in models["drives"]]
    held = [line["met"] for line in emulator["rows"] if line["expected"] is not None and line["met"] is not None]  # as in the table
    memory_map = load(*MAP)
    points, times, sizes = memory_map["rows"], memory_map["times"], memory_map["maps"]
    cached = load(*CACHE)
    reading = [row for row in cached["rows"] if row["smq"]["warm_s"]]  # a log is not read
    beside = emulator["mount_over_empty_server"]
    measured = load(*ADVICE)["rows"]
    latest = [{name: value for name, value in row.items() if name != "earlier"} for row in measured]
    every, alone = moves(measured), moves(latest)
    medium, last = ([one for one in each if one["medium"]] for each in (every, alone))
    small, last_small = ([one for one in each if one["saved"] < SMALL] for each in (every, alone))
    return {
        "drives": len(means),
        "worst_mean": max(means),
        "mean_of_means": sum(means) / len(means),
        "held": len(held),
        "met": sum(held),
        "emulator_note": emulator.get("note"),
        "measured": date.fromisoformat(emulator["measured_at"][:10]),
        "cores": emulator["host"]["cores"],
        "server_ratio": beside["ratio"] if beside else None,
        "points": len(points),
        "points_held": sum(row["held"] for row in points),
        "worst_point": max(abs(row["replayed_misses"] / row["reads"] - 1) for row in points if row["reads"]),
        "moves": len(every),
        "moves_held": sum(one["held"] for one in every),
        "medium": len(medium),
        "medium_close": sum(one["close"] for one in medium),
        "medium_left": sum(one["left"] for one in medium),
        "repeated": len({row["load"] for row in measured if "earlier" in row and row["open"] is None}),
        "last": len(last),
        "last_close": sum(one["close"] for one in last),
        "small": len(small),
        "small_right": sum(one["held"] or one["within_noise"] for one in small),
        "last_small": len(last_small),
        "last_small_right": sum(one["held"] or one["within_noise"] for one in last_small),
        "kept": sum(row.get("earlier_watch", False) for row in measured),
        "times": len(times),
        "times_held": sum(row["held"] for row in times),
        "orders_right": sum(row["order_right"] for row in times),
        "worst_time": max(abs(row["worst"]) for row in times),
        "map_sizes": len(sizes),
        "index_first": sum(row["index_ssd_s"] < row["table_ssd_s"] for row in sizes),
        "index_per_dollar": sum(gain_per_dollar(row, "index") > gain_per_dollar(row, "table") for row in sizes),
        "map_prices": date.fromisoformat(memory_map["prices"]),
        "cache_sizes": len(reading),
        "caches_faster": sum(min(row[name]["seconds"] for name in POLICIES) < row["tablespace_s"] for row in reading),
        "cache_seed": cached["seed"],
        "cache_policies": len({row["policy"] for row in cached["check"]}),
        "cache_off": max(abs(row["hit_ratio"] - row["simulated"]) for row in cached["check"]),
        "missed": sum(claim.cause is Cause.STATED_RATE for claim in run.verdicts),
    }
