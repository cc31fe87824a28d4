"""Chapter on the latency study: histograms and their modes beside the published, how far the counts can be trusted, verdicts."""

from typing import Any, Final

import polars as pl

from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, difference, listed, number, percent, seconds
from tierwise.report.run import Run
from tierwise.report.words import claim_sentence
from tierwise.studies.read_latency.reading.figures import (
    CLEAN,
    PUBLISHED_NAMES,
    QUERY,
    SPACES,
    SSD_BUCKET,
    STUDY,
    bucket_text,
    counted,
    held,
    mean_us,
    nothing,
    published,
    quantile_bucket,
    recorded,
    total,
)

ZONES: Final = {"memory": "memory", "ssd": "SSD", "hdd": "disks", "aux": "disks", "cached": "memory"}
QUANTILES: Final = (0.5, 0.95, 0.99)


def modes(run: Run, pair: str) -> Table | Sentence:
    """Tabulate reads, and the modes of ours and of the published histogram by one method, by tablespace."""
    found = counted(run, pair)
    if found.is_empty():
        return nothing(run, pair)
    here, there = _modes(run, found), _modes(run, published())
    totals = {name: dict(rows.group_by("tablespace").agg(pl.col("reads").sum()).iter_rows()) for name, rows in _both(found).items()}
    rows = []
    for space, title in SPACES.items():
        if space not in totals["here"]:
            continue
        for name, modes_of in (("here", here), ("published", there)):
            if reads := totals[name].get(space):
                rows.append([title, name, count(int(reads)), modes_of.get(space, DASH)])
    return Table(
        ["Tablespace", "Histogram", "Reads", "Modes, and the share of the reads in each"],
        rows,
        "Modes by one method, ours and the published: a bucket with at least 1 % of the histogram's reads, more than the bucket below "
        "it and no fewer than the one above. Of all reads a mode is named: memory below 65 µs, where no device answers, else "
        f"by the tablespace that has most of its reads. {run.note(pair, recorded(found), 'reads', QUERY)}",
        align="llrl",
    )


