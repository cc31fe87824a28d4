"""Chapter on source L: histograms and their modes beside the published, what explains them, how far the counts can be trusted, verdicts."""

from typing import Any, Final

import polars as pl

from tierwise.report.display import Sentence, Table
from tierwise.report.figures.read_latency import PUBLISHED_NAMES, QUERY, SPACES, STUDY, counted, nothing, published
from tierwise.report.formats import DASH, count, listed, number, percent, seconds
from tierwise.report.run import Run
from tierwise.report.words import claim_sentence

SSD_BUCKET: Final = 18
"""From 262 to 524 µs: the source's "250 µs"."""
SPIKE_BUCKETS: Final = (19, 20)
"""From 0.52 to 2.1 ms: its sub-spike at about 1 ms."""
ZONES: Final = {"memory": "memory", "ssd": "SSD", "hdd": "disks", "aux": "disks", "cached": "memory"}
QUANTILES: Final = (0.5, 0.95, 0.99)


def bucket_text(bucket: int) -> str:
    """``18`` -> ``262 to 524 µs``."""
    low, high = (seconds(2.0**edge / 1e9) for edge in (bucket, bucket + 1))
    unit = low[-3:]
    return f"{low.removesuffix(unit)} to {high}" if high.endswith(unit) else f"{low} to {high}"


def modes(run: Run, pair: str) -> Table | Sentence:
    """By tablespace: reads, and the modes of ours and of the published histogram by one method."""
    found = counted(run, pair)
    if found.is_empty():
        return nothing(pair)
    here, there = _modes(run, found), _modes(run, published())
    totals = {name: dict(rows.group_by("tablespace").agg(pl.col("reads").sum()).iter_rows()) for name, rows in _both(found).items()}
    rows = []
    for space, title in SPACES.items():
        if space not in totals["here"]:
            continue
        for name, modes_of in (("here", here), ("published", there)):
            if held := totals[name].get(space):
                rows.append([title, name, count(int(held)), modes_of.get(space, DASH)])
    return Table(
        ["Tablespace", "Histogram", "Reads", "Modes, and the share of the reads in each"],
        rows,
        "Modes by one method, ours and the published: a bucket with at least 1 % of the histogram's reads, more than the bucket below "
        "it and no fewer than the one above. Of all reads a mode is named: memory below 65 µs, where no device answers, else "
        f"by the tablespace that has most of its reads. {run.note(pair, int(totals['here']['all']), 'reads', QUERY)}",
        align="llrl",
    )


