"""The verdicts on the claims of the Zipfian reads about money."""

from collections.abc import Mapping
from typing import Final

from tierwise.analysis.claims import Claim
from tierwise.analysis.judging import ClaimVerdict, Grounds, Judge
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.costs.book import load_book
from tierwise.costs.iops import simulated_iops, simulated_rate
from tierwise.costs.price_band import Compared, Counted, judge_band
from tierwise.studies.ram_or_ssd.reading.money import DISK, FLASH, THEN, cases, compared


def replaces_memory(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Judge R10, wherever the data do not fit memory: flash is the cheapest, and without it memory is cheaper than disks."""
    return judge_band(claim, on.pair, compared(cases(on.rows.connection if on.rows else None), load_book(THEN)), io_mode=IoMode.BUFFERED)


def sequential(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Judge R11: by how much flash is ahead of the disk in random reads, over how much in sequential ones; prices cancel."""
    ratio = simulated_iops(FLASH) / simulated_iops(DISK) / (simulated_rate(FLASH) / simulated_rate(DISK))
    lead = Compared(Evidence.SIMULATED, (ratio, ratio))
    return judge_band(claim, on.pair, Counted({"random lead over sequential lead": lead}), io_mode=IoMode.BUFFERED)


MONEY: Final[Mapping[str, Judge]] = {"R10": replaces_memory, "R11": sequential}
