"""Chapter on the Zipfian reads: throughput beside the logs, what was fitted, how a scaled run stands for the full size, verdicts."""

from statistics import fmean
from typing import Any, Final

import polars as pl

from tierwise.analysis.published import published_series
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, NBSP, count, difference, listed, number, percent
from tierwise.report.run import Run
from tierwise.report.words import claim_sentence, estimated, unit_of
from tierwise.studies.ram_or_ssd.reading.figures import QUERY, TIERS, che, clean_seeds, nothing, published_means

LOGGED_FALL: Final = "data/published/ram_or_ssd_means.csv"
"""The author's own logs at 16 and 24 GiB: tier, dataset_gib, reads_per_s (mean of the measured phase)."""


def sizes(run: Run, pair: str) -> Table | Sentence:
    """Tabulate reads, misses and device reads by drive and size, beside the logs and Che's approximation."""
    seeds = clean_seeds(run, pair)
    if seeds.is_empty():
        return nothing(pair)
    means = seeds.group_by("tier", "dataset_gib").agg(pl.col("reads_per_s", "miss_ratio", "device_iops").mean()).sort("tier", "dataset_gib")
    logged = {(tier, size): reads for tier, size, reads in published_means().iter_rows()}
    approximated = {(tier, size): reads for tier, size, reads in che(run, pair, seeds).iter_rows()}
    rows = []
    for tier, size, reads, missed, iops in means.iter_rows():
        log, other = logged.get((tier, size)), approximated.get((tier, size))
        rows.append(
            [
                TIERS[tier],
                count(size),
                number(reads),
                percent(missed),
                number(iops),
                number(log) if log else DASH,
                difference(reads / log) if log else DASH,
                number(other) if other else DASH,
            ]
        )
    return Table(
        ["Drive", "Data, GiB", "Reads/s, simulated", "Missed", "Device reads/s", "Reads/s, published log", "Apart", "Reads/s by Che"],
        rows,
        "Means of the measured phase and of all seeds, beside the author's own logs. The rows at 32 GiB were fitted, the others are "
        f"predicted. {run.note(pair, len(seeds), 'simulated runs', QUERY)}",
        align="lrrrrrrr",
    )


def fall(run: Run) -> Sentence:
    """Return the fall from 16 to 24 GiB in the author's own logs, beside his text and what came out here (R6)."""
    logs = {(tier, size): reads for tier, size, reads in published_series(LOGGED_FALL).iter_rows()}
    told = listed(f"{number(logs[tier, 16] / logs[tier, 24])}-fold on the {words}" for tier, words in sorted(TIERS.items(), reverse=True))
    claim = run.verdict("R6")
    here = f"here it is {estimated(claim)}, {claim.evidence}" if claim and claim.estimate is not None else "here it was not measured"
    return Sentence(
        f"From 16 to 24 GiB the author's text says threefold for the SSD. His own logs (**published**) fall {told}: from "
        f"{number(logs['ssd', 16])} to {number(logs['ssd', 24])} reads a second on the SSD. "
        f"For the SSD {here}. What is judged is the text; where the two differ, "
        "the logs are the better witness. Input: `data/published/ram_or_ssd_means.csv`."
    )


def fitted(run: Run, pair: str) -> Sentence:
    record: dict[str, Any] = run.manifest.pairs.get(pair, {})
    found = [f"`{name}` {number(leaf['value'])}{NBSP}{unit_of(leaf)} ({leaf['fitted_on']})" for name, leaf in _fitted(record)]
    told = "; ".join(found) if found else "nothing"
    return Sentence(
        f"These were fitted on the author's logs at 32 GiB, or chosen so that a statement holds: {told}. Those at 16 and 64 GiB were "
        "known, but not used. The structure of the model was changed once after its predictions had been seen: "
        "the first had no settling time on top of the disk's whole seek curve."
    )


def _fitted(record: Any, name: str = "") -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(record, dict):
        return []
    own = [(name, record)] if record.get("fitted_on") else []
    return own + [found for key, value in record.items() for found in _fitted(value, f"{name}.{key}" if name else key)]


def scaled(run: Run, pair: str) -> Sentence:
    scales = dict(run.query("select distinct tier, scale from ram_or_ssd_series where pair = ? and how is null", [pair]).rows())
    if not scales or max(scales.values()) == 1:
        return Sentence("Everything was simulated at full size.")
    told = listed([f"1/{scales[tier]} on the {words}" for tier, words in TIERS.items() if tier in scales])
    return Sentence(
        f"This run simulated a part of what grows, pages, page cache and durations: {told}. So many pages of neighbouring popularity are "
        "made one, which leaves every share of it as it is at the full size (a Zipfian over fewer items would not). Latencies, threads and "
        "the window of read-around stay, and the disk's seeks are stretched so that the file spans as much of it. "
        "The tests hold a sixteenth of two smaller files to their full size, within 3 %."
    )


def finding(run: Run, pair: str) -> str:
    """Say how many times fewer reads either drive gives once the data outgrow the RAM, as a chapter's title; empty without enough seeds."""
    told = [f"{number(most / least)} times fewer with {words}" for words, (most, least) in _outgrown(run, pair).items()]
    return f"over data larger than the RAM, reads are {listed(told)} ({run.evidence(pair)})" if told else ""


def _outgrown(run: Run, pair: str) -> dict[str, tuple[float, float]]:
    rows = clean_seeds(run, pair).group_by("tier", "dataset_gib", maintain_order=True).agg(pl.col("reads_per_s").mean()).rows()
    means = {words: {size: reads for name, size, reads in rows if name == tier} for tier, words in TIERS.items()}
    return {words: (max(found.values()), found[max(found)]) for words, found in means.items() if len(found) > 1}


def outgrown(run: Run, pair: str) -> Sentence:
    told = [
        f"the {words} falls from {number(most)} to {number(least)} reads a second, {number(most / least)} times fewer"
        for words, (most, least) in _outgrown(run, pair).items()
    ]
    if not told:
        return nothing(pair)
    return Sentence(f"From the smallest data to the largest, {'; '.join(told)} ({run.evidence(pair)}).")


def verdicts(run: Run) -> Sentence:
    return Sentence("\n\n".join(claim_sentence(claim) for claim in run.verdicts if claim.source == "R"))


def agreement(run: Run, pair: str) -> Sentence:
    means = clean_seeds(run, pair).group_by("tier", "dataset_gib", maintain_order=True).agg(pl.col("reads_per_s").mean())
    both = published_means().join(means, on=["tier", "dataset_gib"], suffix="_here").filter(pl.col("dataset_gib") != 32)
    if both.is_empty():
        return Sentence("No size of this run was predicted and logged.")
    apart = fmean(abs(here / log - 1) for log, here in both.select("reads_per_s", "reads_per_s_here").iter_rows())
    return Sentence(
        f"Where the author's logs allow a comparison with a prediction ({len(both)} cases), the two are {percent(apart)} apart on average."
    )
