"""What a placement saves: of a month's money by the TiB, and of a job's time over the band of what is assumed of the devices."""

from collections.abc import Mapping
from itertools import product
from typing import Final

from tierwise.advisor.advice import TIERS
from tierwise.advisor.placing import Placement
from tierwise.advisor.service import SEED, NewDevice
from tierwise.advisor.workload import FAST, SLOW, Workload, fixed
from tierwise.core.toml import Strict
from tierwise.core.vocabulary import RelationClass
from tierwise.costs.book import Book
from tierwise.costs.hardware import share_bill
from tierwise.costs.sensitivity import cost_over_band
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.parameter_bands import at_end, banded
from tierwise.devices.spec import load_device

TIB: Final = 2**40


class Money(Strict):
    """Money a month, and the least and the most of it over the band of the prices."""

    value: float
    low: float
    high: float


def shares(workload: Workload, name: str) -> dict[str, float]:
    """Return tier -> the share of the bytes of tables and indexes that the placement `name` has there."""
    placement = fixed(workload)[name]
    kept = [relation for relation in workload.relations if relation.relation_class is not RelationClass.WAL]
    whole = sum(relation.size_bytes for relation in kept)
    return {tier: sum(relation.size_bytes for relation in kept if placement[relation.name] == tier) / whole for tier in TIERS}


def saved(shares_of: Mapping[str, float], devices: Mapping[str, str], book: Book, *, beside: str = FAST) -> Money:
    """Return what a TiB that lies on `devices` (by tier) by `shares_of` costs less a month than all of it on the tier `beside`.

    Raises:
        MissingError: nothing says what a device costs.
    """
    placed = [share_bill(devices[tier], TIB * share, book) for tier, share in shares_of.items()]
    gap = sum((bill * -1.0 for bill in placed), share_bill(devices[beside], TIB, book))
    low, high = cost_over_band(gap, book)
    return Money(value=gap.cost(book) / MONTHS_A_YEAR, low=low / MONTHS_A_YEAR, high=high / MONTHS_A_YEAR)


def bands(device: str) -> dict[str, tuple[float, float, str]]:
    """Return parameter -> both ends of its band and their unit, of what no page states of `device`."""
    found = banded(load_device(device)).items()
    return {place: (one.low, one.high, one.unit) for place, one in found if one.low is not None and one.high is not None}


def band_factors(workload: Workload, placement: Placement) -> tuple[float, float]:
    """Return the least and the greatest factor by which assumed parameters of the run's devices move what `placement` saves (simulated).

    What it saves is the share of a job's time with everything on the slow tier. Each parameter with a band is at either end of it, compared
    with all of them in the middle.
    """
    at = {tier: {end: _service_s(workload, tier, end) for end in (None, True, False)} for tier in TIERS}

    def share(slow: bool | None, fast: bool | None) -> float:
        on = {SLOW: at[SLOW][slow], FAST: at[FAST][fast]}
        return (workload.host_s + sum(on[placement[name]][name] for name in on[SLOW])) / (workload.host_s + sum(on[SLOW].values()))

    moved = [share(slow, fast) / share(None, None) for slow, fast in product((True, False), repeat=2)]
    return min(1.0, *moved), max(1.0, *moved)


def _service_s(workload: Workload, tier: str, quick: bool | None) -> dict[str, float]:
    """Relation -> seconds of a job's requests on the device of `tier`, at the quick or the slow end of its band; `None`: in the middle."""
    name = workload.device_name(tier)
    assert name is not None, "a pair of today has devices"
    spec = load_device(name) if quick is None else at_end(load_device(name), quick=quick)
    build = NewDevice(spec, SEED, workload.stretch * float(workload.tiers[tier].get("scale", 1.0)))
    return {relation.name: relation.service_s(build) for relation in workload.relations}
