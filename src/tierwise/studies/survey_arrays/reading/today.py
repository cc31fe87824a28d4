"""Large databases on the pair of today (statement H13): what a TiB costs on its fast tier over one on its slow tier."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from tierwise.advisor.workload import FAST, SLOW
from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import Claim
from tierwise.analysis.statistics import Estimate
from tierwise.analysis.today import Shown
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import ratio_over_band
from tierwise.costs.book import load_book
from tierwise.costs.hardware import share_bill


def cases(claim: Claim, rows: Rows, pair: str) -> Sequence[Shown]:  # noqa: ARG001 - the study has one claim of money
    """Return the cost of a TiB on the fast tier of `pair` over one on the slow tier, over the price bands; none without a price."""
    tiers = rows.manifest.pairs[pair]["tiers"]
    devices = [str(tiers[tier]["device"]) for tier in (FAST, SLOW) if "device" in tiers.get(tier, {})]
    book = load_book(rows.manifest.started_at.date())
    if len(devices) < 2:
        return []
    try:
        on_fast, on_slow = (share_bill(device, 1024 * GIB, book) for device in devices)
        ratio = on_fast.cost(book) / on_slow.cost(book)
    except MissingError:
        return []
    return [Shown("a TiB on fast over slow", Estimate(ratio, *ratio_over_band(on_fast, on_slow, book), repeats=1), Evidence.PUBLISHED)]


TODAY: Final = MappingProxyType({"H13": cases})
