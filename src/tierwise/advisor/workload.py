"""What a run knows of a workload: its relations, what a job asks of each, what it takes besides, and the times of measured placements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.advisor.placing import Placement
from tierwise.advisor.service import SEED, Build, Counted, NewDevice, Recorded, Requests
from tierwise.analysis import heat
from tierwise.analysis.claim_rows import mode_of
from tierwise.analysis.rates import misses
from tierwise.analysis.runs import run_to_read
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, enough, geometric_estimate
from tierwise.analysis.views import open_views
from tierwise.core.errors import InputError, MissingError, suggesting
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Evidence, IoMode, RelationClass
from tierwise.devices.spec import load_device
from tierwise.simulate.replay import Access, Operation

SLOW: Final = "hdd"
FAST: Final = "ssd"
CELLS: Final = {"all hdd": (SLOW, SLOW), "indexes ssd": (SLOW, FAST), "tables ssd": (FAST, SLOW), "all ssd": (FAST, FAST)}
"""The four fixed placements: (tier of the tables, tier of the indexes). A source may compare others, named as its study's heat has them."""
Traced = dict[str, pl.DataFrame | None]  # query -> what was recorded of it, if anything was


@dataclass(frozen=True)
class Relation:
    """One table, index or log, and all that a job asks of it."""

    name: str
    relation_class: RelationClass
    size_bytes: int
    requests: Sequence[Requests]

    def service_s(self, device: Build) -> float:
        """Return seconds of one job's requests on `device`."""
        return sum(one.service_s(device, self.size_bytes) for one in self.requests)


@dataclass(frozen=True)
class Measured:
    """One placement that the run measured: where each relation lay, and the seconds of a job by clean replicate."""

    placement: Placement
    job_s: Mapping[int, float]
    evidence: Evidence
    busy_s: Mapping[str, float] = field(default_factory=dict)  # tier -> seconds of a job on average in which it has a request
    processor_s: float = 0.0  # of the server, of all processors together, for a job on average
    with_processors_s: Mapping[int, float] = field(default_factory=dict)
    """`job_s` of slowed drives, with the drives at their own speed and the processors' time behind theirs; empty where it is not known."""

    @property
    def estimate(self) -> Estimate:
        return geometric_estimate(self.job_s)


@dataclass(frozen=True)
class Workload:
    """What a run knows of a workload, whose job is one of each of `queries`."""

    run_id: str
    study: str
    pair: str
    name: str
    io_mode: str
    evidence: Evidence
    queries: tuple[str, ...]
    depth: int
    relations: tuple[Relation, ...]
    host_s: float  # what a job takes besides the requests
    reference: str  # the placement that requests and `host_s` were counted on
    measured: Mapping[str, Measured]  # by the name of one of `CELLS`, or of a placement of the study's own, by the I/O mode that decides
    requests_io_mode: str  # that of the requests: the same where they were recorded in their order, else the first that has a record
    replayed: Mapping[str, Measured]  # what was measured by the I/O mode of the requests
    tiers: Mapping[str, Mapping[str, Any]]  # as the pair's file has them, `FAST` the one that the study takes for it
    stretch: float
    slowdown: float  # the factor by which all tiers of the measured times were slowed, so that no processors were measured
    left_out: tuple[str, ...] = ()  # relations that no job asks for anything
    memory_bytes: float = 0.0
    too_small: bool = False  # whether the run has too few data for advice
    misses: bool = False  # whether the model of the drives misses a rate that the source states

    def device(self, tier: str, name: str | None = None, *, seed: int = SEED) -> Build:
        """Return what makes new devices as the run's tier has them, or in their place the device `name` of ``data/devices``."""
        known = self.tiers.get(tier, {})
        model = name or known.get("device")
        if not model:
            why = f"tier {tier} of pair {self.pair} is a real directory" if known else f"pair {self.pair} has no such tier"
            raise MissingError(f"a device model for {tier}", why=why, remedy=f"name a device of data/devices: --{tier} NAME")
        return NewDevice(load_device(str(model)), seed, self.stretch * float(known.get("scale", 1.0)))

    def device_name(self, tier: str) -> str | None:
        """Return the device of the run's tier; `None` where the tier is a real directory."""
        found = self.tiers.get(tier, {}).get("device")
        return str(found) if found else None


