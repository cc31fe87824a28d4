"""Chapter on the pgbench study: why the gains are what they are here, and what it takes to get the published ones."""

from typing import Any, Final

from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, number, percent, percents
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES
from tierwise.studies.pgbench_placement.reading.figures import QUERY, SIZES, TPCB, mode
from tierwise.studies.pgbench_placement.reading.figures_map import gain_of, points

STUDY: Final = "pgbench_placement"
PUBLISHED_TABLES: Final = 3.0
"""The pgbench study, large set: tables on SSD gain more than 200 %."""
GAINED: Final = ("index_ssd", "table_ssd")


def mechanism(run: Run, pair: str) -> Sentence:
    """Say how much of the random reading is the index's, and so how much either relation can gain. Flagged windows miss the same pages."""
    judged = next((row for row in _conditions(run, pair) if row["judged_here"]), None)
    if judged is None or judged["share"] is None:
        return Sentence("")
    share, record = judged["share"], run.record(STUDY, pair)
    sizes = record.facts["size_bytes"]["large"] if record else {}
    of_data = sum(size for name, size in sizes.items() if name.endswith("_pkey")) / max(1, sum(sizes.values()))
    found = listed(
        f"{number(judged[name])} with {word}" for name, word in zip(GAINED, ("indexes", "tables"), strict=True) if judged[name] is not None
    )
    return Sentence(
        f"With everything on HDD, {percent(share)} of the pages that the large set misses are the indexes', which are {percent(of_data)} "
        "of the data: they are asked for several times as often as pages of the table, so they stay cached. What moves to the SSD costs "
        "next to nothing there, so that the other relation's misses remain: were these all, indexes on SSD would gain "
        f"{number(1 / (1 - share))} and tables {number(1 / share) if share else 'without limit'}; found are {found or 'none'}. What is "
        "missing to that are the writes: commits, checkpoints, and pages that are written to free space."
    )


def one_cause(run: Run, pair: str) -> Sentence:
    """Return both published gains come of one share of the misses; at what size of the indexes the map has it."""
    low, high = next(claim.bounds for claim in run.verdicts if claim.id == "V1") or (None, None)
    if low is None or high is None:
        return Sentence("")
    shares = (1 - 1 / low, 1 - 1 / high)
    text = (
        f"Reckoned by misses alone, the pgbench study's gains tell one story: indexes gain {number(low)} to {number(high)} where they have "
        f"{percents(shares)} of the misses, and tables gain more than {number(PUBLISHED_TABLES)} where the indexes have less than "
        f"{percent(1 / PUBLISHED_TABLES)}. So one share explains both."
    )
    curve = sorted(
        (float(point["index_to_memory"]), 1 - gain_of(point, "all_hdd") / gain_of(point, "index_ssd"))
        for point in points(run, pair)
        if not point["skew"] and point["writes"] == 1.0
    )
    near = [size for size, share in curve if shares[0] * 0.8 <= share <= shares[1] * 1.2]
    if near:
        text += (
            f" The map comes near to that share at indexes of {listed(number(size) for size in near)} times the memory. By the published "
            "sizes they were 0.4 times the RAM: so the server had about half of it for pages, or a page lay there twice. That is an "
            "inference, not a measurement."
        )
    return Sentence(text)


