"""The answer for a terminal."""

from math import floor, log10

from tierwise.core.text_table import table
from tierwise.costs.answer import Answer, DeviceCost, Edge
from tierwise.costs.delivered import published_load


def as_text(found: Answer) -> str:
    """Write the cheapest ways, then the tables of devices, of ways to serve the load, of break-evens, of price limits and of prices."""
    shown = [row for row in found.devices if row.today] or list(found.devices)
    older = [row.device for row in found.devices if row not in shown]
    edges = [edge for edge in found.sensitivity if edge.first_below is not None or edge.first_above is not None]
    parts = [
        *_cheapest(found, shown),
        "",
        f"Prices per month in {found.currency}, with power and a life of {found.life_years:g} years: of the device, per GB and per IOPS.",
        _rated(found),
        _devices(shown),
        *([f"Prices older than a year: {', '.join(older)}. Name one, as in `tierwise cost NAME`, to see it."] if older else []),
        *(f"Left out: {gone.device}: {gone.why}" for gone in found.left_out),
        "",
        _load(found),
        _delivered(found),
        *([_without(found)] if found.without_flash else []),
        "",
        "Break-even: a page that is read more often than once in this time costs less on the upper store.",
        table(
            ["upper", "lower", "page", "by purchase", "by a year's cost", "IOPS"],
            [
                [each.upper, each.lower, f"{each.page_bytes} B", _time(each.by_purchase_s), _time(each.by_year_s), each.iops_evidence]
                for each in found.break_evens
            ],
        ),
        "",
        f"Prices below or above which another way is the cheapest; {len(found.sensitivity) - len(edges)} others have no such limit.",
        table(["item", "now", "unit", "below", "above"], [_limits(edge) for edge in edges], numbers=[1]),
        "",
        "Prices. Their sources are in data/prices, and in --format json.",
        table(
            ["item", "price", "unit", "region", "date"],
            [[used.item, f"{used.price:g}", f"{used.currency} per {used.unit}", used.region, used.date] for used in found.prices],
            numbers=[1],
        ),
        *(f"Warning: {warning}" for warning in found.warnings),
    ]
    return "\n".join(parts)


def _cheapest(found: Answer, shown: list[DeviceCost]) -> list[str]:
    unit = f"{found.currency} a month for one"
    iops, size = min(shown, key=lambda row: row.per_iops_month), min(shown, key=lambda row: row.per_gb_month)
    lines = [
        f"The cheapest IOPS on {found.on} are those of {iops.device} ({_size(iops)}): {money(iops.per_iops_month)} {unit}.",
        f"The cheapest GB are those of {size.device} ({_size(size)}): {money(size.per_gb_month)} {unit}.",
    ]
    if found.delivered:
        way = found.delivered[0]
        lines.append(f"The cheapest way to serve the load below is {way.plan}: {money(way.cost_a_year)} {found.currency} a year.")
    return lines


def _rated(found: Answer) -> str:
    if found.latency_ms is None:
        return "IOPS are those of data sheets."
    limits = {row.medium: row.latency_ms for row in found.devices if row.latency_ms is not None}
    listed = " and ".join(
        f"{limit:g} ms on {'flash' if medium == 'ssd' else 'disks'}" for medium, limit in sorted(limits.items(), reverse=True)
    )
    return f"IOPS are random 4 KiB reads of at most {listed}, on average (simulated)."


def _devices(rows: list[DeviceCost]) -> str:
    header = ["device", "size", "bought", "a month", "per GB", "per IOPS", "IOPS", "medium", "price of"]
    cells = [
        [
            row.device,
            _size(row),
            "rented" if row.purchase is None else money(row.purchase),
            money(row.cost_a_year / 12),
            money(row.per_gb_month),
            money(row.per_iops_month),
            f"{row.iops:,.0f}",
            row.medium,
            row.price_date,
        ]
        for row in rows
    ]
    return table(header, cells, numbers=range(1, 7))


def _size(row: DeviceCost) -> str:
    return f"{row.capacity_gb / 1000:,.3g} TB" if row.capacity_gb >= 1000 else f"{row.capacity_gb:,.3g} GB"


def _load(found: Answer) -> str:
    load = found.load
    stamp = f" ({load.evidence}: {published_load().stamp})" if load.evidence else ""
    return (
        f"A load of {load.reads_per_s:,.0f} reads/s over {load.data_gib:g} GiB with {load.ram_gib:g} GiB of RAM and "
        f"{load.misses_per_read:.3g} device reads for each{stamp}, in {found.currency}"
    )


def _delivered(found: Answer) -> str:
    header = ["served by", "devices", "machines", "RAM", "a year", "per million reads", "evidence"]
    rows = [
        [
            row.plan,
            f"{row.devices:,}",
            f"{row.machines:,}",
            f"{row.ram_gib:.0f} GiB",
            money(row.cost_a_year),
            money(row.per_million_reads),
            row.evidence,
        ]
        for row in found.delivered
    ]
    return table(header, rows, numbers=range(1, 6))


def _without(found: Answer) -> str:
    without = found.without_flash
    assert without is not None
    change = "costs" if without.cost_a_year > 0 else "saves"
    way = without.memory if without.replaces == "memory" else without.disks
    return (
        f"Doing without flash ({without.flash}) {change} {money(abs(without.cost_a_year))} {found.currency} a year. "
        f"The cheapest way is then more {without.replaces} ({way})."
    )


def _limits(edge: Edge) -> list[str]:
    def side(value: float | None, then: str | None) -> str:
        return "-" if value is None else money(value) + (f" ({then})" if then else "")

    return [edge.item, f"{edge.now:g}", edge.unit, side(edge.first_below, edge.then_below), side(edge.first_above, edge.then_above)]


def money(value: float) -> str:
    """Return ``1,234.50``, or three digits of what is below ten."""
    if value >= 10 or value == 0:
        return f"{value:,.2f}"
    return f"{value:.{max(0, 2 - floor(log10(abs(value))))}f}"


def _time(value_s: float | None) -> str:
    if value_s is None:
        return "-"
    for unit, length_s in (("days", 86400), ("h", 3600), ("min", 60)):
        if value_s >= 2 * length_s:
            return f"{value_s / length_s:.1f} {unit}"
    return f"{value_s:.3g} s"
