"""The answer for a terminal."""

from math import floor, log10

from tierwise.core.text_table import table
from tierwise.core.text_template import render
from tierwise.costs.answer import Answer, DeviceCost
from tierwise.costs.delivered import published_load
from tierwise.costs.sensitivity import Limits


def as_text(found: Answer) -> str:
    """Write the cheapest ways, then the tables of devices, of ways to serve the load, of break-evens, of price limits and of prices."""
    shown = [row for row in found.devices if row.today] or list(found.devices)
    edges = [edge for edge in found.sensitivity if edge.first_below is not None or edge.first_above is not None]
    limit_ms = {row.medium: row.latency_ms for row in found.devices}
    return render(
        "costs/text/cost.txt",
        found=found,
        by_iops=min(shown, key=lambda row: row.per_iops_month),
        by_gb=min(shown, key=lambda row: row.per_gb_month),
        flash_ms=limit_ms.get("ssd"),
        disk_ms=limit_ms.get("hdd"),
        devices=_devices(shown),
        older=[row.device for row in found.devices if row not in shown],
        stamp=published_load().stamp,
        ways=_delivered(found),
        without=found.without_flash,
        break_evens=table(
            ["upper", "lower", "page", "by purchase", "by a year's cost", "IOPS"],
            [
                [each.upper, each.lower, f"{each.page_bytes} B", _time(each.by_purchase_s), _time(each.by_year_s), each.iops_evidence]
                for each in found.break_evens
            ],
        ),
        limitless=len(found.sensitivity) - len(edges),
        limits=table(["item", "now", "unit", "below", "above"], [_limits(edge) for edge in edges], numbers=[1]),
        prices=table(
            ["item", "price", "unit", "region", "date"],
            [[used.item, f"{used.price:g}", f"{used.currency} per {used.unit}", used.region, used.date] for used in found.prices],
            numbers=[1],
        ),
        size=_size,
        money=money,
    )


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


def _delivered(found: Answer) -> str:
    header = ["served by", "devices", "machines", "RAM", "a month", "per million reads", "evidence"]
    rows = [
        [
            row.plan,
            f"{row.devices:,}",
            f"{row.machines:,}",
            f"{row.ram_gib:.0f} GiB",
            money(row.cost_a_year / 12),
            money(row.per_million_reads),
            row.evidence,
        ]
        for row in found.delivered
    ]
    return table(header, rows, numbers=range(1, 6))


def _limits(edge: Limits) -> list[str]:
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