def read_workload(raw: Path, *, run_id: str = "", study: str = "", pair: str = "", name: str = "") -> Workload:
    """Read the workload of a study in the run `run_id`, which is named as `find_run` takes it.

    Empty names stand for the newest complete run (or the reference run, if there is no other), and for the first study, pair and workload
    with rows. An error says which run, study, pair or workload is not there, or what the run did not record.
    """
    folder = run_to_read(run_id, raw)
    if folder is None:
        raise MissingError("a complete run", why="this checkout has no run and no reference run", remedy="make report measures one")
    with open_views(folder.parent, folder.name) as connection:
        return workload_of(connection, folder, study=study, pair=pair, name=name)


def workload_of(
    store: duckdb.DuckDBPyConnection, run_folder: Path, *, study: str = "", pair: str = "", name: str = "", rows: pl.DataFrame | None = None
) -> Workload:
    """Return `read_workload` where the run is open in `store` already, and its heat of `study` on `pair` perhaps too: `rows`."""
    run_id = run_folder.name
    there = {one: heat.pairs_of(store, one) for one in heat.placeable()}
    study = _one_of("--study", study, [one for one, pairs in there.items() if pairs], run_id)
    pair = _one_of("--pair", pair, there[study], run_id)
    rows = heat.heat_of(store, study, pair) if rows is None else rows
    if rows.is_empty():
        raise MissingError(f"rows of {study} on {pair}", why=f"every row of run {run_id} was rejected", remedy="make report RETRY=1")
    name = _one_of("--workload", name, sorted(rows["workload"].unique()), run_id)
    every = rows.filter(workload=name)
    rows = every.filter(io_mode=mode_of(study, every["io_mode"].unique()))
    record = heat.record_of(store, study, pair)
    sizes = record.sizes_bytes(rows["data_set"][0]) if record else {}
    classes = dict(rows.select("relation", "relation_class").unique().sort("relation").rows())
    unknown = sorted(classes.keys() - sizes.keys())
    if record is None or unknown:
        why = f"run {run_id} recorded no size of {', '.join(unknown) or 'any relation'} for {study} on {pair}"
        raise MissingError("sizes of relations", why=why, remedy="make report measures the rest of the study")
    requested(rows)  # without enough replicates by the deciding mode there is no advice
    counted, traced = _recorded(run_folder, study, pair, rows, every)
    reference, by_query = requested(counted)
    tiers = record.pair.get("tiers") or {}
    return Workload(
        run_id=run_id,
        study=study,
        pair=pair,
        name=name,
        io_mode=rows["io_mode"][0],
        evidence=Evidence.of({Evidence(word) for word in rows["evidence"].unique()}),
        queries=tuple(traced),
        depth=int(rows["depth"][0]),
        relations=tuple(Relation(one, RelationClass(word), sizes[one], _requests(one, by_query, traced)) for one, word in classes.items()),
        host_s=_host_s(pl.concat(by_query.values())),
        reference=reference,
        measured=_measured(rows.filter(pl.col("query").is_in(list(by_query))), len(by_query)),
        requests_io_mode=counted["io_mode"][0],
        replayed=_measured(counted.filter(pl.col("query").is_in(list(by_query))), len(by_query)),
        tiers={**tiers, FAST: tiers[fast]} if (fast := rows["ssd"][0]) in tiers else tiers,
        stretch=record.stretch,
        slowdown=float(rows["slowdown"][0]),
        left_out=tuple(sorted(sizes.keys() - classes.keys())),
        memory_bytes=record.memory_bytes,
        too_small=name in record.too_small,
        misses=misses(store, run_folder, study, pair),
    )


def _one_of(field: str, value: str, there: Sequence[str], run_id: str) -> str:
    if not there:
        why = "the run measured no study that moves tables or indexes"
        raise MissingError(f"a placement study in run {run_id}", why=why, remedy="make report")
    if value and value not in there:
        remedy = suggesting(value, there, f"one of: {', '.join(there)}")
        raise InputError(field, value=value, rule=f"run {run_id} has no rows of it", remedy=remedy)
    return value or there[0]


