"""The ways to serve the Zipfian reads at the prices of the article's day and of the run's day."""

from dataclasses import dataclass

from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import WithoutFlash
from tierwise.report.prices import book_of
from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.money import DISK_NOW, FLASH_NOW, THEN, Case, cases, ways


@dataclass(frozen=True)
class Day:
    """The ways at one day's prices, with drives that could be bought then."""

    book: Book
    three: WithoutFlash

    @property
    def memory(self) -> float:
        """Return the cost of more RAM over that of the SSD."""
        return self.three.memory.bill.cost(self.book) / self.three.flash.bill.cost(self.book)

    @property
    def disks(self) -> float:
        """Return the cost of more disks over that of the SSD."""
        return self.three.disks.bill.cost(self.book) / self.three.flash.bill.cost(self.book)


def beyond_memory(run: Run) -> list[Case]:
    """Return what the run simulated of data larger than the RAM, the smallest first; else what was published."""
    return [case for case in cases(run.connection) if case.data_to_ram > 1]


def then_and_now(run: Run, case: Case) -> tuple[Day, Day]:
    then, now = load_book(THEN), book_of(run)
    return Day(then, ways(case, then)), Day(now, ways(case, now, flash=FLASH_NOW, disk=DISK_NOW))


def evidence(run: Run) -> str:
    return str(Evidence.of({case.evidence for case in beyond_memory(run)}))