def _both(found: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {"here": found, "published": published()}


def _modes(run: Run, histograms: pl.DataFrame) -> dict[str, str]:
    """Tablespace -> its modes in words."""
    named = histograms.with_columns(
        bucket=pl.col("bucket").cast(pl.Int32), run_id=pl.lit(""), pair=pl.lit(""), arm=pl.lit(""), block=pl.lit(0)
    )
    run.connection.register("shown_histograms", named.to_arrow())
    rows = run.query("from read_latency_modes_in('shown_histograms') order by tablespace, bucket").to_dicts()
    run.connection.unregister("shown_histograms")
    told: dict[str, list[str]] = {}
    for row in rows:
        zone = f"{ZONES[row['zone']]}: " if row["tablespace"] == "all" else ""
        told.setdefault(row["tablespace"], []).append(f"{zone}{bucket_text(row['bucket'])} ({percent(row['share'])})")
    return {space: "; ".join(parts) for space, parts in told.items()}


def quantiles(run: Run, pair: str) -> Table | Sentence:
    """By tablespace: mean and quantiles of the single reads, and in which buckets the published quantiles lie."""
    rows = run.query(
        "select tablespace, count(*)::bigint as reads, avg(latency_s) as mean_s, "
        + ", ".join(f"quantile_cont(latency_s, {share})" for share in QUANTILES)
        + " from reads where study = ? and pair = ? group by all",
        [STUDY, pair],
    )
    if rows.is_empty():
        return nothing(pair)
    known = {space: figures for space, *figures in rows.iter_rows()}
    lines = []
    for space, title in SPACES.items():
        if space not in known:
            continue
        reads, mean_s, *ours = known[space]
        held = published().filter(tablespace=space).sort("bucket")
        there = [bucket_text(_quantile_bucket(held, share)) if held.height else DASH for share in QUANTILES]
        cells = [f"{seconds(value)} ({text})" for value, text in zip(ours, there, strict=True)]
        lines.append([title, count(reads), seconds(mean_s), *cells])
    return Table(
        ["Tablespace", "Reads", "Mean", *(f"p{100 * share:g} (published)" for share in QUANTILES)],
        lines,
        "Quantiles of the single reads, and in brackets the bucket in which the published quantile lies; single reads it prints none. "
        f"{run.note(pair, int(rows['reads'].sum()), 'reads', QUERY)}",
        align="lrrrrr",
    )


def _quantile_bucket(histogram: pl.DataFrame, share: float) -> int:
    below = histogram["reads"].cum_sum() / histogram["reads"].sum()
    return int(histogram.filter(below >= share)["bucket"][0])


def text_and_histograms(run: Run, pair: str) -> Table:
    """Where the source's words and its own printouts differ."""
    held = {space: published().filter(tablespace=space) for space in PUBLISHED_NAMES.values()}
    cache, ssd, main, aux, everything = (held[space] for space in ("cached", "ssd", "hdd", "aux", "all"))
    ten = {name: _mean_us(rows) for name, rows in (("main", main), ("aux", aux), ("ssd", ssd))}
    rows = [
        ["16 to 32 µs: the OS cache", f"{_held(cache, 14)} of {_total(cache)} in 16 to 33 µs, {_held(cache, 15)} in 33 to 66", "L1"],
        ["250 µs: the SSD", f"{_held(ssd, SSD_BUCKET)} of {_total(ssd)} from 262 to 524 µs; 250 µs itself lies one bucket below", "L2"],
        [
            "centred around 4 to 8 ms",
            f"that is the mode of both; the median of ts_main lies in {bucket_text(_quantile_bucket(main.sort('bucket'), 0.5))}, "
            f"of ts_aux in {bucket_text(_quantile_bucket(aux.sort('bucket'), 0.5))}",
            "L3",
        ],
        [
            "about 10-fold",
            f"mean reads by the buckets' middles: ts_main {number(ten['main'] / ten['ssd'])} times ts_ssd, "
            f"ts_aux {number(ten['aux'] / ten['ssd'])} times",
            "L4",
        ],
        ["all reads of pg_clog hit the OS cache", f"{_total(cache) - _held(cache, 22)} of {_total(cache)}; one took 4 to 8 ms", "L1"],
        [
            "the disks take 1 to 32 ms",
            f"{_held(everything, 25, 31)} reads took longer, up to 2.1 s, and {_held(main, 18)} of ts_main took 262 to 524 µs",
            "L5",
        ],
    ]
    return Table(
        ["The text says", "Its histograms say", "Claim"],
        rows,
        f"Where words and printouts of the source differ, both as **published**. {run.note(pair, 14_534, 'published reads', QUERY)}",
        align="lll",
    )


def _held(rows: pl.DataFrame, low: int, high: int | None = None) -> int:
    return int(rows.filter(pl.col("bucket").is_between(low, low if high is None else high))["reads"].sum())


def _total(rows: pl.DataFrame) -> int:
    return int(rows["reads"].sum())


def _mean_us(rows: pl.DataFrame) -> float:
    return float((2.0 ** (rows["bucket"] + 0.5) * rows["reads"]).sum()) / _total(rows) / 1000


def ssd_explained(run: Run, pair: str) -> Sentence:
    """Whether the 250 µs come out of the drive's data sheet."""
    record, found = run.record(STUDY, pair), counted(run, pair).filter(tablespace="ssd")
    lone: list[dict[str, Any]] = record.facts.get("lone_reads", []) if record else []
    if not lone or found.is_empty():
        return nothing(pair)
    alone_s = lone[0]["latency_s"]
    here = percent(_held(found, SSD_BUCKET) / _total(found))
    fitting = [line for line in lone if 2**SSD_BUCKET <= line["latency_s"] * 1e9 < 2 ** (SSD_BUCKET + 1)]
    sizes = listed(f"{line['size_bytes'] // 1024} KiB" for line in fitting)
    other = (
        f"A read of {sizes} would take that long, which is what a file system reads that fetches more than it is asked for; "
        "the source names none, so this is a possibility and no explanation."
        if fitting
        else "No size of read that was tried takes that long."
    )
    there = percent(_held(published().filter(tablespace="ssd"), SSD_BUCKET) / _total(published().filter(tablespace="ssd")))
    verdict = next((claim.verdict for claim in run.verdicts if claim.id == "L2"), "")
    explained = {
        "confirmed": "The source's 250 µs come out of the data sheet and the queueing of this load",
        "contradicted": "The source's 250 µs are not explained by the data sheet and the queueing of this load",
    }.get(verdict, "Whether the source's 250 µs come out of the data sheet and the queueing of this load is not decided")
    return Sentence(
        f"By its data sheet the drive answers a lone read of 8 KiB in {seconds(alone_s)} (simulated). Here {here} of the SSD's reads took "
        f"262 to 524 µs, published were {there}. **{explained}**; nothing was fitted on them. {other}"
    )


def spike_explained(run: Run, pair: str) -> Sentence:
    """Whether the sub-spike at 1 ms comes out of queueing behind other reads, writes and the log."""
    found, there = counted(run, pair).filter(tablespace="ssd"), published().filter(tablespace="ssd")
    verdict = next((claim for claim in run.verdicts if claim.id == "L6"), None)
    if found.is_empty() or verdict is None:
        return nothing(pair)
    here, print_share = _held(found, *SPIKE_BUCKETS) / _total(found), _held(there, *SPIKE_BUCKETS) / _total(there)
    seen = {"confirmed": "It is seen in every window", "contradicted": "No window has a mode there"}.get(
        verdict.verdict, "Not every window has a mode there"
    )
    return Sentence(
        f"Of the SSD's reads {percent(here)} took 0.52 to 2.1 ms here, {percent(print_share)} at the source. {seen}. The author's guess is "
        "that commands queue; here they may queue behind other reads, behind changed rows and behind the log with its flushes, as "
        "the load has all three on the same two drives."
        + ("" if verdict.verdict == "confirmed" else " **The sub-spike is not explained.** What the source's log wrote is not known.")
    )


def elsewhere(run: Run, pair: str) -> Table | Sentence:
    """What the reads of each tablespace would have cost on each tier."""
    record = run.record(STUDY, pair)
    told: list[dict[str, Any]] = record.facts.get("elsewhere", []) if record else []
    if not told:
        return Sentence("No window of this run was replayed: its reads were not recorded by process, or it was resumed after the last one.")
    tiers = list(dict.fromkeys(line["tier"] for line in told))
    rows = []
    for space in dict.fromkeys(line["tablespace"] for line in told):
        lines = {line["tier"]: line for line in told if line["tablespace"] == space}
        first = next(iter(lines.values()))
        cells = [seconds(lines[tier]["mean_s"]) + (" (its own)" if tier == space else "") for tier in tiers]
        rows.append([SPACES.get(space, space), count(first["reads"]), seconds(first["recorded_mean_s"]), *cells])
    return Table(
        ["Reads of", "Reads", "Mean, recorded", *(f"on {SPACES.get(tier, tier)}" for tier in tiers)],
        rows,
        "Mean of the reads of one window that reached a device: recorded, and replayed through the model of each tier (simulated). Each "
        "session asks as long after an answer as it did; the reads of one tablespace are moved alone, and writes are left out. "
        f"{run.note(pair, sum(line['reads'] for line in told) // len(tiers), 'reads', QUERY)}",
        align="lrr" + "r" * len(tiers),
    )


def conserved(run: Run, pair: str) -> Table | Sentence:
    """By window: who recorded, how many reads, and how many the server counted."""
    rows = run.query(
        "select block, proof ->> 'recorder' as recorder, elapsed_s, (proof ->> 'recorded')::bigint as recorded, "
        "(proof -> 'server' ->> 'reads')::bigint as reads, (proof -> 'server' ->> 'waited_s')::double as waited_s, "
        "list_sum([io.io_s for io in relation_io]) as io_s, flags from timings where study = ? and pair = ? order by block",
        [STUDY, pair],
    )
    if rows.is_empty():
        return nothing(pair)
    lines = [
        [
            count(row["block"] + 1),
            row["recorder"],
            seconds(row["elapsed_s"]),
            count(row["recorded"]),
            count(row["reads"]),
            f"{row['recorded'] / row['reads'] - 1:+.2%}".replace("%", " %") if row["reads"] else DASH,
            seconds(row["waited_s"]),
            listed(row["flags"]) or DASH,
        ]
        for row in rows.iter_rows(named=True)
    ]
    return Table(
        ["Window", "Recorder", "Length", "Reads recorded", "Reads by the server", "Apart", "The server waited", "Flags"],
        lines,
        "Every window's reads of relations as recorded and as the server counted them itself (pg_stat_io), and how long its processes "
        f"waited for reads in all. {run.note(pair, len(lines), 'windows', QUERY)}",
        align="rlrrrrrl",
    )


def load_told(run: Run, pair: str) -> Sentence:
    """What the source does not state and was assumed."""
    record = run.record(STUDY, pair)
    if record is None or "assumed" not in record.facts:
        return nothing(pair)
    assumed = record.facts["assumed"]
    rarity = {space: round(1 / share) for space, share in assumed["changing"].items() if share}
    sessions = listed(f"{n} on {_inside(space)}" for space, n in assumed["sessions"].items())
    return Sentence(
        f"The source states no load. Assumed here: sessions that read rows by key, {sessions}; one read in {rarity['ssd']} "
        f"on the SSD and one in {rarity['hdd']} on the RAID10 changes its row and commits; shared buffers of "
        f"{number(assumed['shared_buffers_mib'])} MiB; tables of {listed(f'{number(mib)} MiB' for mib in assumed['table_mib'].values())} "
        f"({listed(f'`{space}`' for space in assumed['table_mib'])}), whose seeks are stretched as if the published data "
        f"had lain on {number(assumed['span_gib'])} GiB of the disks."
    )


def _inside(space: str) -> str:
    """The name of a tablespace within a sentence."""
    title = SPACES.get(space, space)
    return f"`{space}` ({title[0].lower() + title[1:] if title[1].islower() else title})"


def verdicts(run: Run) -> Sentence:
    """One paragraph a claim of source L."""
    return Sentence("\n\n".join(claim_sentence(claim) for claim in run.verdicts if claim.source == "L"))
