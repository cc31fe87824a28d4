"""Valid run folders with chosen timings, log-normal around plausible figures, for tests of the reading side only."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.analysis.judging import ClaimVerdict, named
from tierwise.core.host import Host
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.timings.manifest import DatasetRecord, Manifest, StudyRecord
from tierwise.timings.schema import Origin, RelationIo, TierIo, Timing, frame

STARTED: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CROSS: Final = {"FL": "PR", "PR": "NV", "NV": "FL"}
PLACEMENTS: Final = (("hdd", "hdd"), ("hdd", "ssd"), ("ssd", "hdd"), ("ssd", "ssd"))  # (table, index)
POB: Final = {"FL": 12, "PR": 72, "NV": 32}
ROWS: Final = {"FL": 54_445, "PR": 10_134, "NV": 4_722}
HEAP_READS: Final = {"FL": 18_000, "PR": 6_200, "NV": 1_800}
INDEX_READS: Final = {"FL": 16, "PR": 9, "NV": 7}
ELAPSED_S: Final = {  # of table and index on hdd; on ssd the table's reads take a fraction of it
    "cold": {"FL": 8.2, "PR": 5.9, "NV": 4.7},
    "hot": {"FL": 0.060, "PR": 0.020, "NV": 0.010},
    "cross": {"FL": 8.1, "PR": 5.4, "NV": 4.5},
}
SERVICE_S: Final = {"hdd": 4e-4, "ssd": 1e-4}
TABLE_ON_SSD: Final = {"FL": 0.89, "PR": 0.57, "NV": 0.14}
CACHED: Final = "heap-cached"  # the variant whose queries find every page of the table in shared buffers
RATIO: Final = 0.99  # index on ssd over index on hdd where a test names no ratio

Ratios = Mapping[tuple[str, str], float]  # (cache, state) -> true ratio; the states of ``cross`` are ``FL->PR``, ``PR->NV``, ``NV->FL``


@dataclass(frozen=True)
class Trial:
    table: str
    index: str
    start: str
    variant: str | None
    pace: float
    evidence_of: Mapping[str, Evidence]  # of each tier

    @property
    def cell(self) -> dict[str, str]:
        named = {"index": self.index, "start": self.start, "table": self.table}
        return named if self.variant is None else {**named, "variant": self.variant}


def others(verdict: ClaimVerdict) -> dict[str, ClaimVerdict]:
    """Return what every other variant and I/O mode says, by name: ``grown (buffered)``."""
    return {named(one): one for one in verdict.others}


def trial_of(cell: Mapping[str, object]) -> str:
    return "/".join(f"{name}={value}" for name, value in sorted(cell.items()))


def study_record(name: str, pair: str, *, trials: tuple[str, ...] = (), replicates: int = 5, **facts: Any) -> StudyRecord:
    return StudyRecord(name=name, pair=pair, trials=trials, replicates=replicates, settings={}, server_version="18.6", facts=facts)


def make_run(raw: Path, *, complete: bool = True, profile: str = "quick", reader_pair: str | None = None, **rows: Any) -> Path:
    """One run of ``index_placement`` on one pair and one I/O mode, with rows as `make_rows` takes them; returns its folder."""
    return save_run(raw, make_rows(**rows), complete=complete, profile=profile, reader_pair=reader_pair)


def make_rows(
    *,
    run_id: str = "20260102-030405-abcd",
    ratios: Ratios | None = None,
    replicates: int = 5,
    pair: str = "source-m",
    evidence: Evidence = Evidence.EMULATED,
    io_mode: IoMode = IoMode.DIRECT,
    seed: int = 0,
    sigma: float = 0.01,
    variant: str | None = "published",
    states: Sequence[str] = tuple(CROSS),
    pace: float = 1.0,
) -> pl.DataFrame:
    """Rows of every trial in every replicate; `MIXED`: hdd emulated, ssd measured; `pace`: a `variant`'s time over the published one."""
    draw = random.Random(seed)
    mixed = {"hdd": Evidence.EMULATED, "ssd": Evidence.MEASURED}
    evidence_of = mixed if evidence is Evidence.MIXED else dict.fromkeys(mixed, evidence)
    placements = PLACEMENTS if variant in {None, "published"} else PLACEMENTS[:2]
    trials = [Trial(table, index, start, variant, pace, evidence_of) for table, index in placements for start in states]
    parts: list[pl.DataFrame] = []
    for replicate in range(replicates):
        for trial in draw.sample(trials, len(trials)):
            of_both = Evidence.of({evidence_of[trial.table], evidence_of[trial.index]})
            named = trial_of({"io_mode": io_mode, **trial.cell})
            origin = Origin(run_id, "index_placement", pair, of_both, io_mode, named, replicate, len(parts))
            parts.append(frame(origin, list(_timings(draw, origin, trial, ratios or {}, sigma))))
    return pl.concat(parts)


def save_run(raw: Path, rows: pl.DataFrame, **manifest: Any) -> Path:
    """`rows` (of one run, any pairs and I/O modes) and a manifest that fits them; an incomplete run has no finish."""
    folder = raw / str(rows["run_id"][0])
    folder.mkdir(parents=True)
    rows.sort("sequence", "step").write_parquet(folder / "timings.parquet")
    make_manifest(rows, **manifest).save(folder)
    return folder


