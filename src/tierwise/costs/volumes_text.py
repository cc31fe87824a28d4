"""The volumes for a terminal."""

from tierwise.core.text_table import table
from tierwise.costs.answer_text import money
from tierwise.costs.volumes import Latency, Memory, Offer, Volumes


def as_text(found: Volumes) -> str:
    """Return the cheapest volume, the tables of volumes that meet the requirements, the others with the reason, and the warnings."""
    wanted = found.wanted
    latency = "" if wanted.latency_ms is None else f", a read within {wanted.latency_ms:g} ms"
    saves = "" if wanted.reads_per_gib is None else f". 1 GiB more RAM would save {wanted.reads_per_gib:g} reads/s"
    parts = [
        _answer(found),
        f"Requirements: {wanted.gib:g} GiB, {wanted.iops:,g} reads/s of {wanted.read_kib:g} KiB, {wanted.mib_s:g} MiB/s{latency}{saves}.",
        "",
    ]
    if found.offers:
        header = ["volume", "pieces", "GiB each", "IOPS", "MiB/s", "a month", "machine, a month", "read, ms"]
        limits = ["volume", "limit that binds", "used", "RAM is cheaper if 1 GiB saves"]
        parts += [
            table(header, [_row(offer) for offer in found.offers], numbers=range(1, 6)),
            f"Prices are in {found.currency}. Ranges of the median latency are assumed.",
            "",
            table(limits, [_limit(offer) for offer in found.offers], numbers=[2]),
        ]
    parts += [
        *(f"Not enough: {gone.volume}: {gone.why}" for gone in found.refused),
        *(f"{offer.volume}: {offer.note}" for offer in found.offers if offer.note),
        *(f"Warning: {warning}" for warning in found.warnings),
    ]
    return "\n".join(parts)


def _answer(found: Volumes) -> str:
    if not found.offers:
        return f"No volume meets the requirements on {found.on}."
    cheapest = found.offers[0]
    sum_of = "no known price" if cheapest.per_month is None else f"{money(cheapest.per_month)} {found.currency} a month"
    number = f"{len(found.offers)} of {len(found.offers) + len(found.refused)}"
    return f"Cheapest on {found.on}: {cheapest.volume}, {sum_of}. {number} volumes meet the requirements."


def _row(offer: Offer) -> list[str]:
    machine = offer.machine
    return [
        offer.volume,
        f"{offer.count}",
        f"{offer.gib:,.4g}" if offer.gib < 100 else f"{offer.gib:,.0f}",
        f"{offer.iops:,.0f}",
        f"{offer.mib_s:,.0f}",
        "no price" if offer.per_month is None else money(offer.per_month),
        f"{machine.name}, {money(machine.per_month)}" if machine else "-",
        _latency(offer.latency),
    ]


def _limit(offer: Offer) -> list[str]:
    return [offer.volume, offer.binds, f"{offer.used:.0%}", _memory(offer.memory)]


def _latency(latency: Latency) -> str:
    text = f"{latency.ms:g}"
    if latency.assumed:
        text += f" ({latency.low_ms:g} to {latency.high_ms:g})"
    if latency.p99_ms is not None:
        text += f", p99 {latency.p99_ms:g}"
    return text + (" [open]" if latency.meets and latency.meets.startswith("open") else "")


def _memory(memory: Memory | None) -> str:
    if memory is None:
        return "-"
    text = "never" if memory.reads_per_s is None else f"at least {memory.reads_per_s:,.0f} reads/s"
    return text if memory.cheaper is None else f"{text}: {'yes' if memory.cheaper else 'no'}"
