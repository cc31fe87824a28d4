"""What the first page shows: the placements of every workload, the one that is advised, and the numbers of its text."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import polars as pl

from tierwise.advisor.ranking import advised, gains_of
from tierwise.advisor.workload import Workload
from tierwise.analysis import heat
from tierwise.analysis.claims import load_claims
from tierwise.analysis.rejections import never_accepted
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import Estimate
from tierwise.analysis.verdicts import DECIDED
from tierwise.core import studies
from tierwise.core.vocabulary import Evidence
from tierwise.report import study_registry
from tierwise.report.estimates import estimates
from tierwise.report.formats import NO_INTERVAL
from tierwise.report.prices import answer_of
from tierwise.report.run import Run
from tierwise.report.text_template import Value, shared_text
from tierwise.report.values.workloads import gather

INDEXES, TABLES, EVERYTHING = "indexes ssd", "tables ssd", "all ssd"
SHORT: Final = {INDEXES: "indexes", TABLES: "tables", EVERYTHING: "everything"}
"""Placement -> what it has on the SSD."""
NOTHING: Final = "nothing"
NO_TABLE: Final = "table not measured"
TOO_SMALL: Final = "too small"
UNDECIDED: Final = (NO_INTERVAL, NO_TABLE, TOO_SMALL)
"""Why a workload has no advice: all replicates took the same time, no table was moved, or the profile has too few of its data."""
WORDS: Final = "reading/words.toml"
DIGITS: Final = 12
"""Digits of a ratio that are kept: threads add in any order, and the last ones differ from run to run."""
SCHEMA: Final = {
    "run": pl.String,
    "pair": pl.String,
    "evidence": pl.String,
    "io_mode": pl.String,
    "workload": pl.String,
    "slowdown": pl.Float64,
    "placement": pl.String,
    "advised": pl.Boolean,
    "too_small": pl.Boolean,
    "replicate": pl.Int64,
    "speedup": pl.Float64,
}


def speedups(run: Run, only: str | None = None) -> pl.DataFrame:
    """Return a row for each workload, placement and replicate (from 1): time with everything on disks over time with the placement.

    `only`: this pair; else every pair but that of today. A study that ran a workload at several paces of the tiers has the one of the
    largest share of the devices' own pace. `advised`: the placement to choose (`advisor.ranking`).
    """
    rows = []
    for name, workload in _workloads(run, only):
        gains = gains_of(workload)
        best = advised(gains)
        for gain in gains:
            of = (run.run_id, workload.pair, str(workload.evidence), workload.io_mode, name, workload.slowdown)
            what = (placed(gain.placement), gain is best, workload.too_small)
            rows += [(*of, *what, replicate + 1, round(1 / ratio, DIGITS)) for replicate, ratio in gain.ratios.items()]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def todays(run: Run) -> pl.DataFrame:
    """Return `speedups` on the run's pair of today, of the workloads that ran at the same pace as on their source's pair."""
    pair = run.manifest.todays_pair
    if pair is None:
        return pl.DataFrame(schema=SCHEMA)
    pace = speedups(run).select("workload", "slowdown").unique()
    return speedups(run, pair).join(pace, on=["workload", "slowdown"], how="semi", maintain_order="left")


def placed(placement: str) -> str:
    """Return what `placement` has on the SSD: ``tables``, or the name of a table."""
    return SHORT.get(placement, placement.removesuffix(" ssd"))


def _workloads(run: Run, only: str | None) -> Iterator[tuple[str, Workload]]:
    found: dict[str, Workload] = {}
    for workload in gather(run, only=only).workloads:
        name = _names(workload.study).get(heat.PACE.sub("", workload.name), workload.name)
        name = name if only or workload.pair != run.manifest.reader_pair else f"{name}, on {workload.pair}"
        if name not in found or workload.slowdown < found[name].slowdown:
            found[name] = workload
    yield from found.items()


def _names(study: str) -> Mapping[str, str]:
    there = study in studies.having(WORDS)
    names: Mapping[str, str] = tomllib.loads(studies.text(study, WORDS)).get("workloads", {}) if there else {}
    return names


def newest(run: Run) -> tuple[str, ...]:
    """Return the five lines that ``tierwise`` alone prints on `run`."""
    lists = {"workloads": _list(speedups(run)), "todays": _list(todays(run)), "todays_pair": run.manifest.todays_pair}
    text = shared_text("newest").render("sec-newest", {**values(run), **lists, "stamp": run.stamp, "stands_in": run.is_reference})
    return tuple(line.replace("`", "") for line in text.splitlines()[1:] if line)


def advice(rows: pl.DataFrame) -> tuple[str, Estimate] | str:
    """Return the advised placement of a workload's `rows` with its speed-up, or `NOTHING` where no placement has an effect.

    Where neither can be decided, return why: one of `UNDECIDED`.
    """
    if rows["too_small"].any():
        return TOO_SMALL
    best = rows.filter("advised")
    gains = estimates((best if best.height else rows).with_columns(flag=pl.lit("none")), ["placement"], "speedup")
    if best.height:
        ((placement,), gain) = next(iter(gains.items()))
        return placement, gain
    moved = {placement for (placement,) in gains}
    if not moved - {SHORT[INDEXES]}:
        return NO_TABLE
    return NO_INTERVAL if any(one.flat for one in gains.values()) else NOTHING


def _list(rows: pl.DataFrame) -> list[dict[str, Value]]:
    """Return workload, advised placement and speed-up of each workload with an answer; where no placement has an effect, ``nothing``."""
    found: list[dict[str, Value]] = []
    for (workload,), part in rows.group_by("workload", maintain_order=True):
        best = advice(part)
        if best not in UNDECIDED:
            placement, speedup = (best, None) if isinstance(best, str) else (best[0], best[1].value)
            found.append({"workload": str(workload), "placement": placement, "speedup": speedup})
    return found


def _study(name: str) -> str:
    """Return ``the census study`` by the source that the study repeats, or ``the study wal_placement`` where it repeats none."""
    known = load_claims()
    sources = {case.study: known.sources[claim.source].name for claim in known.claims for case in claim.cases}
    return sources.get(name, f"the study {name}")


def _prices(run: Run) -> dict[str, Value]:
    """Return the cost in USD a month of a thousand random reads per second on a volume and on an SSD, and the size of each in GB."""
    known = {device.device: device for device in answer_of(run).devices}
    found: dict[str, Value] = {}
    for name, device in {"gp3": "aws-gp3", "nvme": "local-nvme"}.items():
        priced = known.get(device)
        found[f"{name}_usd"] = 1_000 * priced.per_iops_month if priced and priced.per_iops_month else None
        found[f"{name}_gb"] = priced.capacity_gb if priced else None
    return found


def values(run: Run, pair: str = "") -> dict[str, Any]:  # noqa: ARG001  the first page is of all pairs
    """Return the numbers of the first page, and under each study's name its own values."""
    own, verdicts = speedups(run), Counter(claim.verdict for claim in run.verdicts)
    decided = [claim for claim in run.verdicts if claim.verdict in DECIDED]
    found: dict[str, Any] = {
        "answered": not own.is_empty(),
        "profile": str(run.manifest.profile.get("name")),
        "run_note": run.manifest.note,
        "share": float(run.manifest.profile.get("fraction") or 1.0),
        "runs": len(run.manifest.merged) or 1,
        "statements": len(run.verdicts),
        "decided": len(decided),
        "confirmed": verdicts[Verdict.CONFIRMED],
        "contradicted": verdicts[Verdict.CONTRADICTED],
        "models": sum(claim.evidence is Evidence.SIMULATED for claim in decided),
        "all_rejected": [{"study": _study(name), "count": count} for name, count in never_accepted(run.store).items()],
        **_prices(run),
    }
    return {**found, **_of_studies(run)}


@lru_cache(maxsize=8)  # three pages and the paper show them
def _of_studies(run: Run) -> Mapping[str, Value]:
    return {name: module.values(run) for name, module in study_registry.named("values")}