def make_manifest(rows: pl.DataFrame, *, complete: bool = True, profile: str = "quick", reader_pair: str | None = None) -> Manifest:
    replicates = int(rows["replicate"].n_unique())
    pairs = sorted(rows["pair"].unique())
    return Manifest(
        run_id=rows["run_id"][0],
        status="complete" if complete else "running",
        profile={"name": profile, "fraction": 0.1, "replicates": replicates, "io_modes": sorted(rows["io_mode"].unique())},
        pairs={pair: pair_record(pair) for pair in pairs},
        reader_pair=reader_pair,
        seed=1,
        code_version="0.1.0",
        host=HOST,
        packages={"duckdb": "2.0.0", "polars": "2.0.0"},
        started_at=STARTED,
        finished_at=STARTED + timedelta(minutes=10) if complete else None,
        datasets=(
            DatasetRecord(
                name="census", rows=245_828, sha256="3" * 64, provenance={"source": "synthetic", "seed": 1}, studies=("index_placement",)
            ),
        ),
        studies=tuple(
            StudyRecord(
                name="index_placement",
                pair=pair,
                trials=tuple(sorted(rows.filter(pl.col("pair") == pair)["trial"].unique())),
                replicates=replicates,
                settings={"shared_buffers": "128MB", "debug_io_direct": "data", "enable_indexonlyscan": "off"},
                server_version="18.6",
                facts=FACTS,
            )
            for pair in pairs
        ),
    )


def pair_record(name: str) -> dict[str, Any]:
    parameter = {"value": 7200.0, "unit": "1/min", "source": "data sheet", "fitted_on": None}
    return {
        "name": name,
        "description": "hdd and ssd",
        "tiers": {"hdd": {"kind": "emulated", "device": "disk"}, "ssd": {"kind": "emulated", "device": "flash"}},
        "devices": {"disk": {"kind": "hdd", "rotation": parameter}, "flash": {"kind": "ssd", "read_latency": {**parameter, "value": 1e-4}}},
    }


HOST: Final = Host(
    system="Linux",
    kernel="6.18",
    distribution="Debian GNU/Linux 12",
    architecture="x86_64",
    cpu="a processor",
    cores=2,
    memory_bytes=8 * 2**30,
    virtualized=True,
    python="3.11.2",
)
PLANNED: Final = {
    "12": {"rows": 5_210.0, "total_cost": 3_800.1, "found_rows": 5_445},
    "72": {"rows": 990.0, "total_cost": 1_200.4, "found_rows": 1_013},
    "32": {"rows": 480.0, "total_cost": 640.9, "found_rows": 472},
    "33": {"rows": 1_170.0, "total_cost": 1_410.0, "found_rows": 1_300},
}
FACTS: Final[dict[str, Any]] = {
    "size_bytes": {"census": 106_000_000, "pob": 5_400_000, "census_pkey": 5_400_000},
    "cold_pages": {state: {"census": HEAP_READS[state], "pob": INDEX_READS[state], "census_pkey": 1} for state in POB},
    "planner": {
        "statistics_target": 10,
        "correlation": 0.5,
        "published_switches": {code: {"scan": "Index Scan using pob on census", **planned} for code, planned in PLANNED.items()},
        "today": {code: {"scan": "Bitmap Heap Scan on census", **planned} for code, planned in PLANNED.items()},
    },
}


def _timings(draw: random.Random, origin: Origin, trial: Trial, ratios: Ratios, sigma: float) -> Iterator[Timing]:
    table, index, start = trial.table, trial.index, trial.start
    for step, cache in enumerate((Cache.COLD, Cache.HOT, Cache.CROSS)):
        state = CROSS[start] if cache is Cache.CROSS else start
        label = f"{start}->{state}" if cache is Cache.CROSS else state
        true_ratio = ratios.get((cache, label), RATIO) if index == "ssd" else 1.0
        moved = TABLE_ON_SSD[state] if table == "ssd" and cache is not Cache.HOT else 1.0
        heap, pages = (0, 0) if cache is Cache.HOT else (0 if trial.variant == CACHED else HEAP_READS[state], INDEX_READS[state])
        key = 1 if cache is Cache.COLD else 0  # planning reads the metapage of every index
        reads = Counter({table: heap + key}) + Counter({index: pages})
        yield Timing(
            cell={"io_mode": origin.io_mode, "state": state, **trial.cell},
            cache=cache,
            operation=f"select count(*) from census where pob = {POB[state]}",
            started_at=STARTED + timedelta(seconds=60 * origin.sequence + 15 * step),
            elapsed_s=ELAPSED_S[cache][state] * trial.pace * true_ratio * moved * draw.lognormvariate(0.0, sigma),
            result_rows=ROWS[state],
            relation_io=(
                _relation_io(trial, "census", HEAP_READS[state] - heap, heap),
                _relation_io(trial, "pob", INDEX_READS[state] - pages, pages),
                _relation_io(trial, "census_pkey", 1 - key, key),
            ),
            tier_io=tuple(_tier_io(tier, trial.evidence_of[tier], reads[tier]) for tier in sorted({table, index})),
            proof={"resident_pages": 0} if cache is Cache.COLD else {},
        )


def _relation_io(trial: Trial, relation: str, hits: int, reads: int) -> RelationIo:
    tier = trial.index if relation == "pob" else trial.table
    bare = RelationIo(relation, "table" if relation == "census" else "index", tier, hits, reads)
    logged = trial.evidence_of[tier] is Evidence.EMULATED
    return replace(bare, io_s=reads * SERVICE_S[tier], io_basis="emulator's log") if logged else bare


def _tier_io(tier: str, evidence: Evidence, reads: int) -> TierIo:
    if evidence is not Evidence.EMULATED:
        return TierIo(tier, evidence, None)
    service_s = SERVICE_S[tier]
    device = "disk" if tier == "hdd" else "flash"
    return TierIo(tier, evidence, device, reads, reads * 8192, 0, 0, reads * service_s, reads * service_s * 1.01)
