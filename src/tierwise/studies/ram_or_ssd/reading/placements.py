"""Each way to serve the Zipfian reads with its cost."""

import polars as pl

from tierwise.costs.hardware import load_hardware, medium, rented
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.report.formats import count
from tierwise.report.prices import answer_of
from tierwise.report.run import Run


def placements(run: Run, _pair: str = "") -> pl.DataFrame:
    """List each way to serve the Zipfian reads at the prices of the run's day, the cheapest first: placement, kind, storage_usd and usd (a
    month, for a delivered read a second), ram_gib, devices, machines, evidence. Of ways that cost the same the first is kept.
    """
    found = answer_of(run)
    bought, a_month = _storage(), found.load.reads_per_s * MONTHS_A_YEAR
    rows = [
        {
            "placement": f"{'all in RAM, ' if each.in_ram else ''}{count(each.devices)} x {each.device}",
            "kind": _kind(each.device, in_ram=each.in_ram),
            # a machine's own disks are in its price
            "storage_usd": (sum(cost for item, cost in each.parts_a_year.items() if item in bought) or each.cost_a_year) / a_month,
            "usd": each.cost_a_year / a_month,
            "ram_gib": each.ram_gib,
            "devices": each.devices,
            "machines": each.machines,
            "evidence": str(each.evidence),
        }
        for each in found.delivered
    ]
    return pl.DataFrame(rows).unique(["kind", "ram_gib", "usd"], keep="first", maintain_order=True)


def _kind(device: str, *, in_ram: bool) -> str:
    if in_ram:
        return "RAM over a disk"
    return "rented volume" if rented(device) else "own SSD" if medium(device) == "ssd" else "own disks"


def _storage() -> frozenset[str]:
    """Items of the price book that are drives or volumes, and no machine, memory or power."""
    hardware = load_hardware()
    steps = (step.price for volume in hardware.volumes.values() for step in (*volume.iops, *volume.throughput_mib_s))
    sizes = (item for volume in hardware.volumes.values() for item in (volume.size, *volume.sizes_gib.values()) if item)
    return frozenset([*(drive.price for drive in hardware.drives.values()), *sizes, *steps])
