"""Chapter on the latency study: what remains of its 250 µs and of its tenfold where records are whole and flash is held up."""

from typing import Final

from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.analysis.statistics import geometric_estimate
from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, number, percent, seconds
from tierwise.report.run import Run
from tierwise.report.variants import variants
from tierwise.report.words import variant_label
from tierwise.studies.read_latency.reading.figures import QUERY, SSD_BUCKET, STUDY, bucket_text, held, mean_us, nothing, published, total

SHARE: Final = "L2"
TENFOLD: Final = "L4"
"""The claims on the share of the SSD's reads in the published bucket, and on the ratio of the mean reads."""
MEANS: Final = """
select variant, tablespace, mean_us, mode_bucket from read_latency
where pair = ? and variant <> 'published' and tablespace in ('ssd', 'hdd') and not flagged
order by variant, tablespace, replicate
"""


def remains(run: Run, pair: str) -> Table | Sentence:
    """Tabulate each variant's share of the SSD's reads in the published bucket, its means and their ratio, below what was printed."""
    shares, ratios = (_by_variant(run.verdict(name)) for name in (SHARE, TENFOLD))
    rows = run.query(MEANS, [pair])
    if rows.is_empty() or not shares:
        return nothing(run, pair)
    printed = {space: published().filter(tablespace=space) for space in ("ssd", "hdd")}
    lines = [
        [
            "Published",
            percent(held(printed["ssd"], SSD_BUCKET) / total(printed["ssd"])),
            bucket_text(SSD_BUCKET),
            *(seconds(mean_us(printed[space]) / 1e6) for space in ("ssd", "hdd")),
            number(mean_us(printed["hdd"]) / mean_us(printed["ssd"])),
        ]
    ]
    for variant in rows["variant"].unique(maintain_order=True):
        own = rows.filter(variant=variant)
        means = {space: geometric_estimate(own.filter(tablespace=space)["mean_us"].to_list()).value for space in ("ssd", "hdd")}
        buckets = sorted(set(own.filter(tablespace="ssd")["mode_bucket"]))
        lines.append(
            [
                variant_label(variant),
                _told(shares.get(variant), share=True),
                listed(bucket_text(bucket) for bucket in buckets),
                *(DASH if mean is None else seconds(mean / 1e6) for mean in means.values()),
                _told(ratios.get(variant)),
            ]
        )
    return Table(
        ["Variant", f"SSD's reads of {bucket_text(SSD_BUCKET)}", "Fullest bucket", "Mean, SSD", "Mean, RAID10", "Times as long"],
        lines,
        f"What each variant makes of the requests of the virtual-time windows (**{Evidence.SIMULATED}**, 95 % intervals over the windows), "
        "below what the source printed (**published**, means by the middles of buckets). *Replayed* changes nothing, and so tells what "
        f"replaying does. {run.note(pair, rows['variant'].len(), 'window means', QUERY)}",
        align="lrlrrr",
    )


def remains_told(run: Run, pair: str) -> Sentence:
    """Return whether any variant has most of the SSD's reads in the published bucket, which bring the tenfold, and what is left over."""
    judged = {name: {one.variant: one for one in _simulated(run.verdict(name))} for name in (SHARE, TENFOLD)}
    record = run.record(STUDY, pair)
    if not judged[SHARE] or not judged[TENFOLD] or record is None:
        return nothing(run, pair)
    source = record.facts.get("record", {})
    most, tenfold = (_confirmed(judged[name]) for name in (SHARE, TENFOLD))
    spike = held(published().filter(tablespace="ssd"), SSD_BUCKET + 1, SSD_BUCKET + 2) / total(published().filter(tablespace="ssd"))
    ssd = (
        f"Most of the SSD's reads take {bucket_text(SSD_BUCKET)} with {most}."
        if most
        else f"**No variant has most of the SSD's reads at {bucket_text(SSD_BUCKET)}**: a page alone is quicker, and a whole record "
        "slower, because its transfer alone takes longer than the bucket reaches."
    )
    disks = (
        f"The tenfold, as far as its bounds go, is there in the variants {tenfold}: the transfer of a whole record slows the SSD more than "
        "the disks."
        if tenfold
        else "No variant brings the disks within its bounds of the tenfold."
    )
    return Sentence(
        f"The source ran Solaris, whose ZFS reads and writes whole records of {count(int(source.get('kib', 128)))} KiB unless it is told "
        "otherwise [@siebenmann2020; @lustre-recordsize]; and flash that erases a block of 256 KiB serves nothing from that channel for "
        f"1.5 ms [@agrawal2008]. Whether either was so there is not stated. {ssd} {disks} What remains of the source is the bucket itself, "
        f"which a record of half the size would fill, and the {percent(spike)} of its reads between 0.52 and 2.1 ms, "
        "which need more writing than this load does for erasing to explain them."
    )


def _simulated(claim: ClaimVerdict | None) -> list[ClaimVerdict]:
    return [one for one in variants(claim) if one.cases and one.cases[0].evidence is Evidence.SIMULATED] if claim else []


def _confirmed(judged: dict[str, ClaimVerdict]) -> str:
    return listed(f"*{variant_label(variant)}*" for variant, one in judged.items() if one.verdict is Verdict.CONFIRMED)


def _by_variant(claim: ClaimVerdict | None) -> dict[str, CaseVerdict]:
    return {one.variant: one.cases[0] for one in _simulated(claim)}


def _told(case: CaseVerdict | None, *, share: bool = False) -> str:
    if case is None or case.estimate is None or case.low is None or case.high is None:
        return DASH
    say = percent if share else number
    return f"{say(case.estimate)} ({say(case.low)} to {say(case.high)})"
