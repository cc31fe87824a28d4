"""Chapter on the latency study: what explains its 250 µs, its sub-spike and its tenfold, as far as the models and this load do."""

from collections.abc import Callable
from typing import Any, Final

import polars as pl

from tierwise.analysis.rules import Verdict
from tierwise.core.units import KIB
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, number, percent, seconds
from tierwise.report.run import Run
from tierwise.studies.read_latency.reading.figures import (
    CLEAN,
    QUERY,
    SPACES,
    SSD_BUCKET,
    STUDY,
    counted,
    held,
    mean_us,
    middle_us,
    nothing,
    published,
    quantile_bucket,
    total,
)

SPIKE_BUCKETS: Final = (19, 20)
"""Buckets from 0.52 to 2.1 ms, where the source has its sub-spike at about 1 ms."""
SLOW_BUCKET: Final = 21
"""The first bucket from 2.1 ms on: slower than any read of the SSD that its spikes explain."""
MEMORY_BUCKETS: Final = (0, 15)
"""Buckets below 65 µs, where no device answers."""


def ssd_explained(run: Run, pair: str) -> Sentence:
    record, found = run.record(STUDY, pair), counted(run, pair).filter(tablespace="ssd")
    lone: list[dict[str, Any]] = record.facts.get("lone_reads", []) if record else []
    if not lone or found.is_empty():
        return nothing(run, pair)
    alone_s = lone[0]["latency_s"]
    here = percent(held(found, SSD_BUCKET) / total(found))
    fitting = [line for line in lone if 2**SSD_BUCKET <= line["latency_s"] * 1e9 < 2 ** (SSD_BUCKET + 1)]
    sizes = listed(f"{line['size_bytes'] // 1024} KiB" for line in fitting)
    other = (
        f"A read of {sizes} would take that long, which is what a file system reads that fetches more than it is asked for; "
        "the source names none, so this is a possibility and no explanation."
        if fitting
        else "No size of read that was tried takes that long."
    )
    there = percent(held(published().filter(tablespace="ssd"), SSD_BUCKET) / total(published().filter(tablespace="ssd")))
    judged = run.verdict("L2")
    verdict = judged.verdict if judged else Verdict.NOT_MEASURED
    explained = {
        Verdict.CONFIRMED: "The source's 250 µs come out of the data sheet and the queueing of this load",
        Verdict.CONTRADICTED: "The source's 250 µs are not explained by the data sheet and the queueing of this load",
    }.get(verdict, "Whether the source's 250 µs come out of the data sheet and the queueing of this load is not decided")
    sizes_s = {line["size_bytes"]: line["latency_s"] for line in lone}
    transfer_s = sizes_s.get(16 * KIB, alone_s) - alone_s
    link = f", {seconds(transfer_s)} of it for the transfer, for which the source reckons about 80 µs" if transfer_s else ""
    return Sentence(
        f"By its data sheet the drive answers a lone read of 8 KiB in {seconds(alone_s)} (simulated){link}. "
        f"Here {here} of the SSD's reads took 262 to 524 µs, published were {there}. **{explained}**; nothing was fitted on them. {other}"
    )


def spike_explained(run: Run, pair: str) -> Sentence:
    """Return whether the sub-spike at 1 ms comes out of queueing behind other reads, writes and the log."""
    found, there = counted(run, pair).filter(tablespace="ssd"), published().filter(tablespace="ssd")
    judged = run.verdict("L6")
    if found.is_empty() or judged is None:
        return nothing(run, pair)
    here, print_share = held(found, *SPIKE_BUCKETS) / total(found), held(there, *SPIKE_BUCKETS) / total(there)
    seen = {Verdict.CONFIRMED: "It is seen in every window", Verdict.CONTRADICTED: "No window has a mode there"}.get(
        judged.verdict, "Not every window has a mode there"
    )
    return Sentence(
        f"Of the SSD's reads {percent(here)} took 0.52 to 2.1 ms here, {percent(print_share)} at the source. {seen}. The author's guess is "
        "that commands queue; here they may queue behind other reads, behind changed rows and behind the log with its flushes, as "
        f"the load has all three on the same two drives. On average {number(outstanding(run, pair)['ssd'])} of its reads were outstanding; "
        "a load that keeps more of them waiting may show what this one does not, and the source states none."
        + ("" if judged.verdict is Verdict.CONFIRMED else " **The sub-spike is not explained.** What the source's log wrote is not known.")
    )