def _both(found: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {"here": found, "published": published()}


def _modes(run: Run, histograms: pl.DataFrame) -> dict[str, str]:
    """Tablespace -> its modes in words."""
    named = histograms.with_columns(
        bucket=pl.col("bucket").cast(pl.Int32), **dict.fromkeys(("run_id", "pair", "io_mode", "variant"), pl.lit("")), replicate=pl.lit(0)
    )
    run.connection.register("shown_histograms", named.to_arrow())
    rows = run.query("from read_latency_modes_in('shown_histograms', 'shown_histograms') order by tablespace, bucket").to_dicts()
    run.connection.unregister("shown_histograms")
    told: dict[str, list[str]] = {}
    for row in rows:
        zone = f"{ZONES[row['zone']]}: " if row["tablespace"] == "all" else ""
        told.setdefault(row["tablespace"], []).append(f"{zone}{bucket_text(row['bucket'])} ({percent(row['share'])})")
    return {space: "; ".join(parts) for space, parts in told.items()}


def quantiles(run: Run, pair: str) -> Table | Sentence:
    """Return mean and quantiles of the single reads, and in which buckets the published quantiles lie, by tablespace."""
    rows = run.query(
        "select tablespace, count(*)::bigint as reads, avg(latency_s) as mean_s, "
        + ", ".join(f"quantile_cont(latency_s, {share})" for share in QUANTILES)
        + f" from read_latency_reads semi join ({CLEAN}) using (tablespace, replicate) where pair = $1 group by all",
        [pair],
    )
    if rows.is_empty():
        return nothing(run, pair)
    known = {space: figures for space, *figures in rows.iter_rows()}
    lines = []
    for space, title in SPACES.items():
        if space not in known:
            continue
        reads, mean_s, *ours = known[space]
        printed = published().filter(tablespace=space)
        there = [bucket_text(quantile_bucket(printed, share)) if printed.height else DASH for share in QUANTILES]
        cells = [f"{seconds(value)} ({text})" for value, text in zip(ours, there, strict=True)]
        lines.append([title, count(reads), seconds(mean_s), *cells])
    return Table(
        ["Tablespace", "Reads", "Mean", *(f"p{100 * share:g} (published)" for share in QUANTILES)],
        lines,
        "Quantiles of the single reads, and in brackets the bucket in which the published quantile lies; single reads it prints none. "
        f"{run.note(pair, int(rows['reads'].sum()), 'reads', QUERY)}",
        align="lrrrrr",
    )


def text_and_histograms(run: Run, pair: str) -> Table:
    """Return where the source's words and its own printouts differ."""
    printed = {space: published().filter(tablespace=space) for space in PUBLISHED_NAMES.values()}
    cache, ssd, main, aux, everything = (printed[space] for space in ("cached", "ssd", "hdd", "aux", "all"))
    ten = {name: mean_us(rows) for name, rows in (("main", main), ("aux", aux), ("ssd", ssd))}
    rows = [
        ["16 to 32 µs: the OS cache", f"{held(cache, 14)} of {total(cache)} took 16 to 33 µs, {held(cache, 15)} took 33 to 66", "L1"],
        [
            "250 µs: the SSD",
            f"{count(held(ssd, SSD_BUCKET))} of {count(total(ssd))} took 262 to 524 µs; 250 µs itself lies one bucket below",
            "L2",
        ],
        [
            "centred around 4 to 8 ms",
            f"that is the mode of both; the median of ts_main lies in {bucket_text(quantile_bucket(main, 0.5))}, "
            f"of ts_aux in {bucket_text(quantile_bucket(aux, 0.5))}",
            "L3",
        ],
        [
            "about 10-fold",
            f"mean reads by the buckets' middles: ts_main {number(ten['main'] / ten['ssd'])} times ts_ssd, "
            f"ts_aux {number(ten['aux'] / ten['ssd'])} times",
            "L4",
        ],
        ["all reads of pg_clog hit the OS cache", f"{total(cache) - held(cache, 22)} of {total(cache)}; one took 4 to 8 ms", "L1"],
        [
            "the disks take 1 to 32 ms",
            f"{held(everything, 25, 31)} reads took longer, up to 2.1 s, and {held(main, 18)} of ts_main took 262 to 524 µs",
            "L5",
        ],
    ]
    return Table(
        ["The text says", "Its histograms say", "Claim"],
        rows,
        "Where words and printouts of the source differ, both as **published**. Its names: ts_main is the RAID10 of disks, ts_ssd the SSD "
        f"mirror, ts_aux the system's drives, pg_clog what the OS cache held. {run.note(pair, 14_534, 'published reads', QUERY)}",
        align="lll",
    )


def elsewhere(run: Run, pair: str) -> Table | Sentence:
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
    rows = run.query(
        "select replicate, proof ->> 'recorder' as recorder, elapsed_s, (proof ->> 'recorded')::bigint as recorded, "
        "(proof -> 'server' ->> 'reads')::bigint as reads, (proof -> 'server' ->> 'latency_sum_s')::double as latency_sum_s, "
        "list_sum([io.io_s for io in relation_io]) as io_s, flags from raw_timings "
        "where study = ? and pair = ? and clock = 'real' order by replicate",
        [STUDY, pair],
    )
    if rows.is_empty():
        return nothing(run, pair)
    lines = [
        [
            count(row["replicate"] + 1),
            row["recorder"],
            seconds(row["elapsed_s"]),
            count(row["recorded"]),
            count(row["reads"]),
            difference(row["recorded"] / row["reads"]) if row["reads"] else DASH,
            seconds(row["latency_sum_s"]),
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
    """Return what the source does not state and was assumed."""
    record = run.record(STUDY, pair)
    if record is None or "assumed" not in record.facts:
        return nothing(run, pair)
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
    title = SPACES.get(space, space)
    return f"`{space}` ({title[0].lower() + title[1:] if title[1].islower() else title})"


def verdicts(run: Run) -> Sentence:
    return Sentence("\n\n".join(claim_sentence(claim) for claim in run.verdicts if claim.source == "L"))
