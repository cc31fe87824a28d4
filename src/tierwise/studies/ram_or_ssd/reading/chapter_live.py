"""The Zipfian reads, live on a scaled file, beside their model: what came of it, how far apart, and the proof of cold and limit."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import Estimate, enough, estimable, geometric_estimate, paired_ratios
from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, difference, listed, number, percent, span
from tierwise.report.run import Run

STUDY: Final = "ram_or_ssd"
QUERY: Final = studies.path(STUDY, ROWS)
PAIR: Final = "source-r-live"
TIERS: Final = {"disk": "this machine's disk", "hdd": "the disk drive", "ssd": "the SSD"}
CELL: Final = ("tier", "dataset_gib", "cache_gib", "scale", "advice")


def beside_its_model(run: Run) -> Table | Sentence:
    """Tabulate live reads a second with their interval, by tier, size and advice, and those of each model with its error; of unflagged
    replicates.
    """
    rows = _rows(run)
    if rows.is_empty():
        return nothing(run)
    cells = [
        line for (tier, size, _, _, advice), cell in rows.group_by(CELL, maintain_order=True) for line in _lines(tier, size, advice, cell)
    ]
    live = rows.filter(how="live")
    flagged = int(live["flagged"].sum())
    scale, cache_gib = live["scale"][0], live["cache_gib"][0]
    return Table(
        ["Tier", "Stamp", "Data, GiB", "Advice", "Read around, pages", "Reads/s", "95 % interval", "Missed", "Device reads/s", "Apart"],
        cells,
        f"Eight threads read a file of 1/{scale} of the size through mmap, with space for 1/{scale} of {cache_gib} GiB: measured phase, "
        "from dropped caches. Below each live row its model: same file, page cache, drive, threads and duration; `Apart` is model over "
        "live, by replicate. Nothing was fitted on the live rows; what a hit and a fault cost one thread, and what this machine's disk "
        "does "
        f"with direct reads, were calibrated apart. {run.stamp}, pair `{PAIR}`, **measured**, **emulated** and **simulated** as "
        f"stamped, n = {count(live['replicate'].n_unique())} replicates. "
        + (f"Of {count(len(live))} live runs {count(flagged)} are flagged and left out of the means. " if flagged else "")
        + f"Query: `{QUERY}`.",
        align="llrlrrrrrr",
    )


def _lines(tier: str, size_gib: int, advice: str, cell: pl.DataFrame) -> list[list[str]]:
    parts = cell.partition_by("how", "window_pages", maintain_order=True)
    kept = [part.filter(~pl.col("flagged")) for part in parts]
    reads = [dict(part.select("replicate", "reads_per_s").iter_rows()) for part in kept]
    lines = []
    for part, means, found in zip(parts, map(_means, kept), reads, strict=True):
        live = part["how"][0] == "live"
        apart = None if live else geometric_estimate(paired_ratios(found, reads[0]))
        lines.append(
            [
                TIERS[tier].removeprefix("the "),
                part["evidence"][0],
                count(size_gib),
                advice,
                number(means["pages_a_request"]) if live and means["pages_a_request"] else _window(part),
                _counted(means["reads_per_s"]),
                DASH if not live else _interval(geometric_estimate(found)),
                DASH if means["miss_ratio"] is None else percent(means["miss_ratio"]),
                _counted(means["device_iops"]),
                DASH if apart is None or apart.value is None else difference(apart.value),
            ]
        )
    return lines


def _window(part: pl.DataFrame) -> str:
    pages = part["window_pages"][0]
    return DASH if pages is None else count(pages)


def _interval(estimate: Estimate) -> str:
    return f"{number(estimate.low)} to {number(estimate.high)}" if estimate.low and estimate.high else DASH


def _means(part: pl.DataFrame) -> dict[str, float | None]:
    means = part.select("pages_a_request", "reads_per_s", "miss_ratio", "device_iops").mean().row(0, named=True)
    return means if enough(part.height) else dict.fromkeys(means)


def _counted(mean: float | None) -> str:
    return DASH if mean is None else number(mean)


def proved(run: Run) -> Sentence:
    live = _rows(run).filter(how="live")
    if live.is_empty():
        return Sentence("")
    limits = {name: part["cache_pages"][0] for (name,), part in live.group_by("tier", maintain_order=True)}
    most = {name: part["resident_pages"].to_list() for (name,), part in live.group_by("tier", maintain_order=True)}
    told = listed(f"{span(most[name])} pages on {TIERS[name]}" for name in limits)
    timed = estimable(live.drop_nulls("overshoot"), ["tier"])
    overshoot = timed.group_by("tier", maintain_order=True).agg(pl.col("overshoot").mean())
    late = listed(f"{percent(mean)} on {TIERS[tier]}" for tier, mean in overshoot.iter_rows())
    return Sentence(
        f"Before each of the {count(len(live))} live runs `mincore` found {span(live['resident_pages_at_first'])} pages of the file in "
        f"memory. Half-way and at the end it found {told}, where the memory cgroup leaves space for {span(limits.values())}. "
        + (f"Emulated requests took longer than the model asked by {late}." if late else "")
    )


def nothing(run: Run) -> Sentence:
    record = run.record(STUDY, PAIR)
    obstacle = record.facts.get("obstacle") if record else None
    return Sentence(f"This run read nothing live: {obstacle or f'it has no row on the pair `{PAIR}`'}.")


def _rows(run: Run) -> pl.DataFrame:
    return run.query(
        f"select * from ram_or_ssd_live where pair = ? order by {', '.join(CELL)}, how, window_pages desc, replicate",
        [PAIR],
    )
