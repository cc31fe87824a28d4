"""What the first page shows: the placements of every workload, the one that is advised, and the numbers of its text."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import polars as pl

from tierwise.advisor.ranking import INDEXES, NOTHING, SHORT, SPEEDUP, Choice, Gain, choice_of, choose, gains_of, headline, placed
from tierwise.advisor.workload import FAST
from tierwise.analysis.model_interval import Key, shifts_of
from tierwise.analysis.quality import never_accepted
from tierwise.analysis.rules import DECIDED
from tierwise.analysis.statistics import Estimate, estimable
from tierwise.analysis.verdicts import ADVICE, changed_since
from tierwise.calculator.market import local_ssds
from tierwise.report import study_registry
from tierwise.report.estimates import estimates
from tierwise.report.formats import NO_INTERVAL, interval
from tierwise.report.run import Run, book_of
from tierwise.report.study_registry import named
from tierwise.report.text_template import Value, shared_text
from tierwise.report.values import verdicts
from tierwise.report.values.workloads import costs, named_workloads, title

LOG: Final = "write-ahead log"  # placement of a workload that only moves the write-ahead log
NO_TABLE: Final = "table not measured"
INCOMPLETE: Final = "everything not measured"
TOO_SMALL: Final = "too small"
UNDECIDED: Final = (NO_INTERVAL, NO_TABLE, INCOMPLETE, TOO_SMALL)
"""Why a workload has no advice: all replicates took the same time, no table moved, or not both together, or the profile has few data."""
RATIOS: Final = ("ratio", "with_processors")  # of commit rates: of the storage alone, and with the processors' own time
DIGITS: Final = 12  # digits of a ratio that are kept: threads add in any order, and the last ones differ from run to run
SCHEMA: Final[dict[str, Any]] = {
    **dict.fromkeys(("run", "pair", "evidence", "io_mode", "workload", "queries"), pl.String),
    "slowdown": pl.Float64,
    "placement": pl.String,
    **dict.fromkeys(("advised", "unclear", "too_small"), pl.Boolean),
    "replicate": pl.Int64,
    "speedup": pl.Float64,
    "with_processors": pl.Float64,
}


def speedups(run: Run, only: str | None = None) -> pl.DataFrame:
    """Return a row a workload, placement and replicate: time on disks over time with it, on the pair `only` or all but today's."""
    rows = []
    for name, workload in named_workloads(run, only):
        gains = gains_of(workload)
        choice = Choice() if workload.too_small else choose(workload)
        for gain in gains:
            of = (run.run_id, workload.pair, str(workload.evidence), workload.io_mode, name, ", ".join(workload.queries), workload.slowdown)
            what = (placed(gain.placement), *_standing(choice, gain.placement), workload.too_small)
            paced = {one: 1 / ratio for one, ratio in gain.paced.items()}
            rows += [(*of, *what, one + 1, round(1 / ratio, DIGITS), paced.get(one)) for one, ratio in gain.ratios.items()]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def log_moves(run: Run, only: str | None = None) -> pl.DataFrame:
    parts = [pl.DataFrame(schema=SCHEMA)]
    for _, module in study_registry.named("log_moves"):
        for _, rows in estimable(module.moved(run, only), ["workload"]).group_by("workload", maintain_order=True):
            key = Key(rows["pair"][0], SPEEDUP, rows["workload"][0], LOG, "", rows["io_mode"][0])
            ratios, paced = ({of: 1 / ratio for of, ratio in rows.select("replicate", one).drop_nulls().rows()} for one in RATIOS)
            gain = Gain(LOG, ratios, shifts=shifts_of(key), paced=paced, worth=module.WORTH)
            own = {"run": run.run_id, "queries": LOG, "placement": LOG, "too_small": False}
            own["advised"], own["unclear"] = _standing(choice_of([gain]), LOG)
            found = rows.with_columns(pl.col("replicate") + 1, speedup=pl.col("ratio"), **{key: pl.lit(one) for key, one in own.items()})
            parts.append(found.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items()))
    return pl.concat(parts)


def _standing(choice: Choice, placement: str) -> tuple[bool, bool]:
    """Return whether `placement` is advised, and whether it is chosen but unclear."""
    own = choice.gain is not None and choice.gain.placement == placement
    return own and not choice.unclear, own and choice.unclear


def answers(run: Run, only: str | None = None) -> pl.DataFrame:
    """Return `speedups` and `log_moves`; `comparable`: on a pair of today, whether it ran at the same pace as on its source's pair."""
    found = pl.concat([speedups(run, only), log_moves(run, only)])
    if only is None:
        return found.with_columns(comparable=pl.lit(value=True))
    pace = answers(run).select("workload", pace="slowdown").unique("workload")
    beside = found.join(pace, on="workload", how="left", maintain_order="left")
    return beside.with_columns(comparable=(pl.col("pace") == pl.col("slowdown")).fill_null(value=False)).drop("pace")


def newest(run: Run) -> tuple[str, ...]:
    todays = [{"title": title(pair), "workloads": _list(answers(run, pair))} for pair in run.manifest.todays_pairs]
    lists = {"workloads": _list(answers(run)), "todays": [one for one in todays if one["workloads"]]}
    text = shared_text("newest").render("sec-newest", {**values(run), **lists, "stamp": run.stamp, "stands_in": run.is_reference})
    return tuple(line.replace("`", "") for line in text.splitlines()[1:] if line)


