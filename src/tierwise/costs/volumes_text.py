"""The volumes for a terminal."""

from tierwise.core.text_table import table
from tierwise.core.text_template import render
from tierwise.costs.answer_text import money
from tierwise.costs.volumes import Latency, Memory, Offer, Volumes


def as_text(found: Volumes) -> str:
    """Return the cheapest volume, the tables of volumes that meet the requirements, the others with the reason, and the warnings."""
    header = ["volume", "pieces", "GiB each", "IOPS", "MiB/s", "a month", "machine, a month", "read, ms"]
    limits = ["volume", "limit that binds", "used", "RAM is cheaper if 1 GiB saves"]
    return render(
        "costs/text/volumes.txt",
        found=found,
        wanted=found.wanted,
        offers=table(header, [_row(offer) for offer in found.offers], numbers=range(1, 6)),
        limits=table(limits, [_limit(offer) for offer in found.offers], numbers=[2]),
        money=money,
    )


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