def outstanding(run: Run, pair: str) -> dict[str, float]:
    """Return tablespace -> how many of its reads were under way at once, on average: their summed time over that of the windows."""
    rows = run.query(
        "select tablespace, sum(mean_us * reads) / 1e6 / sum(elapsed_s) from read_latency "
        f"join (select replicate, sum(elapsed_s) as elapsed_s from timings where study = '{STUDY}' and pair = $1 group by replicate) "
        f"using (replicate) "
        f"semi join ({CLEAN}) using (tablespace, replicate) where pair = $1 and variant = 'published' group by tablespace",
        [pair],
    )
    return dict(rows.iter_rows())


def tenfold(run: Run, pair: str) -> Table | Sentence:
    """Return the RAID10's reads against the SSD's, by every measure that both histograms give, and by the replay."""
    here, there = counted(run, pair), published()
    if here.is_empty():
        return nothing(run, pair)
    measures: dict[str, Callable[[pl.DataFrame], float]] = {
        "Mean": mean_us,
        "Middle of the fullest bucket": lambda rows: middle_us(int(rows.sort("reads")["bucket"][-1])),
        "Middle of the median's bucket": lambda rows: middle_us(quantile_bucket(rows, 0.5)),
    }
    lines = []
    for name, measure in measures.items():
        for whose, histograms in (("here", here), ("published", there)):
            disks_us, ssd_us = (measure(histograms.filter(tablespace=space)) for space in ("hdd", "ssd"))
            lines.append([name, whose, seconds(disks_us / 1e6), seconds(ssd_us / 1e6), number(disks_us / ssd_us)])
    record = run.record(STUDY, pair)
    told: list[dict[str, Any]] = record.facts.get("elsewhere", []) if record else []
    moved = {line["tier"]: line["mean_s"] for line in told if line["tablespace"] == "hdd"}
    if {"hdd", "ssd"} <= moved.keys():
        cells = [seconds(moved["hdd"]), seconds(moved["ssd"]), number(moved["hdd"] / moved["ssd"])]
        lines.append(["Mean of the RAID10's own reads, replayed on either", "simulated", *cells])
    return Table(
        ["Measure", "Whose", SPACES["hdd"], SPACES["ssd"], "Times as long"],
        lines,
        "Reads of the RAID10 against those of the SSD. All but the replay by the middles of the buckets, as the source prints no single "
        f"read; L4 above is held against the mean. {run.note(pair, total(here.filter(tablespace='all')), 'reads', QUERY)}",
        align="llrrr",
    )


def tenfold_explained(run: Run, pair: str) -> Sentence:
    here, there = (rows.filter(tablespace="ssd") for rows in (counted(run, pair), published()))
    if here.is_empty():
        return nothing(run, pair)
    waiting = {space: number(reads) for space, reads in outstanding(run, pair).items()}
    return Sentence(
        "The source's \"about 10-fold\" is the ratio of the means that it printed, and these hang on few reads: of the SSD's, "
        f"{_slow(there)} took 2.1 ms or longer there, {_slow(here)} here. Nor need the loads be alike: on average "
        f"{waiting.get('hdd', DASH)} reads of the RAID10 and {waiting['ssd']} of the SSD were outstanding here, the source states neither, "
        "and who waits behind another read waits milliseconds on a disk and a tenth of one on the SSD. Its "
        "sentence is of random access to a huge table or index; here rows are read by random keys, of tables whose seeks are stretched."
    )


def _slow(histogram: pl.DataFrame) -> str:
    slow = histogram.filter(pl.col("bucket") >= SLOW_BUCKET)
    if slow.is_empty():
        return "none"
    time = total(slow) * mean_us(slow) / (total(histogram) * mean_us(histogram))
    return f"{count(total(slow))} of {count(total(histogram))} reads ({percent(time)} of their time)"


def memory_told(run: Run, pair: str) -> Sentence:
    here, there = counted(run, pair), published()
    if here.is_empty():
        return nothing(run, pair)
    spaces = [space for space in ("hdd", "ssd") if space in set(here["tablespace"])]
    shares = [f"{_from_memory(here, space)} of `{space}` (published: {_from_memory(there, space)})" for space in spaces]
    return Sentence(
        "The kernel's page cache has no limit of its own in these windows. It is emptied before each, but for the indexes and the table "
        "that it is to hold, so that besides them memory serves only what a window reads twice. Below 65 µs, where no device answers, "
        f"came these shares of the reads: {listed(shares)}. A limit could change these and no more; the source's memory is not stated."
    )


def _from_memory(histograms: pl.DataFrame, space: str) -> str:
    mine = histograms.filter(tablespace=space)
    return percent(held(mine, *MEMORY_BUCKETS) / total(mine))