def conditions(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the indexes' share of the misses under each condition that was measured, and the gains that it predicts and that were
    found.
    """
    rows = _conditions(run, pair)
    if not rows:
        return Sentence(f"No window of this run is about the large set on the pair `{pair}`.")
    cells = [
        [
            IO_MODES[row["io_mode"]],
            row["script"],
            count(int(row["clients"])),
            DASH if row["index_to_memory"] is None else number(row["index_to_memory"]),
            DASH if row["share"] is None else percent(row["share"]),
            *(cell for name in GAINED for cell in (_predicted(name, row["share"]), DASH if row[name] is None else number(row[name]))),
        ]
        for row in rows
    ]
    return Table(
        ["I/O", "Script", "Clients", "Index / memory", "Index's share", "Indexes: bound", "found", "Tables: bound", "found"],
        cells,
        "The indexes' share of the misses with everything on HDD, on the large set; the gain that moving indexes or tables could have if "
        "only misses counted (bound); and the gain that was found in unflagged windows, a geometric mean. The pgbench study does "
        "not state clients and script, nor how its server did I/O. Misses are the pages read by the tiers' log, where they have one; under "
        "buffered I/O those that the server had told (@sec-counted), which may be found in the page cache. "
        f"{run.note(pair, sum(row['n'] for row in rows), 'windows', QUERY)}",
        align="llrrrrrrr",
    )


def processors(run: Run, pair: str) -> Table | Sentence:
    """Return how busy the processors were at each factor by which the tiers were slowed, and the rate."""
    rows = run.query(
        f"""
        select size, io_mode, slowdown, max(cpu_share) as cpu_share,
               min(tps) filter (len(flags) = 0) as least, max(tps) filter (len(flags) = 0) as most,
               enough(if(len(flags) = 0, tps, null)) as told,
               count(*) filter (list_contains(flags, 'cpu')) as flagged, count(*) as n
        from pgbench_placement_windows where pair = ? and {TPCB.replace("memory = '1'", "memory = 1")} group by all
        """,
        [pair],
    ).rows(named=True)
    if not rows:
        return Sentence("")
    rows.sort(key=lambda row: (list(SIZES).index(row["size"]), row["io_mode"] != mode(run, pair), row["slowdown"]))
    return Table(
        ["Set", "I/O", "Tiers slowed", "Transactions/s", "Processors busy, at most", "Flagged windows", "n"],
        [
            [
                row["size"],
                IO_MODES[row["io_mode"]],
                f"{row['slowdown']:g}-fold" if row["slowdown"] != 1 else "no",
                f"{number(row['least'])} to {number(row['most'])}" if row["told"] else DASH,
                percent(row["cpu_share"]),
                count(row["flagged"]),
                count(row["n"]),
            ]
            for row in rows
        ],
        "Where the processors, not the tiers, bound the rate: all placements of a set together; transactions of clean windows. A "
        f"window with the processors of the "
        f"whole machine busier than 85 % is flagged. {run.note(pair, sum(row['n'] for row in rows), 'windows', QUERY)}",
        align="lllrrrr",
    )


def _predicted(name: str, share: float | None) -> str:
    if share is None or share in {0.0, 1.0}:
        return DASH
    return number(1 / (1 - share) if name == "index_ssd" else 1 / share)


def _gain(placement: str) -> str:
    clean = f"case when placement = '{placement}' and not flagged then ratio end"
    return f"if(enough({clean}), exp(avg(ln({clean}))), null)"


def _conditions(run: Run, pair: str) -> list[dict[str, Any]]:
    """Share of the misses and geometric mean gains by I/O mode, script, clients and memory of the large set; the judged condition first."""
    rows = run.query(
        f"""
        select io_mode, script, clients, memory, {TPCB} and io_mode = '{mode(run, pair)}' as judged_here,
               sum(index_reads) filter (placement = 'all_hdd') / nullif(sum(index_reads + table_reads) filter (placement = 'all_hdd'), 0)
                   as share,
               {_gain("index_ssd")} as index_ssd, {_gain("table_ssd")} as table_ssd,
               count(*) as n
        from pgbench_placement where pair = ? and size = 'large' and judged = 'yes' group by all
        """,
        [pair],
    ).rows(named=True)
    record = run.record(STUDY, pair)
    sizes = record.facts["size_bytes"]["large"] if record else {}
    index_bytes = sum(size for name, size in sizes.items() if name.endswith("_pkey"))
    unit = index_bytes / sum(sizes.values()) / record.facts["memory_share"] if record and sizes else None
    for row in rows:
        row["index_to_memory"] = unit / float(row["memory"]) if unit else None
    return sorted(
        rows,
        key=lambda row: (
            not row["judged_here"],
            row["io_mode"] != mode(run, pair),
            -float(row["memory"]),
            row["script"],
            int(row["clients"]),
        ),
    )
