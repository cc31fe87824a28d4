"""Chapter on the pgbench study, its simulated part: which placement wins where, beside windows of real pgbench, other uses of the SSD."""

from typing import Any, Final

from tierwise.core import studies
from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, difference, listed, number, percent
from tierwise.report.prices import run_note
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.figures import PLACEMENTS, QUERY
from tierwise.studies.pgbench_placement.reading.figures_map import LAYOUTS, LIVE, STUDY, gain_of, live_gains, points

MOVED: Final = ("index_ssd", "table_ssd", "all_ssd")
OTHER_USES: Final = {
    "index_ssd": "Indexes",
    "hot_ssd": "First partition",
    "heat": "Hottest partitions",
    "dm_cache": "dm-cache",
    "l2arc": "L2ARC",
}
"""What an SSD of the index's size can do, as the map names it, and for a reader."""
WHERE: Final = ["Index / memory", "Skew", "Popular rows", "Updates"]
NONE: Final = Sentence("This run simulated no map of placements; `make report PROFILE=full` does.")


def flip_map(run: Run, pair: str) -> Table | Sentence:
    """Return simulated gains of each placement by type at each point, and which of table and index to move first."""
    rows = []
    for point in points(run, pair):
        gains = {name: gain_of(point, name) for name in MOVED}
        first = "tables" if gains["table_ssd"] > gains["index_ssd"] else "indexes"
        rows.append([*_where(point), *(number(gains[name]) for name in MOVED), first])
    if not rows:  # as `who_wins` says
        return Sentence("")
    return Table(
        [*WHERE, *(_words(name) for name in MOVED), "First"],
        rows,
        f"Transactions a second over those with everything on HDD, simulated: the misses of shared buffers, the commits "
        f"and a checkpoint of one load, replayed on each placement; geometric means over {_seeds(run, pair)} seeds. "
        "A row that finds its page full when it is updated moves to another, and its index is written, as in PostgreSQL. "
        "Not modelled: waits for locks, group commit, hint bits, and how long a slow transaction holds back what others may remove. "
        f"{_from(run, pair, rows)}",
        align="rrlrrrrl",
    )


def who_wins(run: Run, pair: str) -> Sentence:
    """Return where tables are to be moved first, and where indexes."""
    by: dict[str, list[dict[str, Any]]] = {"tables": [], "indexes": []}
    for point in points(run, pair):
        by["tables" if gain_of(point, "table_ssd") > gain_of(point, "index_ssd") else "indexes"].append(point)
    every = len(by["tables"]) + len(by["indexes"])
    if not every:
        return NONE
    told = f"Tables first is right at {count(len(by['tables']))} of {count(every)} points of the {Evidence.SIMULATED} map"
    if not by["indexes"]:
        return Sentence(f"{told}, and indexes first at none: whatever an index misses, its table misses more.")
    layouts = listed(sorted({LAYOUTS[point["layout"]] for point in by["indexes"]}))
    least = min(point["index_to_memory"] for point in by["indexes"])
    return Sentence(
        f"{told}. Indexes first is right at the other {count(len(by['indexes']))}, all with popular rows {layouts}, and indexes of "
        f"{number(least)} times the memory or more: there the hot part of the table is small and stays cached, while the leaves that "
        "lead to it lie all over the index. Both camps may have measured rightly, then: what decides is not the type of a relation but "
        "which of the two is missed more."
    )


def spot_checks(run: Run, pair: str) -> Table | Sentence:
    """Return the points at which pgbench ran as well: both gains, and how far the simulated one is off."""
    rows, windows, errors = [], 0, []
    live = run.query(studies.text(STUDY, LIVE), [pair])
    for point in points(run, pair):
        for found in live_gains(live, point):
            simulated = gain_of(point, found["placement"])
            windows += found["n"]
            errors.append(simulated / found["gain"] - 1)
            rows.append([*_where(point), _words(found["placement"]), number(simulated), number(found["gain"]), difference(1 + errors[-1])])
    if not rows:
        return Sentence("No point of the map was measured in this run, so its error is not known here.")
    return Table(
        [*WHERE, "Placement", "Simulated", "Emulated", "Error"],
        rows,
        f"Points of the map that real pgbench ran at as well, all tiers slowed by the same factor: gains over everything on HDD, "
        f"**{Evidence.SIMULATED}** and **{Evidence.EMULATED}**, and how far the simulated one is off; the largest error is "
        f"{percent(max(map(abs, errors)))}. {run.note(pair, windows, 'paired ratios', QUERY)}",
        align="rrlrlrrr",
    )


def other_uses(run: Run, pair: str) -> Table | Sentence:
    """Return what else an SSD of the index's size gains: hot partitions on it, or a cache before the disks."""
    rows = [
        [*_where(point), *(number(gain_of(point, name)) if name in point["tps"] else DASH for name in OTHER_USES)]
        for point in points(run, pair)
        if any(name in point["tps"] for name in OTHER_USES if name != "index_ssd")
    ]
    if not rows:
        return Sentence("Without a map there is nothing to place otherwise than by type.")
    return Table(
        [*WHERE, *OTHER_USES.values()],
        rows,
        f"Transactions a second over those with everything on HDD, simulated, with an SSD as large as the index: for the "
        "index; for the first of sixteen partitions and its index alone, where popular rows lie in it; for whichever of the index and the "
        "partitions is read most for its size; as a cache before the disks that promotes what is read twice "
        "(after dm-cache) or is fed what is read (after L2ARC), warmed. "
        f"{_from(run, pair, rows)}",
        align="rrlrrrrrr",
    )


def _from(run: Run, pair: str, rows: list[list[str]]) -> str:
    return (
        f"{run_note(run, Evidence.SIMULATED, len(rows), 'points')} Pair `{pair}`; from the run's manifest, by "
        "`studies/pgbench_placement/measuring/simulated_maps.py`."
    )


def _where(point: dict[str, Any]) -> list[str]:
    skewed = [number(point["skew"]), LAYOUTS[point["layout"]]] if point["skew"] else [DASH, DASH]
    return [number(point["index_to_memory"]), *skewed, percent(point["writes"])]


def _words(placement: str) -> str:
    return {**PLACEMENTS, "hot_ssd": "first partition on SSD"}[placement]


def _seeds(run: Run, pair: str) -> int:
    return max(len(point["tps"]["all_hdd"]) for point in points(run, pair))
