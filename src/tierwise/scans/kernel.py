"""Files of one device read through the kernel's page cache, by processes on one clock."""

from dataclasses import dataclass, field

from tierwise.scans.event_loop import Clock, Event, Process
from tierwise.scans.read_ahead import CachedFile, OpenFile, Run


@dataclass(frozen=True, slots=True)
class KernelCosts:
    call_s: float
    copy_s: float
    check_s: float
    request_s: float
    fill_s: float


@dataclass
class Relation:
    """A file that begins at an address of the device; nothing of it is cached at first."""

    clock: Clock
    costs: KernelCosts
    file: CachedFile
    address_bytes: int
    arriving: dict[int, Event] = field(default_factory=dict)

    def read(self, by: OpenFile, run: Run, *, checked: bool = True) -> Process:
        """Yield one call that reads `run` and returns when all of it is there; whether its check sums are seen to at once."""
        page_s = self.costs.copy_s + (self.costs.check_s if checked else 0.0)
        yield self.costs.call_s
        owed_s, end = 0.0, sum(run)
        for page in range(run.first, end):
            if wanted := by.reached(page, end - page):
                yield owed_s
                owed_s = 0.0
                yield from self._fetch(wanted)
            arriving = self.arriving.get(page)
            if arriving and not arriving.happened:
                yield owed_s
                owed_s = 0.0
                yield arriving
            owed_s += page_s
        by.end = end
        yield owed_s

    def submit(self, by: OpenFile, run: Run) -> Process:
        """Yield one call that begins to read `run` and does not wait for it (`arrived`), nor copies it."""
        yield self.costs.call_s
        for page in range(run.first, sum(run)):
            yield from self._fetch(by.reached(page, sum(run) - page))
        by.end = sum(run)

    def arrived(self, run: Run) -> Process:
        for page in range(run.first, sum(run)):
            if arriving := self.arriving.get(page):
                yield arriving

    def advise(self, run: Run) -> Process:
        """Yield one call that has the kernel fetch `run` and does not wait for it: posix_fadvise(WILLNEED)."""
        yield self.costs.call_s
        yield from self._fetch(self.file.fill(*run))

    def _fetch(self, runs: list[Run]) -> Process:
        events = [Event() for _ in runs]
        for run, event in zip(runs, events, strict=True):
            for page in range(run.first, sum(run)):
                self.arriving[page] = event
        for run, event in zip(runs, events, strict=True):
            yield self.costs.request_s + run.length * self.costs.fill_s
            self.clock.read(self.address_bytes, run, event)
