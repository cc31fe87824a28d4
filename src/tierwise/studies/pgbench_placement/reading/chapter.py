"""Chapter on the pgbench study: verdicts, where the I/O goes, WAL and checkpoints, what is not stated, and the reader's own pair."""

from functools import partial
from statistics import median
from typing import Any, Final

from tierwise.analysis.statistics import MINIMUM_REPEATS, geometric_estimate
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, number, percent
from tierwise.report.no_answer import answered
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES, claim_sentence, estimated, marked
from tierwise.studies.pgbench_placement.reading.figures import PLACEMENTS, QUERY, SIZES, TPCB, mode, nothing

STUDY: Final = "pgbench_placement"
PHASES: Final = ("before", "checkpoint", "after")
SHOWN: Final = {
    "pgbench_accounts": "accounts",
    "pgbench_accounts_pkey": "accounts' primary key",
    "pgbench_history": "history",
    "wal": "WAL",
}
"""Relations with I/O worth a row."""
MIB: Final = 2**20
MOVED: Final = ("index_ssd", "table_ssd")
"""The placements that the chapter's title compares."""
RECORDS: Final = 5
"""The least records of WAL that a transaction of TPC-B writes: three updates, an insert, a commit."""


def answer(run: Run, pair: str) -> Sentence:
    """Return median transactions a second of each placement of the large set, in words; where too few windows are clean, why."""
    return answered(run, STUDY, pair, partial(_answer, pair=pair))


def _answer(run: Run, pair: str) -> str:
    rows = run.query(
        f"select placement, median(tps), median(cpu_share), any_value(slowdown) from pgbench_placement where pair = ? and {TPCB} "
        "and size = 'large' and io_mode = ? and judged = 'yes' and not flagged group by placement having enough(tps)",
        [pair, mode(run, pair)],
    ).rows()
    if len(rows) < 2:  # one rate alone compares nothing
        return ""
    rates = {placement: tps for placement, tps, *_ in rows}
    slowdown = rows[0][3]
    told = listed(f"{number(rates[name])} transactions a second with {words}" for name, words in PLACEMENTS.items() if name in rates)
    slowed = "" if slowdown == 1 else f" All tiers are slowed {slowdown:g}-fold, so that the processors follow: compare ratios, not rates."
    busy = max(share for *_, share, _ in rows)
    return (
        f"On pgbench's large set, eight clients get {told} (medians of clean windows, {run.evidence(pair)}, "
        f"{IO_MODES[mode(run, pair)]}).{slowed} "
        f"The processors were at most {percent(busy)} busy, in the median window."
    )


def finding(run: Run, pair: str) -> str:
    """Return how many times the transactions tables and indexes on SSD give, as a chapter's title; empty without enough clean repeats."""
    rows = run.query(
        f"select placement, list(ratio) as ratios from pgbench_placement where pair = ? and {TPCB} and size = 'large' "
        "and io_mode = ? and judged = 'yes' and not flagged and ratio is not null group by placement having enough(ratio)",
        [pair, mode(run, pair)],
    ).rows()
    gains = {placement: geometric_estimate(ratios).value for placement, ratios in rows}
    told = [f"{words} give {number(gain)} times" for place, words in PLACEMENTS.items() if place in MOVED and (gain := gains.get(place))]
    return f"{listed(told)} the disks' transactions ({run.evidence(pair)})" if len(told) == len(MOVED) else ""


def verdicts(run: Run, pair: str) -> Sentence:
    table = " @tbl-pgbench-io has the figures." if isinstance(io_by_relation(run, pair), Table) else ""
    told = (claim_sentence(claim) + (table if claim.id == "V5" else "") for claim in run.verdicts if claim.source == "V")
    return Sentence("\n\n".join(told))


def io_by_relation(run: Run, pair: str) -> Table | Sentence:
    """Tabulate for V5 accesses, misses and requests of each relation for each hundred transactions, phase by phase."""
    rows = run.query(
        f"""
        with judged as (
            select pair, trial, replicate, size, placement from pgbench_placement
            where {TPCB} and judged = 'yes' and io_mode = '{mode(run, pair)}' and not flagged
            qualify count(*) over (partition by pair, trial) >= {MINIMUM_REPEATS}
        )
        select size, placement, relation, phase,
               sum(hits)::double as hits, sum(reads)::double as reads, sum(pages_read)::double as pages_read,
               sum(requests_read)::double as requests_read, sum(sequential_reads)::double as sequential_reads,
               sum(requests_written)::double as requests_written, sum(io_s)::double as io_s,
               sum(phases.transactions)::double as transactions
        from pgbench_placement_relations as io
        join pgbench_placement_phases as phases using (run_id, pair, trial, replicate, step)
        semi join judged using (pair, trial, replicate)
        where pair = ? and placement in ('all_hdd', 'table_ssd') group by all
        """,
        [pair],
    ).rows(named=True)
    found = {(row["size"], row["placement"], row["relation"], row["phase"]): row for row in rows}
    keys = [
        (size, placement, relation, phase)
        for size in SIZES
        for placement in PLACEMENTS
        for relation in SHOWN
        for phase in PHASES
        if (size, placement, relation, phase) in found
    ]
    if not keys:
        return nothing(run, pair)
    return Table(
        ["Set", "Placement", "Relation", "Phase", "Found cached", "Read", "In sequence", "Written", "Device time"],
        [[key[0], PLACEMENTS[key[1]], SHOWN[key[2]], key[3], *_io_cells(found[key])] for key in keys],
        "Where the I/O of pgbench goes: pages found in shared buffers, of those asked for, as far as the server had told it (@sec-counted; "
        "a dash: not yet); then, for each hundred transactions and by the tiers' log, pages read, requests written, and milliseconds that "
        "the device models took for them; of the reads that reached the tier, those in sequence. The sums of all "
        f"clean replicates of the interleaving, {IO_MODES[mode(run, pair)]}. {run.note(pair, len(rows), 'groups', QUERY)}",
        align="llllrrrrr",
    )


