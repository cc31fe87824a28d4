"""The answer for a terminal."""

from tierwise.core.text_table import table
from tierwise.costs.answer import Answer, Edge
from tierwise.costs.delivered import published_load


def as_text(found: Answer) -> str:
    """Write the tables of devices, of ways to serve the load, of break-evens and of limits, and the prices that they rest on."""
    currency = found.currency
    parts = [
        f"Costs on {found.on} in {currency}; per GB (1e9 bytes) and per IOPS (random 4 KiB reads{_bound(found)}) over "
        f"{found.life_years:g} years, with power; first what has a price of the last year",
        _devices(found),
        *(f"left out: {gone.device}: {gone.why}" for gone in found.left_out),
        "",
        _load(found),
        _delivered(found),
        *([_without(found)] if found.without_flash else []),
        "",
        "Break-even: a page that is read more often than once in this time belongs on the upper store",
        table(
            ["upper", "lower", "page", "by purchase", "by a year's cost", "IOPS"],
            [
                [each.upper, each.lower, f"{each.page_bytes} B", _time(each.by_purchase_s), _time(each.by_year_s), each.iops_evidence]
                for each in found.break_evens
            ],
        ),
        "",
        "How far a price may move: another way to serve the load comes first, or any two change places",
        table(
            ["price of", "now", "unit", "first below", "first above", "order below", "order above"],
            [_limits(edge) for edge in found.sensitivity],
        ),
        "",
        "Prices",
        table(
            ["item", "price", "unit", "region", "date", "source"],
            [[used.item, f"{used.price:g} {used.currency}", used.unit, used.region, used.date, used.source] for used in found.prices],
        ),
        *(f"warning: {warning}" for warning in found.warnings),
    ]
    return "\n".join(parts)


def _bound(found: Answer) -> str:
    return "" if found.latency_ms is None else f" of {found.latency_ms:g} ms at most on the average, simulated"


def _devices(found: Answer) -> str:
    header = ["device", "medium", "price of", "purchase", "a year", "per GB", "per IOPS", "IOPS", "from"]
    rows = [
        [
            row.device,
            row.medium,
            row.price_date,
            "rented" if row.purchase is None else money(row.purchase),
            money(row.cost_a_year),
            money(row.per_gb),
            money(row.per_iops),
            f"{row.iops:,.0f}",
            row.iops_evidence,
        ]
        for row in found.devices
    ]
    return table(header, rows)


def _load(found: Answer) -> str:
    load = found.load
    stamp = f" ({load.evidence}: {published_load().stamp})" if load.evidence else ""
    return (
        f"A load of {load.reads_per_s:,.0f} reads/s over {load.data_gib:g} GiB with {load.ram_gib:g} GiB of memory, "
        f"{load.misses_per_read:.3g} device reads each{stamp}"
    )


def _delivered(found: Answer) -> str:
    header = ["on", "devices", "machines", "memory", "a year", "per million reads", "from"]
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
    return table(header, rows)


def _without(found: Answer) -> str:
    without = found.without_flash
    assert without is not None
    more = "costs" if without.cost_a_year > 0 else "saves"
    return (
        f"Not buying flash ({without.flash}) {more} {money(abs(without.cost_a_year))} {found.currency} a year: "
        f"the cheaper way without it is more {without.replaces} ({without.memory if without.replaces == 'memory' else without.disks})"
    )


def _limits(edge: Edge) -> list[str]:
    def side(value: float | None, then: str | None = None) -> str:
        return "-" if value is None else f"{money(value)}" + (f" ({then})" if then else "")

    return [
        edge.item,
        f"{edge.now:g}",
        edge.unit,
        side(edge.first_below, edge.then_below),
        side(edge.first_above, edge.then_above),
        side(edge.order_below),
        side(edge.order_above),
    ]


def money(value: float) -> str:
    """Return ``1,234.50``, or three digits of what is below ten."""
    return f"{value:,.2f}" if value >= 10 else f"{value:.3g}"


def _time(value_s: float | None) -> str:
    if value_s is None:
        return "-"
    for unit, length_s in (("days", 86400), ("h", 3600), ("min", 60)):
        if value_s >= 2 * length_s:
            return f"{value_s / length_s:.1f} {unit}"
    return f"{value_s:.3g} s"
