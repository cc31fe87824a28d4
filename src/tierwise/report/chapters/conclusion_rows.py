"""What the rows of a run tell about a topic on which sources meet: one function each, named in ``data/published/questions.toml``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import polars as pl

from tierwise.advisor.advice import ServiceTimes, times
from tierwise.advisor.strategies import Strategy, strategies_of
from tierwise.advisor.workload import FAST, SLOW, Workload, workload_of
from tierwise.analysis import heat
from tierwise.analysis.claims import load_claims
from tierwise.analysis.statistics import geometric_estimate, paired_ratios
from tierwise.core.errors import MissingError
from tierwise.core.vocabulary import RelationClass
from tierwise.costs.hardware import medium
from tierwise.report import study_registry
from tierwise.report.chapters.advice import NAMES
from tierwise.report.formats import number, percent
from tierwise.report.prices import book_of
from tierwise.report.run import Run
from tierwise.report.words import NOTHING


def places() -> dict[str, str]:
    """Return name of a strategy -> what a reader calls it."""
    return {**NAMES, **{name: words for module in study_registry.modules("strategies") for name, words in module.PLACES.items()}}


@dataclass(frozen=True)
class Found:
    """What a run has for the conclusion: its workloads, by name, with their times on either tier, and its strategies."""

    run: Run
    workloads: Sequence[Workload]

    @cached_property
    def service_s(self) -> Sequence[ServiceTimes]:
        """Return the times of each workload's requests by placement, simulated once they are asked for: it takes seconds."""
        return [_times(workload) for workload in self.workloads]

    @property
    def strategies(self) -> dict[str, list[Strategy]]:
        """Return the placements of each workload, and what the studies add of data that lie on one tier as a whole; the quickest
        first.
        """
        book = book_of(self.run)
        placed = {name_of(workload): strategies_of(workload, book) for workload in self.workloads}
        whole = (module.strategies(self.run.connection, book) for module in study_registry.modules("strategies"))
        return placed | {name: every for added in whole for name, every in added.items() if every}

    @property
    def services(self) -> dict[str, tuple[Workload, ServiceTimes]]:
        return {name_of(workload): (workload, service_s) for workload, service_s in zip(self.workloads, self.service_s, strict=True)}


def gather(run: Run, asked: pl.DataFrame | None = None, *, only: str | None = None) -> Found:
    """Gather every workload of `run` whose relations can be placed, on its source's pair or the reader's, or on the pair `only`; `asked`:
    the rows of `heat.every`.
    """
    every = run.query(heat.every()) if asked is None else asked
    todays = run.manifest.profile.get("today")
    every = every.filter(~pl.col("pair").eq_missing(pl.lit(todays)) if only is None else pl.col("pair") == only)
    found = []
    for (study, pair), rows in every.group_by("study", "pair", maintain_order=True):
        for name in sorted(rows["workload"].unique()):
            try:
                found.append(workload_of(run.connection, run.folder, study=str(study), pair=str(pair), name=name, rows=rows))
            except MissingError:  # an unfinished study has no sizes, a noisy one too few clean replicates: nothing to place
                continue
    return Found(run, found)


def shares_of_requests(found: Found) -> str:
    """Return how much of what reaches the devices goes to indexes, and how much to tables."""
    told = []
    for workload in found.workloads:
        asked = [(relation.relation_class, sum(one.number for one in relation.requests)) for relation in workload.relations]
        whole = sum(number for _, number in asked)
        if whole:
            index, table = (sum(number for word, number in asked if word is of) for of in (RelationClass.INDEX, RelationClass.TABLE))
            shares = f"{percent(index / whole)} of the requests go to indexes, {percent(table / whole)} to tables"
            told.append(f"{name_of(workload)}: {shares} ({workload.evidence})")
    return ". ".join(told) or NOTHING


def tables_over_indexes(found: Found) -> str:
    """Tell the time of a job with tables on SSD over that with indexes there, of the same replicate each."""
    told = []
    for workload in found.workloads:
        tables, indexes = workload.measured.get("tables ssd"), workload.measured.get("indexes ssd")
        if tables and indexes:
            ratio = geometric_estimate(paired_ratios(tables.job_s, indexes.job_s))
            if ratio.value is not None:
                interval = f" ({number(ratio.low)} to {number(ratio.high)})" if ratio.low is not None and ratio.high is not None else ""
                share = f"{number(ratio.value)}{interval} of its time with indexes there"
                told.append(f"{name_of(workload)}: with tables on SSD a job takes {share} ({tables.evidence})")
    return ". ".join(told) or NOTHING


def time_by_tier(found: Found) -> str:
    """Return what a request takes on the disks over what it takes on the SSD: the least and the most of any relation."""
    told = []
    for workload, service_s in zip(found.workloads, found.service_s, strict=True):
        leads = sorted((at[SLOW] / at[FAST], name) for name, at in service_s.items() if at.get(FAST) and at.get(SLOW))
        if leads:
            ends = " to ".join(f"{number(lead)} (`{name}`)" for lead, name in (leads[0], leads[-1]))
            told.append(f"{name_of(workload)}: the disks take {ends} times as long as the SSD, by relation")
    return f"{'. '.join(told)} (simulated, from one recorded trace each)" if told else NOTHING


def costs_of_strategies(found: Found) -> str:
    told = []
    for name, strategies in found.strategies.items():
        if len(strategies) < 2:  # one alone is no ranking
            continue
        costs = {strategy.name: strategy.cost_per_million for strategy in strategies if strategy.cost_per_million is not None}
        if costs:
            told.append(f"{name}: a job costs least with *{places()[min(costs, key=lambda one: costs[one])]}*")
    return f"{'. '.join(told)} (prices of the run's day)" if told else NOTHING


def cheapest_with_flash(found: Found) -> tuple[int, int]:
    """Count the workloads of which a job costs least on a placement with flash, and those that have two priced placements."""
    priced = ([one for one in every if one.cost_per_million is not None] for every in found.strategies.values())
    cheapest = [min(every, key=lambda one: one.cost_per_million or 0.0) for every in priced if len(every) > 1]
    return sum(any(medium(device) == "ssd" for device in one.devices) for one in cheapest), len(cheapest)


TELLING: Final[Mapping[str, Callable[[Found], str]]] = {
    told.__name__: told for told in (shares_of_requests, tables_over_indexes, time_by_tier, costs_of_strategies)
}


def shown_by() -> dict[str, Callable[[Found], str]]:
    """Return what can be told of a topic, by the name that ``questions.toml`` uses: from all rows together, and from one study by its
    own module.
    """
    return {
        **TELLING,
        **{told.__name__: partial(_of_run, told) for module in study_registry.modules("shown_by") for told in module.TELLING},
    }


def _of_run(told: Callable[[Run], str], found: Found) -> str:
    return told(found.run)


def name_of(workload: Workload) -> str:
    """Name the workload and whose it is: ``The census study's cold counts``; on the reader's own pair the name of its study, and the
    pair.
    """
    for source in load_claims().sources.values():
        if source.pair == workload.pair:
            return f"{source.name[0].upper()}{source.name[1:]}'{'' if source.name.endswith('s') else 's'} {workload.name}"
    return f"Study `{workload.study}`, {workload.name}, on `{workload.pair}`"


def _times(workload: Workload) -> ServiceTimes:
    try:
        return times(workload)
    except MissingError:
        return {}