def _io_cells(row: dict[str, Any]) -> list[str]:
    hundreds = (row["transactions"] or 0) / 100
    asked = (row["hits"] or 0) + (row["reads"] or 0)

    def per_hundred(value: float | None, factor: float = 1.0) -> str:
        return DASH if value is None or not hundreds else number(factor * value / hundreds)

    return [
        percent(row["hits"] / asked) if asked else DASH,
        per_hundred(row["pages_read"]),
        percent(row["sequential_reads"] / row["requests_read"]) if row["requests_read"] else DASH,
        per_hundred(row["requests_written"]),
        per_hundred(row["io_s"], 1e3),
    ]


def background(run: Run, pair: str) -> Table | Sentence:
    rows = run.query(
        f"""
        select size, placement, replicate, sum(transactions)::double as transactions,
               coalesce(sum((server -> 'wal' ->> 'wal_records')::double), 0) as wal_records,
               sum((server -> 'wal' ->> 'wal_bytes')::double) as wal_bytes, sum((server -> 'wal' ->> 'wal_fpi')::double) as full_pages,
               sum((server -> 'checkpointer' ->> 'buffers_written')::double) as checkpointed,
               sum(elapsed_s) filter (phase = 'checkpoint') as checkpoint_s,
               sum((server -> 'io/client backend/relation/normal' ->> 'evictions')::double) as evictions,
               sum((server -> 'io/client backend/relation/normal' ->> 'writes')::double) as own_writes
        from pgbench_placement_phases
        semi join (from pgbench_placement where {TPCB} and judged = 'yes' and not flagged) using (pair, trial, replicate)
        where pair = ? and io_mode = '{mode(run, pair)}' group by size, placement, replicate
        qualify count(*) over (partition by size, placement) >= {MINIMUM_REPEATS}
        """,
        [pair],
    ).rows(named=True)
    groups = [(size, name) for size in SIZES for name in PLACEMENTS if any((row["size"], row["placement"]) == (size, name) for row in rows)]
    if not groups:
        return nothing(run, pair)

    cells = [
        [size, PLACEMENTS[name], *_background_cells([row for row in rows if (row["size"], row["placement"]) == (size, name)])]
        for size, name in groups
    ]
    return Table(
        [
            "Set",
            "Placement",
            "WAL, MiB",
            "Full pages / transaction",
            "Checkpoint, pages",
            "Checkpoint time, s",
            "Evicted by clients",
            "Written by clients",
        ],
        cells,
        f"What else a clean window did: medians over the replicates of the interleaving, {IO_MODES[mode(run, pair)]}. A dash: when a "
        f"window closed the server had told fewer than {RECORDS} records of WAL for each transaction (three updates, an insert, a "
        "commit), because a busy session tells its counts late (@sec-counted). "
        f"{run.note(pair, len(rows), 'windows', QUERY)}",
        align="llrrrrrr",
    )


def _background_cells(windows: list[dict[str, Any]]) -> list[str]:

    def mid(value: str) -> float:
        return median(row[value] or 0.0 for row in windows)

    told = all(row["wal_records"] >= RECORDS * row["transactions"] for row in windows)
    return [
        number(mid("wal_bytes") / MIB) if told else DASH,
        percent(mid("full_pages") / max(1.0, mid("transactions"))) if told else DASH,
        count(round(mid("checkpointed"))),
        number(mid("checkpoint_s")),
        count(round(mid("evictions"))) if told else DASH,
        count(round(mid("own_writes"))) if told else DASH,
    ]


def here(run: Run) -> Sentence:
    pair = run.manifest.reader_pair
    if pair is None:
        return Sentence("No pair of your own was named in this run. `make report TIERS=local` adds the disk that this checkout lies on.")
    lines = [
        f"- {claim.id}: {marked(claim.here)}" + (f", {estimated(claim.here)}" if claim.here.estimate is not None else "")
        for claim in run.verdicts
        if claim.source == "V" and claim.here
    ]
    return Sentence("\n".join([f"The pair `{pair}` ({run.evidence(pair) or 'nothing measured'}):", "", *lines]))
