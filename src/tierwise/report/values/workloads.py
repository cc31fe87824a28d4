"""The workloads of a run whose relations can be placed, their names, and their placements with what they cost."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.advisor.operations import Operated, day_of, operated, priced
from tierwise.advisor.ranking import gains_of, names_of, placed
from tierwise.advisor.workload import Workload, workload_of
from tierwise.analysis import heat
from tierwise.analysis.claims import load_claims
from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.core.errors import MissingError
from tierwise.report import study_registry
from tierwise.report.run import Run, book_of

NAMES: Final = {
    "all hdd": "all on HDD",
    "indexes ssd": "indexes on SSD",
    "tables ssd": "tables on SSD",
    "all ssd": "all on SSD",
    "Source ssd": "Source on SSD",
    "Detection ssd": "Detection on SSD",
}
"""What a reader calls the cells of `workload.CELLS` and the studies' own placements."""
TITLES: Final = {"today-server": "Server today", "today-aws": "AWS today", "today-azure": "Azure today", "today-gcp": "Google Cloud today"}


def gather(run: Run, *, only: str | None = None) -> Sequence[Workload]:
    """Gather every workload of `run` whose relations can be placed, on its source's pair or the reader's, or on the pair `only`."""
    todays = tuple(name for name in run.manifest.todays_pairs if name != run.manifest.reader_pair)
    return _workloads(run.store, run.folder, todays, only)


@lru_cache(maxsize=8)  # most pages show several exhibits of the same workloads
def _workloads(store: duckdb.DuckDBPyConnection, folder: Path, todays: tuple[str, ...], only: str | None) -> tuple[Workload, ...]:
    every = store.sql(heat.every()).pl()
    every = every.filter(~pl.col("pair").is_in(todays) if only is None else pl.col("pair") == only)
    found = []
    for (study, pair), rows in every.group_by("study", "pair", maintain_order=True):
        for name in sorted(rows["workload"].unique()):
            try:
                found.append(workload_of(store, folder, study=str(study), pair=str(pair), name=name, rows=rows))
            except MissingError:  # an unfinished study has no sizes, a noisy one too few clean replicates: nothing to place
                continue
    return tuple(found)


def name_of(workload: Workload) -> str:
    """Name the workload and whose it is: ``The census study's cold counts``; on the reader's own pair by study and pair."""
    for source in load_claims().sources.values():
        if source.pair == workload.pair:
            return f"{source.name[0].upper()}{source.name[1:]}'{'' if source.name.endswith('s') else 's'} {workload.name}"
    return f"Study `{workload.study}`, {workload.name}, on `{workload.pair}`"


def named_workloads(run: Run, only: str | None = None) -> Iterator[tuple[str, Workload]]:
    """Yield the workloads of `gather` by name; of one that ran at several paces, the one nearest to the devices' own pace."""
    found: dict[str, Workload] = {}
    for workload in gather(run, only=only):
        name = names_of(workload, "workloads")
        name = name if only or workload.pair != run.manifest.reader_pair else f"{name}, on {workload.pair}"
        if name not in found or workload.slowdown < found[name].slowdown:
            found[name] = workload
    yield from found.items()


def title(pair: str) -> str:
    return TITLES.get(pair, f"`{pair}`")


def speedups(run: Run, pair: str) -> dict[tuple[str, str, str], Estimate]:
    """Return study, workload and placement -> time with everything on the slow tier of `pair` over the time with the placement."""
    return {
        (workload.study, workload.name, gain.placement): geometric_estimate({of: 1 / ratio for of, ratio in gain.ratios.items()})
        for workload in gather(run, only=pair)
        for gain in gains_of(workload)
    }


SCHEMA: Final[dict[str, Any]] = {
    **dict.fromkeys(("workload", "operation", "pair", "evidence"), pl.String),
    "day": pl.Date,
    "placement": pl.String,
    **dict.fromkeys(("shared_usd", "whole_usd"), pl.Float64),
}


@lru_cache(maxsize=8)  # two pages and the paper show them
def costs(run: Run) -> pl.DataFrame:
    """Return a row a placement: USD a month at its share of everything, and with whole machines and drives; null without a price."""
    rows = []
    for only in (None, *run.manifest.todays_pairs):
        for found in _operated(run, only):
            day = day_of(found.pair, book_of(run)).on
            of = (found.workload, found.operation, found.pair, str(found.evidence), day)
            rows += [(*of, one.placement, one.shared, one.whole) for one in priced(found, book_of(run))]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").unique(["workload", "pair", "placement"], keep="first", maintain_order=True)


def cheapest(rows: pl.DataFrame) -> pl.DataFrame:
    least = pl.col("shared_usd").min().over("workload", "pair")
    return rows.filter(pl.col("shared_usd") == least).unique(["workload", "pair"], keep="first", maintain_order=True)


def _operated(run: Run, only: str | None) -> Iterator[Operated]:
    for name, workload in named_workloads(run, only):
        yield operated(workload, name, names_of(workload, "operations"), placed)
    for _, module in study_registry.named("log_moves"):
        yield from module.operated(run, only)
