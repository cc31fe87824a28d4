"""The volumes for a terminal."""

from tierwise.core.text_table import table
from tierwise.core.text_template import render
from tierwise.costs.answer_text import money
from tierwise.costs.managed import ManagedOffer
from tierwise.costs.volume_offers import Latency, Memory, Offer, Volumes


def as_text(found: Volumes) -> str:
    """Return the cheapest volume, the tables of volumes that meet the requirements, the others with the reason, and the warnings."""
    header = ["volume", "pieces", "GiB each", "IOPS", "MiB/s", "total", "volumes", "machine", "its price"]
    limits = ["volume", "limit that binds", "used", "read, ms", "RAM is cheaper if 1 GiB saves"]
    managed = ["storage", "GiB", "IOPS", "MiB/s", "a month", "meets it", "not known"]
    return render(
        "costs/text/volumes.txt",
        found=found,
        wanted=found.wanted,
        offers=table(header, [_row(offer) for offer in found.offers], numbers=[1, 2, 3, 4, 5, 6, 8]),
        limits=table(limits, [_limit(offer) for offer in found.offers], numbers=[2]),
        managed=table(managed, [_managed(offer) for offer in found.managed], numbers=range(1, 5)),
        money=money,
    )


def _row(offer: Offer) -> list[str]:
    return [
        offer.volume,
        f"{offer.count}",
        _gib(offer.gib),
        f"{offer.iops:,.0f}",
        f"{offer.mib_s:,.0f}",
        _money(offer.total),
        _money(offer.per_month),
        offer.machine.name,
        _money(offer.machine.per_month),
    ]


def _limit(offer: Offer) -> list[str]:
    of_machine = offer.binds.endswith(offer.machine.name)
    mark = "" if (offer.machine.limits_known if of_machine else offer.limits_known) else " (not known of that day)"
    return [offer.volume, offer.binds + mark, f"{offer.used:.0%}", _latency(offer.latency), _memory(offer.memory)]


def _managed(offer: ManagedOffer) -> list[str]:
    rates = ["not known" if value is None else f"{value:,.0f}" for value in (offer.iops, offer.mib_s)]
    return [offer.storage, _gib(offer.gib), *rates, _money(offer.per_month), offer.meets, "; ".join(offer.unknown)]


def _gib(gib: float) -> str:
    return f"{gib:,.4g}" if gib < 100 else f"{gib:,.0f}"


def _money(value: float | None) -> str:
    return "not known" if value is None else money(value)


def _latency(latency: Latency) -> str:
    text = f"{latency.ms:g}"
    if latency.assumed:
        text += f" ({latency.low_ms:g}-{latency.high_ms:g})"
    if latency.p99_ms is not None:
        text += f", p99 {latency.p99_ms:g}"
    return text + (" [open]" if latency.meets and latency.meets.startswith("open") else "")


def _memory(memory: Memory | None) -> str:
    if memory is None:
        return "-"
    text = "never" if memory.reads_per_s is None else f"at least {memory.reads_per_s:,.0f} reads/s"
    return text if memory.cheaper is None else f"{text}: {'yes' if memory.cheaper else 'no'}"
