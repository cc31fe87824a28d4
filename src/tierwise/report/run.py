"""The run that a chapter speaks of: its manifest, its rows, its verdicts. Only reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path

import duckdb
import polars as pl

from tierwise.advisor.other_devices import retime
from tierwise.analysis.claim_rows import pair_evidence
from tierwise.analysis.claims import load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.runs import find_run, newest_run
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.data_sets import published_rows
from tierwise.core.errors import InputError, MissingError
from tierwise.core.renamed import refuse_old_parameters
from tierwise.core.toml import validate
from tierwise.core.vocabulary import Evidence
from tierwise.costs.answer import Answer, answer
from tierwise.costs.book import Book, load_book
from tierwise.report import queries
from tierwise.report.formats import count
from tierwise.report.study_registry import judged
from tierwise.report.text_template import fill
from tierwise.timings.manifest import Manifest, StudyRecord, load_manifest


class NoRowsError(MissingError):
    """No run to show; a notebook shows the message alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True, eq=False)
class Run:
    """One run, opened once; `store` has the views of `analysis.views.open_views` over this run alone."""

    manifest: Manifest
    store: duckdb.DuckDBPyConnection
    judged: tuple[ClaimVerdict, ...]
    """The verdicts on all claims, also on those of the reader's studies."""
    folder: Path
    prices: Mapping[str, float] = field(default_factory=dict)
    """Item of the price book -> another price than the one that was read, in the same unit."""
    devices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # pair -> tier -> the device in place of the run's own

    @cached_property
    def verdicts(self) -> tuple[ClaimVerdict, ...]:
        """Return the verdicts on the published statements."""
        published = {claim.id for claim in load_claims().claims}
        return tuple(verdict for verdict in self.judged if verdict.id in published)

    @property
    def run_id(self) -> str:
        return self.manifest.run_id

    @property
    def is_reference(self) -> bool:
        return (paths.reference() / self.run_id).is_dir()

    @property
    def origin(self) -> str:
        host = self.manifest.host
        return f"{self.manifest.started_at:%Y-%m-%d}, {host.cpu}, {count(host.cores)} cores"

    @property
    def name(self) -> str:
        """Return what a caption calls the run."""
        return f"reference run `{self.run_id}`" if self.is_reference else f"run `{self.run_id}`"

    @property
    def title(self) -> str:
        return f"{self.name[0].upper()}{self.name[1:]}"

    @property
    def stamp(self) -> str:
        """Return what a caption calls the run where a sentence begins."""
        return f"{self.title} [{self.manifest.note}]" if self.manifest.note else self.title

    def query(self, sql: str, parameters: queries.Parameters = ()) -> pl.DataFrame:
        given = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
        return pl.DataFrame(self.store.sql(sql, params=given).to_arrow_table())

    def evidence(self, pair: str) -> Evidence | None:
        """Return the one evidence of all rows on `pair`, else mixed; `None` where there is no row."""
        return pair_evidence(self.store, pair)

    def verdict(self, claim: str) -> ClaimVerdict | None:
        return next((verdict for verdict in self.judged if verdict.id == claim), None)

    def record(self, study: str, pair: str) -> StudyRecord | None:
        return next((record for record in self.manifest.studies if (record.name, record.pair) == (study, pair)), None)

    def facts(self) -> dict[str, str]:
        """Return what the page *This report* says of the run, by the names of its variables."""
        of: dict[str, list[str]] = {}
        for pair in self.manifest.pairs:
            of.setdefault(str(self.evidence(pair) or ""), []).append(pair)
        drawn: dict[tuple[str, str], list[int]] = {}
        for record in self.manifest.datasets:
            drawn.setdefault((record.name, self.manifest.source_of(record)), []).append(record.rows)
        known = {
            "evidence": [(word, pairs) for word, pairs in of.items() if word],
            "drawn": [(*key, rows, max(rows) / whole if (whole := published_rows(key[0])) else None) for key, rows in drawn.items()],
        }
        lines = fill("run.txt", run=self, shipped=self.is_reference, samples=self.manifest.samples, **known).splitlines()
        return dict(line.split(": ", 1) for line in lines if line)


def open_run(run_id: str = "", raw: Path | None = None, *, prices: Mapping[str, float] | None = None) -> Run:
    """Return the run `run_id` below `raw`, else the complete run finished last; `prices` (item -> price) replace those read."""
    refuse_old_parameters()
    raw, given = raw or paths.raw(), validate(prices or {}, dict[str, float], where="PRICES")
    chosen = run_id or newest_run(raw)
    if not chosen:
        raise NoRowsError("rows", why=f"no complete run lies in {paths.short(raw)}", remedy="make report measures and shows one")
    folder = find_run(chosen, raw)
    connection = open_views(folder.parent, folder.name)
    return Run(load_manifest(folder), connection, judged(folder, connection), folder, given)


def with_devices(run: Run, pair: str, devices: Mapping[str, str]) -> Run:
    """Return `run` with other `devices` (tier -> device file) on `pair`: its requests replayed, its rows simulated, its verdicts kept."""
    if not devices:
        return run
    if pair not in run.manifest.pairs:
        raise InputError("PAIR", value=pair, rule=f"no such pair in {run.run_id}; there are: {', '.join(run.manifest.pairs)}")
    chosen = validate(devices, dict[str, str], where="DEVICES")
    connection = open_views(run.folder.parent, run.run_id, lambda rows: retime(rows, run.folder, pair, chosen))
    return replace(run, store=connection, devices={**run.devices, pair: chosen})


def source_pair(source: str) -> str:
    return load_claims().sources[source].pair


def book_of(run: Run, on: date | None = None) -> Book:
    """Return the prices of the day `on`, or of the run's day, with those given for `run`."""
    return _book(on or run.manifest.started_at.date(), tuple(sorted(run.prices.items())))


def answer_of(run: Run) -> Answer:
    """Return ``tierwise cost`` on the run's day, with the load of the Zipfian reads."""
    return _answer(run.manifest.started_at.date(), tuple(sorted(run.prices.items())))


@cache
def _answer(on: date, given: tuple[tuple[str, float], ...]) -> Answer:
    return answer(_book(on, given))


@cache
def _book(on: date, given: tuple[tuple[str, float], ...]) -> Book:
    book = load_book(on)
    for item, price in given:
        book = book.with_price(item, price)
    return book
