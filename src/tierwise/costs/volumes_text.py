"""The volumes for a terminal."""

from tierwise.core.text_table import table
from tierwise.costs.answer_text import money
from tierwise.costs.volumes import Latency, Memory, Offer, Volumes


def as_text(found: Volumes) -> str:
    """Return a table of what meets the wish, then what does not and why, and the warnings."""
    wanted = found.wanted
    latency = "" if wanted.latency_ms is None else f", a read within {wanted.latency_ms:g} ms"
    saves = "" if wanted.reads_per_gib is None else f"; a GiB of memory saves {wanted.reads_per_gib:g} reads/s"
    header = ["volume", "pieces", "GiB", "IOPS", "MiB/s", "a month", "what binds", "used", "machine", "a month", "read, ms", "memory pays"]
    parts = [
        f"Volumes on {found.on} in {found.currency}: {wanted.gib:g} GiB, {wanted.iops:,g} reads/s of {wanted.read_kib:g} KiB, "
        f"{wanted.mib_s:g} MiB/s{latency}{saves}",
        table(header, [_row(offer) for offer in found.offers]) if found.offers else "nothing meets it",
        *(f"does not meet it: {gone.volume}: {gone.why}" for gone in found.refused),
        *(f"{offer.volume}: {offer.note}" for offer in found.offers if offer.note),
        "memory pays: so many reads a second must a GiB of it save to cost less than what the volume then costs less",
        *(f"warning: {warning}" for warning in found.warnings),
        f"together: {len(found.offers)} of {len(found.offers) + len(found.refused)} volumes meet it",
    ]
    return "\n".join(parts)


def _row(offer: Offer) -> list[str]:
    machine = offer.machine
    return [
        offer.volume,
        f"{offer.count}",
        f"{offer.gib:,.4g}" if offer.gib < 100 else f"{offer.gib:,.0f}",
        f"{offer.iops:,.0f}",
        f"{offer.mib_s:,.0f}",
        "no price read" if offer.per_month is None else money(offer.per_month),
        offer.binds,
        f"{offer.used:.0%}",
        machine.name if machine else "-",
        money(machine.per_month) if machine else "-",
        _latency(offer.latency),
        _memory(offer.memory),
    ]


def _latency(latency: Latency) -> str:
    text = f"{latency.ms:g}"
    if latency.assumed:
        text += f" ({latency.low_ms:g} to {latency.high_ms:g}, assumed)"
    if latency.p99_ms is not None:
        text += f", 99 %: {latency.p99_ms:g}"
    return text + (" [open]" if latency.meets and latency.meets.startswith("open") else "")


def _memory(memory: Memory | None) -> str:
    if memory is None:
        return "-"
    text = "never" if memory.reads_per_s is None else f"from {memory.reads_per_s:,.0f}/s"
    return text if memory.cheaper is None else f"{'yes' if memory.cheaper else 'no'} ({text})"
