"""Chapter on source V, its simulated part: which placement wins where, held against windows that were measured, and placement by heat."""

from itertools import pairwise
from typing import Any, Final

from tierwise.analysis.statistics import geometric_estimate
from tierwise.report.display import Sentence, Table
from tierwise.report.figures.pgbench_placement import PLACEMENTS
from tierwise.report.formats import DASH, count, number, percent
from tierwise.report.run import Run

STUDY: Final = "pgbench_placement"
MOVED: Final = ("index_ssd", "table_ssd", "all_ssd")
NONE: Final = Sentence("This run simulated no map of placements; `make report PROFILE=full` does.")


def points(run: Run, pair: str) -> list[dict[str, Any]]:
    """Every point of the map, as the run's manifest keeps it."""
    record = run.record(STUDY, pair)
    return list(record.facts.get("flip_map") or []) if record else []


def flip_map(run: Run, pair: str) -> Table | Sentence:
    """Simulated gains of each placement by type over memory, skew and write share, and which of table and index to move first."""
    rows = []
    for point in points(run, pair):
        gains = {name: _gain(point, name, "all_hdd") for name in MOVED}
        first = "tables" if gains["table_ssd"] > gains["index_ssd"] else "indexes"
        rows.append([*_where(point), *(number(gains[name]) for name in MOVED), first])
    if not rows:
        return NONE
    return Table(
        ["Index / memory", "Skew", "Updates", *(_words(name) for name in MOVED), "First"],
        rows,
        "Transactions a second over those with everything on HDD, **simulated**: the misses of shared "
        "buffers, the commits and a checkpoint of one "
        f"load, replayed on each placement; geometric means over {_seeds(run, pair)} seeds. Without "
        "processors, so an upper bound of the gain. "
        f"Run `{run.run_id}`, pair `{pair}`, n = {count(len(rows))} points; from the run's manifest.",
        align="rrrrrrl",
    )


def spot_checks(run: Run, pair: str) -> Table | Sentence:
    """The points that were measured as well: both gains, and how far the simulated one is off."""
    live = run.query(
        "select script, memory, slowdown, placement, exp(avg(ln(ratio))) as gain, count(*) as n from pgbench_placement "
        "where pair = ? and size = 'large' and arm = 'direct' and clients = '8' and not flagged and ratio is "
        "not null and placement <> 'all_hdd' "
        "group by all",
        [pair],
    ).rows(named=True)
    rows, windows = [], 0
    for point in points(run, pair):
        script = f"{100 * point['writes']:.0f} % writes, skew {point['skew']}"
        for found in live:
            if (found["script"], float(found["memory"]), found["slowdown"]) == (script, point["memory"], point["slowdown"]):
                simulated = _gain(point, found["placement"], "all_hdd")
                windows += found["n"]
                error = simulated / found["gain"] - 1
                rows.append([*_where(point), _words(found["placement"]), number(simulated), number(found["gain"]), f"{100 * error:+.0f} %"])
    if not rows:
        return Sentence("No point of the map was measured in this run, so its error is not known here.")
    return Table(
        ["Index / memory", "Skew", "Updates", "Placement", "Simulated", "Emulated", "Error"],
        rows,
        "Points of the map that pgbench ran at as well, all tiers slowed by the same factor: gains over "
        "everything on HDD, and how far the simulated "
        "one is off. "
        f"Run `{run.run_id}`, pair `{pair}`, n = {count(windows)} paired ratios. Query: `analysis/studies/pgbench_placement.sql`.",
        align="rrrlrrr",
    )


def published_gain(run: Run, pair: str) -> Sentence:
    """How large the indexes would have to be beside the memory for the gain that source V published for them (V1)."""
    bounds = next(claim.bounds for claim in run.verdicts if claim.id == "V1")
    every = sorted(points(run, pair), key=lambda point: float(point["index_to_memory"]))
    uniform = [point for point in every if not point["skew"] and point["writes"] == 1.0]
    if not uniform or bounds is None:
        return Sentence("")
    curve = [(float(point["index_to_memory"]), _gain(point, "index_ssd", "all_hdd")) for point in uniform]
    found = [size for bound in bounds if bound is not None and (size := reaching(curve, bound)) is not None]
    told = f"at indexes of {' to '.join(number(size) for size in found)} times the memory" if found else "at no point of it"
    return Sentence(
        "With uniform keys and updates alone, the map reaches the gain that source V published for indexes "
        f"on SSD {told}; by its own figures they were "
        "0.4 times the RAM. A server that keeps its pages twice, in shared buffers and in the page cache, "
        "has less memory than RAM, and that is the "
        "explanation that fits: an inference, not a measurement."
    )


def reaching(curve: list[tuple[float, float]], gain: float) -> float | None:
    """Where the curve (size, gain), by size, first crosses `gain`, on straight lines."""
    for (size, low), (next_size, high) in pairwise(curve):
        if low <= gain <= high:
            return size + (next_size - size) * (gain - low) / (high - low) if high > low else size
    return None


def heat(run: Run, pair: str) -> Table | Sentence:
    """Hot partitions on an SSD of the index's size, where popular rows lie side by side."""
    rows = [
        [
            *_where(point),
            number(_gain(point, "side_by_side_index_ssd", "side_by_side_all_hdd")),
            number(_gain(point, "side_by_side_heat", "side_by_side_all_hdd")),
        ]
        for point in points(run, pair)
        if "side_by_side_heat" in point["tps"]
    ]
    if not rows:
        return Sentence("Without a map there is nothing to place by heat.")
    return Table(
        ["Index / memory", "Skew", "Updates", "Indexes on SSD", "By heat"],
        rows,
        "Transactions a second over those with everything on HDD, **simulated**, where popular rows lie side "
        "by side, as in a table that grows "
        "by time: with an SSD of the index's size for the index, or for whichever of index and sixteen "
        "partitions is read most for its size. "
        f"Run `{run.run_id}`, pair `{pair}`, n = {count(len(rows))} points; from the run's manifest.",
        align="rrrrr",
    )


def _where(point: dict[str, Any]) -> list[str]:
    return [number(point["index_to_memory"]), number(point["skew"]) if point["skew"] else DASH, percent(point["writes"])]


def _gain(point: dict[str, Any], name: str, base: str) -> float:
    value = geometric_estimate([tps / other for tps, other in zip(point["tps"][name], point["tps"][base], strict=True)]).value
    assert value is not None, "a point has a seed at least"
    return value


def _words(placement: str) -> str:
    return PLACEMENTS[placement].capitalize().replace("ssd", "SSD")


def _seeds(run: Run, pair: str) -> int:
    return max(len(point["tps"]["all_hdd"]) for point in points(run, pair))