def _recorded(run_folder: Path, study: str, pair: str, rows: pl.DataFrame, every: pl.DataFrame) -> tuple[pl.DataFrame, Traced]:
    """Return the rows of a workload that requests are taken from, and by query what was recorded of them."""
    found: list[tuple[pl.DataFrame, Traced]] = []
    for part in (rows, *(every.filter(io_mode=str(mode)) for mode in IoMode)):
        try:
            _, by_query = requested(part)
        except MissingError:
            continue
        found.append((part, {query: heat.requests_of(run_folder, study, pair, *recorded_as(one)) for query, one in by_query.items()}))
        if all(trace is not None for trace in found[-1][1].values()):
            return found[-1]
    return found[0]


def requested(rows: pl.DataFrame) -> tuple[str, dict[str, pl.DataFrame]]:
    """Return the placement that a workload's requests are taken from, and query -> its rows there: all on ssd, where waiting alters the
    host's own time least. A `MissingError` says that no placement has enough clean replicates to rest advice on.
    """
    known = [name for name in (*reversed(CELLS), *_others(rows)) if name in set(rows["placement"])]
    if not known:
        remedy = "choose a pair with these two tiers"
        raise MissingError("a placement on hdd and ssd", why="the run's tiers have other names", remedy=remedy)
    clean = {name: min(query["replicate"].n_unique() for _, query in rows.filter(placement=name).group_by("query")) for name in known}
    for name in known:
        if enough(clean[name]):
            referred = rows.filter(placement=name)
            return name, {str(query): part for (query,), part in referred.group_by("query", maintain_order=True)}
    why = f"advice needs {MINIMUM_REPEATS} clean replicates of a placement, but no placement has more than {max(clean.values())}"
    raise MissingError("clean replicates", why=why, remedy="run make report RETRY=1, preferably on an idle machine")


def fixed(workload: Workload) -> dict[str, Placement]:
    """Return the four placements by class, and the study's own, as the run measured them where it did.

    A relation with its own tier (the log), or that no cell names, goes with the slow tier unless everything is fast.
    """
    found: dict[str, Placement] = {}
    for name in (*CELLS, *(other for other in workload.measured if other not in CELLS)):
        tables, indexes = CELLS.get(name, (SLOW, SLOW))
        by_class = {RelationClass.TABLE: tables, RelationClass.INDEX: indexes}
        measured = workload.measured[name].placement if name in workload.measured else {}
        other = FAST if tables == indexes == FAST else SLOW
        found[name] = {
            relation.name: measured[relation.name]
            if measured.get(relation.name) in {SLOW, FAST}
            else by_class.get(relation.relation_class, other)
            for relation in workload.relations
        }
    return found


def recorded_as(rows: pl.DataFrame) -> tuple[str, int]:
    """Return the trial and the step whose recorded requests stand for a query with these `rows`."""
    return rows["trial"][0], rows["step"][0]


def _others(rows: pl.DataFrame) -> list[str]:
    return sorted(set(rows["placement"].drop_nulls()) - CELLS.keys(), reverse=True)


def _host_s(rows: pl.DataFrame) -> float:
    """Seconds of a job that no request takes: the sum over its queries of the medians over the replicates."""
    once = rows.unique(["query", "trial", "replicate", "step"], maintain_order=True).with_columns(
        host_s=((pl.col("elapsed_s") - pl.col("devices_s").fill_null(0.0) / pl.col("depth")) / pl.col("jobs")).clip(lower_bound=0.0)
    )
    return float(sum(median(part["host_s"]) for _, part in once.group_by("query", maintain_order=True)))


def _measured(rows: pl.DataFrame, queries: int) -> dict[str, Measured]:
    found = {}
    for name in (*CELLS, *_others(rows)):
        cell = rows.filter(placement=name)
        once = cell.unique(["query", "trial", "replicate", "step"], maintain_order=True).with_columns(
            job_s=pl.col("elapsed_s") / pl.col("jobs"),
            paced_s=(pl.col("with_processors_s") if "with_processors_s" in cell.columns else pl.lit(None, pl.Float64)) / pl.col("jobs"),
        )
        replicates = once.group_by("replicate", maintain_order=True).agg(pl.col("job_s", "paced_s").sum(), pl.col("query").n_unique())
        whole = replicates.filter(pl.col("query") == queries).sort("replicate")
        if whole.is_empty():
            continue
        found[name] = Measured(
            placement=dict(cell.select("relation", "tier").unique().sort("relation").rows()),
            job_s=dict(whole.select("replicate", "job_s").rows()),
            with_processors_s={} if once["paced_s"].has_nulls() else dict(whole.select("replicate", "paced_s").rows()),
            evidence=Evidence.of({Evidence(word) for word in cell["evidence"].unique()}),
            busy_s=_busy_s(cell),
            processor_s=float(once.group_by("query").agg((pl.col("processor_s") / pl.col("jobs")).mean())["processor_s"].sum()),
        )
    return found