def advice(rows: pl.DataFrame) -> tuple[str, Estimate] | str:
    """Return the advised (or unclear) placement of a workload's `rows` and its speed-up; `NOTHING`: no effect; or one of `UNDECIDED`."""
    if rows["too_small"].any():
        return TOO_SMALL
    moved = set(rows["placement"])
    if SHORT["tables ssd"] in moved and SHORT["all ssd"] not in moved:
        return INCOMPLETE
    best = rows.filter(pl.col("advised") | pl.col("unclear"))
    gains = estimates((best if best.height else rows).with_columns(flag=pl.lit("none")), ["placement"], "speedup")
    if best.height:
        ((placement,), gain) = next(iter(gains.items()))
        return placement, gain
    if not {placement for (placement,) in gains} - {SHORT[INDEXES]}:
        return NO_TABLE
    return NO_INTERVAL if any(one.flat for one in gains.values()) else NOTHING


def _list(rows: pl.DataFrame) -> list[dict[str, Value]]:
    found: list[dict[str, Value]] = []
    for (workload,), part in rows.filter("comparable").group_by("workload", maintain_order=True):
        best = advice(part)
        if best not in UNDECIDED and not part["unclear"].any():
            placement, speedup = (best, None) if isinstance(best, str) else (best[0], best[1].value)
            found.append({"workload": str(workload), "placement": placement, "speedup": speedup})
    return found


def compared(run: Run) -> list[dict[str, Any]]:
    """Return by pair of today the workloads whose clear advice is compared with that on the studies' drives, and where it is another.

    Only the same queries are compared: where fewer ran on drives of today, the sum of their times can have another order.
    """
    same = ["workload", "queries"]
    rows, found = answers(run), []
    own = {one["workload"]: one["placement"] for one in _list(rows)}
    for pair in run.manifest.todays_pairs:
        alike = answers(run, pair).join(rows.select(same).unique(), on=same, how="semi", maintain_order="left")
        there = {one["workload"]: one["placement"] for one in _list(alike) if one["workload"] in own}
        turned = [_short(name) for name, placement in there.items() if own[name] != placement]
        found.append({"pair": title(pair), "compared": list(there), "workloads": turned})
    return found


def _short(workload: Value) -> str:
    return str(workload).partition(" (")[0]


def values(run: Run, pair: str = "") -> dict[str, Any]:  # noqa: ARG001  the first page is of all pairs
    """Return the numbers of the first page, and under each study's name its own values."""
    own, counted = answers(run), verdicts.values(run)
    decided = [claim for claim in run.verdicts if claim.verdict in DECIDED]
    now, days, todays = book_of(run).on, costs(run)["day"].unique().sort(), run.manifest.todays_pairs
    found: dict[str, Any] = {
        "answered": not own.filter(pl.col("placement") != LOG).is_empty(),
        "todays": [f"`{pair}`" for pair in todays],
        "turned": [one for one in compared(run) if one["workloads"]],
        "lost": [title(pair) for pair in todays if run.manifest.pairs[pair]["tiers"].get(FAST, {}).get("device") in local_ssds()],
        "newer": [claim.id for claim in decided if claim.rule_newer],
        "after_results": [claim.id for claim in decided if claim.rule_after_results],
        "advice_newer": changed_since(run.manifest, {ADVICE}),
        "profile": str(run.manifest.profile.get("name")),
        "run_note": run.manifest.note,
        "share": float(run.manifest.profile.get("fraction") or 1.0),
        **{name: counted[name] for name in ("statements", "decided", "confirmed", "contradicted", "models", "runs")},
        "certain": sum(claim.certain is not None for claim in decided),
        "all_rejected": sum(never_accepted(run.store).values()),
        "prices_now": now,
        "years_then": list(dict.fromkeys(str(day.year) for day in days if day != now)),
    }
    return {**found, **_of_studies(run)}


@lru_cache(maxsize=8)  # three pages and the paper show them
def _of_studies(run: Run) -> Mapping[str, Value]:
    return {name: module.values(run) for name, module in study_registry.named("values")}


MODEL: Final = "; model "  # what stands between an estimate and its model interval


def headlines_of(run: Run, study: str, pair: str) -> Iterator[tuple[Key, Mapping[int, float]]]:
    """Yield the speed-ups of each placement of the workloads of `study` on `pair`, and of moving the log."""
    only = pair if pair in run.manifest.todays_pairs else None
    for _, workload in named_workloads(run, only):
        if (workload.study, workload.pair) == (study, pair):
            for gain in gains_of(workload):
                ratios = {replicate: 1 / ratio for replicate, ratio in gain.ratios.items()}
                yield headline(workload, gain.placement), ratios
    for name, module in named("log_moves"):
        if name == study:
            for (moved, on, io_mode), rows in module.moved(run, only).group_by("workload", "pair", "io_mode", maintain_order=True):
                if on == pair:
                    yield Key(pair, SPEEDUP, str(moved), LOG, "", str(io_mode)), dict(rows.select("replicate", "ratio").rows())


def beside(key: Key, estimate: Estimate) -> str:
    """Return ``; model 0.9 to 1.4``, to stand behind an estimate; empty where no model interval was computed."""
    shifts = shifts_of(key)
    if shifts is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{MODEL}{interval(*shifts.widened(estimate.low, estimate.high))}"
