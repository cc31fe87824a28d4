"""Costs and volumes for a terminal; the text is in ``costs/text``."""

from math import floor, log10

from tierwise.core.text_template import render
from tierwise.costs.answer import Answer, DeviceCost
from tierwise.costs.delivered import published_load
from tierwise.costs.volume_offers import Volumes


def cost_text(found: Answer) -> str:
    devices = [row for row in found.devices if row.today] or list(found.devices)
    limit_ms = {row.medium: row.latency_ms for row in found.devices}
    return render(
        "costs/text/cost.txt",
        found=found,
        by_iops=min(devices, key=lambda row: row.per_iops_month),
        by_gb=min(devices, key=lambda row: row.per_gb_month),
        flash_ms=limit_ms.get("ssd"),
        disk_ms=limit_ms.get("hdd"),
        devices=devices,
        older=[row.device for row in found.devices if row not in devices],
        stamp=published_load().stamp,
        limits=[edge for edge in found.sensitivity if edge.first_below is not None or edge.first_above is not None],
        size=_size,
        money=money,
        time=_time,
    )


def volumes_text(found: Volumes) -> str:
    return render("costs/text/volumes.txt", found=found, wanted=found.wanted, money=money)


def _size(row: DeviceCost) -> str:
    return f"{row.capacity_gb / 1000:,.3g} TB" if row.capacity_gb >= 1000 else f"{row.capacity_gb:,.3g} GB"


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
