"""Then and now: what the placements of the sources gain and save on a pair that is sold today. It is reported; no verdict rests on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import polars as pl

from tierwise.advisor.advice import TIERS
from tierwise.advisor.savings import TIB, Money, saved, shares
from tierwise.advisor.savings import bands as bands_of
from tierwise.advisor.workload import FAST, SLOW, Workload, fixed
from tierwise.analysis import heat
from tierwise.analysis.claims import load_claims
from tierwise.core.errors import MissingError
from tierwise.costs.hardware import share_bill
from tierwise.report.formats import tied
from tierwise.report.prices import book_of
from tierwise.report.run import Run
from tierwise.report.values.workloads import gather
from tierwise.report.words import unit_of

DISKS: Final = "all hdd"
EVERYTHING: Final = "all ssd"
NOT_APPLICABLE: Final = "not applicable"
"""What stands beside a statement that speaks for no placement."""


@dataclass(frozen=True)
class Now:
    """The pair of today of a run, with its workloads."""

    run: Run
    pair: str

    @cached_property
    def workloads(self) -> list[Workload]:
        return list(gather(self.run, only=self.pair).workloads)

    @property
    def devices(self) -> dict[str, str]:
        """Return tier -> device, of the slow and the fast one."""
        tiers: Mapping[str, Mapping[str, Any]] = self.run.manifest.pairs[self.pair]["tiers"]
        return {tier: str(tiers[tier]["device"]) for tier in (SLOW, FAST) if "device" in tiers.get(tier, {})}

    @property
    def banded(self) -> dict[str, dict[str, str]]:
        """Return device -> parameter -> the ends of its band, of what no page states."""
        return {
            name: {
                place: tied(f"{low:g} to {high:g} {unit_of({'unit': unit})}".removesuffix(" 1"))
                for place, (low, high, unit) in bands_of(name).items()
            }
            for name in sorted(set(self.devices.values()))
        }

    @cached_property
    def priced(self) -> bool:
        try:
            return len(self.devices) == len(TIERS) and all(
                share_bill(device, TIB, book_of(self.run)).cost(book_of(self.run)) for device in self.devices.values()
            )
        except MissingError:
            return False

    def saved(self, name: str, study: str | None) -> Money | None:
        """Return what a TiB placed so costs less a month than all of it on the fast tier; of everything there, than on the slow one.

        `None`: a device has no price, or the run knows no sizes.
        """
        workload = next((one for one in self.workloads if one.study == study and name in fixed(one)), None)
        whole = {DISKS: {SLOW: 1.0, FAST: 0.0}, EVERYTHING: {SLOW: 0.0, FAST: 1.0}}.get(name)
        shared = whole or (shares(workload, name) if workload else None)
        if shared is None or not self.priced:
            return None
        return saved(shared, self.devices, book_of(self.run), beside=SLOW if name == EVERYTHING else FAST)

    def then(self) -> dict[tuple[str, str], Workload]:
        """Return study and name -> the same workload on its source's own pair: a job of the queries that were asked on that of today, at
        the same pace of the tiers.

        At another pace the devices take another share of a job's time, so that a placement gains more or less, whatever the year.
        """
        sources = [source.pair for source in load_claims().sources.values()]
        asked = self.run.query(heat.every())
        job = ["study", "workload", "query"]
        alike = asked.filter(pair=self.pair).select(job).unique()
        own = asked.filter(pl.col("pair").is_in(sources)).join(alike, on=job, how="semi", maintain_order="left")
        return {(one.study, one.name): one for one in gather(self.run, own).workloads}


def now(run: Run) -> Now | None:
    pair = run.manifest.todays_pair
    return Now(run, pair) if pair else None