def _busy_s(rows: pl.DataFrame) -> dict[str, float]:
    """Return tier -> seconds of a job in which it has a request, as far as its requests may follow one another."""
    executed = ["query", "trial", "replicate", "step"]
    by_tier = rows.group_by([*executed, "tier"]).agg(pl.col("io_s").sum(), pl.col("elapsed_s", "jobs").first())
    busy = by_tier.with_columns(busy_s=pl.min_horizontal("io_s", "elapsed_s") / pl.col("jobs"))
    by_query = busy.group_by("query", "tier").agg(pl.col("busy_s").mean())
    return dict(by_query.group_by("tier").agg(pl.col("busy_s").sum()).sort("tier").rows())


def _requests(relation: str, by_query: Mapping[str, pl.DataFrame], traced: Traced) -> list[Requests]:
    recorded = [_replayable(relation, trace.drop_nulls("page")) for trace in traced.values() if trace is not None]
    unrecorded = [rows.filter(relation=relation) for query, rows in by_query.items() if traced[query] is None]
    return [*recorded, *([_counted(unrecorded)] if unrecorded else [])]


def _replayable(relation: str, traced: pl.DataFrame) -> Recorded:
    sizes = traced.group_by("file").agg(pl.max_horizontal(pl.col("relation_pages").max(), pl.col("page").max() + 1) * PAGE_BYTES)
    own = traced.filter(relation=relation).select(
        "file", "page", "size_bytes", pl.col("operation").str.to_uppercase(), pl.col("think_s").clip(lower_bound=0.0)
    )
    accesses = [
        Access(file, page, size_bytes, Operation[operation], think_s, after=number - 1 if number else None)
        for number, (file, page, size_bytes, operation, think_s) in enumerate(own.rows())
    ]
    return Recorded(accesses, dict(sizes.rows()))


def _counted(queries: Sequence[pl.DataFrame]) -> Counted:
    every = pl.concat(queries)
    counts = ("reads", "sequential_reads", "read_bytes", "writes", "write_bytes")
    a_job: dict[str, Any] = {name: sum(float(rows[name].sum()) / (float(rows["jobs"].sum()) or 1.0) for rows in queries) for name in counts}
    if every["sequential_reads"].null_count():
        a_job["sequential_reads"] = None
    return Counted(**a_job, depth=max(every["depth"].to_list(), default=1), log=RelationClass.WAL in set(every["relation_class"]))


def behind_advice(run_folder: Path) -> list[tuple[str, str, str]]:
    """Return study, pair and trial of what was recorded in `run_folder` and its advice rests on, each once.

    First come those whose requests the workloads are made of (`workload_of`), then those of their other placements, which are
    replayed where a reader asks for other devices. Some of them were perhaps never recorded; a workload without enough clean replicates has
    none.
    """
    made_of: dict[tuple[str, str, str], None] = {}
    replayed: dict[tuple[str, str, str], None] = {}
    with open_views(run_folder.parent, run_folder.name) as connection:
        for study in heat.placeable():
            for pair in heat.pairs_of(connection, study):
                for _, rows in heat.heat_of(connection, study, pair).group_by("workload", maintain_order=True):
                    for _, mode in rows.group_by("io_mode", maintain_order=True):
                        try:
                            _, by_query = requested(mode)
                        except MissingError:
                            continue
                        made_of |= {(study, pair, recorded_as(part)[0]): None for part in by_query.values()}
                        replayed |= {(study, pair, trial): None for trial in mode["trial"].unique(maintain_order=True)}
    return list(made_of | replayed)
