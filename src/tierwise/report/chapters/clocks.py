"""Appendix: how the run's time went, and what was counted beside what was waited for."""

import math
from typing import Any, Final

from tierwise.report.display import Sentence, Table
from tierwise.report.figures.clocks import QUERY, held
from tierwise.report.formats import DASH, count, difference, listed, number, percent, seconds
from tierwise.report.run import Run
from tierwise.report.words import cell_words

CLOCKS: Final = {
    "real": "waited for, in real time",
    "virtual-one": "counted, one session",
    "virtual-several": "counted, several sessions",
}


def told(run: Run) -> Sentence:
    """Return which rows of emulated tiers went by which clock, and why any had to be waited for."""
    rows = run.query(
        "select study, clock, count(*) as n from timings where evidence in ('emulated', 'mixed') group by all order by study, clock"
    )
    if rows.is_empty():
        return Sentence("This run has no row of an emulated tier, so no clock was counted.")
    each = (f"`{study}` {count(n)} {CLOCKS[clock]}" for study, clock, n in rows.iter_rows())
    why = [text for text in run.manifest.clocks.values() if text != "virtual"]
    several = f" Several sessions at once ran in {why[0]}." if why else ""
    return Sentence(f"Rows of emulated tiers by clock: {'; '.join(each)}.{several}")


def beside(run: Run) -> Table | Sentence:
    rows = held(run)
    if rows.is_empty():
        return Sentence("No cell of this run was both counted and waited for.")
    lines = [
        [
            f"`{row['study']}`",
            cell_words(row["cell"]) + ("" if row["cache"] == "none" else f", {row['cache']}"),
            *_figures(row),
            listed(row["flags"]) or DASH,
        ]
        for row in rows.iter_rows(named=True)
    ]
    return Table(
        ["Study", "Cell", "Counted", "Waited for", "Difference", "Flags of the real-time row"],
        lines,
        "Cells that were counted in every replicate and, drawn by the run's seed, also waited for in the first one. Of a query what its "
        "requests asked of the device models (counted: median of the replicates); of a window its transactions or reads a second. "
        f"One repetition is waited for, and platters stand elsewhere in each. {run.stamp}, **emulated**, n = {len(lines)} cells. "
        f"Query: `{QUERY}`.",
        align="llrrrl",
    )


def _figures(row: dict[str, Any]) -> list[str]:
    if row["clock"] == "virtual-one":
        ours, theirs = row["virtual_device_s"], row["requests_s"]
        return [seconds(ours), seconds(theirs), _difference(ours, theirs) if theirs else DASH]
    ours, theirs = row["virtual_per_s"], row["per_s"]
    if not (ours and theirs):
        ours, theirs = row["virtual_s"], row["elapsed_s"]  # a move, which answers nothing
        return [seconds(ours), seconds(theirs), _difference(ours, theirs)]
    return [f"{number(ours)}/s", f"{number(theirs)}/s", _difference(ours, theirs)]


def _difference(ours: float, theirs: float) -> str:
    return difference(ours / theirs)


def spread(run: Run) -> Sentence:
    """Return how far counted repetitions of a cell lie apart, devices and host told apart."""
    rows = run.query(
        "select cache, stddev_samp(device_s) / avg(elapsed_s) as devices, stddev_samp(cpu_s) / avg(elapsed_s) as host "
        "from raw_timings where clock = 'virtual-one' and cache in ('cold', 'cross') and len(flags) = 0 "
        "group by study, pair, trial, step, cache having enough(elapsed_s)"
    )
    if rows.is_empty():
        return Sentence("No cold query of this run was counted often enough to say how far its repetitions scatter.")
    middle = {name: float(rows[name].median()) for name in ("devices", "host")}  # type: ignore[arg-type]
    assert all(math.isfinite(value) for value in middle.values())
    return Sentence(
        f"Of {count(len(rows))} cold and cross queries the counted repetitions scatter, as a share of the whole time and in the middle of "
        f"the cells, by {percent(middle['devices'])} in the devices' part, where platters stand elsewhere in each, and by "
        f"{percent(middle['host'])} in the host's, before it is made steady."
    )
