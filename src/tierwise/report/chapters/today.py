"""Then and now: what the placements of the sources gain and save on a pair that is sold today. It is reported; no verdict rests on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import polars as pl

from tierwise.advisor.advice import TIERS
from tierwise.advisor.savings import TIB, Money, band_factors, saved, shares
from tierwise.advisor.savings import bands as bands_of
from tierwise.advisor.workload import FAST, SLOW, Workload, fixed
from tierwise.analysis import heat
from tierwise.analysis.claims import load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.statistics import Estimate, enough, geometric_estimate, paired_ratios
from tierwise.analysis.today import MATTERS, Today
from tierwise.core.errors import MissingError
from tierwise.core.vocabulary import Evidence
from tierwise.costs.hardware import share_bill
from tierwise.report.chapters.conclusion_rows import gather, name_of, places
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, MINUS, count, listed, percent, percents, tied
from tierwise.report.prices import book_of, devices_note, run_note
from tierwise.report.run import Run
from tierwise.report.words import NOTHING, case_name, estimated, unit_of

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


def cell(found: Now, claim: ClaimVerdict) -> str:
    if claim.today is None:
        return NOT_APPLICABLE
    money = found.saved(claim.today.placement, claim.today.study)
    return "; ".join(filter(None, [_still(claim.today), _money(money, found)]))


def _still(found: Today) -> str:
    if not found.cases:
        return NOTHING
    nearest = found.nearest
    alike = sum(case.still is nearest.still for case in found.cases)
    part = "" if alike == len(found.cases) else f" in {count(alike)} of {count(len(found.cases))} cases"
    return f"**{nearest.still}**{part}: {estimated(nearest)}, {case_name(nearest.case)} ({nearest.evidence})"


def _money(money: Money | None, found: Now) -> str:
    if money is None:
        return "" if found.priced else "no price"
    word = "saves" if money.value > 0 else "costs"
    least, most = sorted((money.low, money.high) if money.value > 0 else (-money.low, -money.high))
    return f"a TiB {word} {book_of(found.run).currency} {abs(money.value):,.2f} ({_cents(least)} to {_cents(most)}) a month"


def _cents(value: float) -> str:
    """Two decimals, and no sign before a zero."""
    return f"{round(value, 2) + 0.0:,.2f}".replace("-", MINUS)


def note(found: Now) -> str:
    """Return the end of a caption that says what stands under *today* beside a statement, and which part of it is a band."""
    return (
        f"Today: the same rule on `{found.pair}` ({_tiers(found)}), reported and not judged. It *matters* where the whole interval is "
        f"beyond {MATTERS:g} times, either way (assumed); *{NOT_APPLICABLE}*: no placement is in question. {_origin(found)}"
    )


def _tiers(found: Now) -> str:
    return listed(f"`{device}` as {tier}" for tier, device in found.devices.items())


def _origin(found: Now) -> str:
    parts = listed(f"{count(len(of))} of `{device}`" for device, of in found.banded.items() if of) or "none"
    return (
        f"Parameters that no page states are emulated in the middle of a band ({parts}). Money: published prices, in brackets their band: "
        "a TiB of tables and indexes of the study's shape (of drives, their share of space) beside all of it on the fast tier; of "
        "everything there, beside the slow one."
    )


def bands(run: Run) -> Sentence:
    found = now(run)
    of_devices = found.banded if found else {}
    told = [f"of `{name}` {listed(f'{place} ({ends})' for place, ends in of.items())}" for name, of in of_devices.items() if of]
    return Sentence(f"What no page states, and is a band: {'; '.join(told)}." if told else "")


def table(run: Run) -> Table | Sentence:
    """Tabulate each placement of each workload on the pair of today, beside the same on its source's."""
    found = now(run)
    if found is None:
        return Sentence("This run has no pair of today: the profiles `quick` and `full` have one; `TIERS=today-aws` names another.")
    then = found.then()
    rows, jobs = [], 0
    for workload in found.workloads:
        before = then.get((workload.study, workload.name))
        for name in workload.measured:
            share = _share(workload, name)
            if name == DISKS or share is None or share.value is None:
                continue
            jobs += share.repeats
            factors = band_factors(workload, fixed(workload)[name]) if len(found.devices) == len(TIERS) else None
            money = found.saved(name, workload.study)
            rows.append(
                [
                    name_of(before or workload),
                    places()[name],
                    _told(_share(before, name) if before else None),
                    _told(share),
                    percents(share.value * factor for factor in factors) if factors else DASH,
                    DASH if money is None else f"{_cents(money.value)} ({_cents(money.low)} to {_cents(money.high)})",
                ]
            )
    if not rows:
        return Sentence(f"**No answer yet** on the pair of today, `{found.pair}`: no workload has five clean repeats of two placements.")
    evidence = Evidence.of({workload.evidence for workload in found.workloads})
    return Table(
        ["Workload", "Placement", "Then", "Today", "Over the band", f"{book_of(run).currency} a TiB saves a month"],
        rows,
        "Time of a job over that with everything on the slow tier, with its 95 % interval: then, on the source's own pair, of the "
        "queries that are asked today too and at the same pace, and today. "
        "*Over the band*: today's, as far as the models (simulated) move it while each parameter that has a band is at either end. "
        f"Today: on `{found.pair}` ({_tiers(found)}), reported and not judged. {_origin(found)} "
        f"{run_note(run, evidence, jobs, 'repeats')} {devices_note()}",
        align="llllll",
    )


def _share(workload: Workload, name: str) -> Estimate | None:
    measured, disks = workload.measured.get(name), workload.measured.get(DISKS)
    if measured is None or disks is None:
        return None
    ratios = paired_ratios(measured.job_s, disks.job_s)
    return geometric_estimate(list(ratios.values())) if enough(len(ratios)) else None


def _told(share: Estimate | None) -> str:
    if share is None or share.value is None:
        return NOTHING
    within = "" if share.low is None or share.high is None else f" ({percent(share.low)} to {percent(share.high)})"
    return percent(share.value) + within
