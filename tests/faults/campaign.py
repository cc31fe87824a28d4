"""The controller: every fault is injected once and journaled with its phase, and its run is resumed and looked at.

Faults go in chains: one run is struck by several, a life for each, in the order of its phases, and resumed to its end after the last.
What is wrong then is told of all of them. The journal is one line of JSON a fault, written once its chain is through; whoever is called
again goes on with what is left, unless the code is another by now.
"""

import json
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from checkout import seed
from faults.checks import at_once, differences, strays
from faults.kinds import KINDS, Kind
from faults.place import ANY, MEASURED, ONCE, PHASES, STARTING, Life, Place, commit, phases_met, product
from tierwise.core import paths
from tierwise.core.errors import TierwiseError
from tierwise.core.files import write_whole
from tierwise.core.host import fingerprint
from tierwise.report.site import today

ORDER: Final = (STARTING, *PHASES)
"""Phases as the table has them."""
IN_A_PHASE: Final = 6
AT_ANY_MOMENT: Final = 18
"""How many SIGKILLs there are inside each phase, and at any moment."""
OF_A_KIND: Final = 8
"""How many faults there are of each other kind."""
IN_A_CHAIN: Final = 2
"""Faults of one kind in one phase that strike one run."""
ALONE: Final = 6
"""Faults at any moment that strike one run, where nothing else does."""
REACH: Final = 1.4
"""How much of a run its faults would take on the average, twice over, were each to come as late as it may: few find the run over."""
PATIENCE_S: Final = 1200.0
"""A run that neither ends nor goes on for so long hangs."""
RESULT: Final = "data/validation/faults.json"


@dataclass(frozen=True)
class Fault:
    """A fault of the campaign: which kind, in which phase, and the number of its seed among those of the campaign."""

    kind: str
    phase: str
    number: int


@dataclass
class Tried:
    """A fault that was injected: into which phase, whom it hit, and what was wrong afterwards."""

    fault: Fault
    phase: str
    hit: str
    problems: list[str] = field(default_factory=list)

    def line(self, version: str) -> str:
        told = {**asdict(self.fault), "met": self.phase, "hit": self.hit, "survived": not self.problems, "problems": self.problems}
        return json.dumps({"version": version, "day": today(), **told}) + "\n"


def whole() -> list[Fault]:
    """Every fault of the campaign."""
    kills = [phase for phase in PHASES for _ in range(IN_A_PHASE)] + [ANY] * AT_ANY_MOMENT
    others = [(name, phase) for name, kind in KINDS.items() if name != "SIGKILL" for phase in kind.phases[:OF_A_KIND]]
    asked = [*(("SIGKILL", phase) for phase in kills), *others]
    return [Fault(kind, phase, number) for number, (kind, phase) in enumerate(asked)]


class Campaign:
    """A campaign in `folder`, which has its journal; `version` is what the product is."""

    def __init__(self, folder: Path):
        self.place, self.version = Place(folder), product()
        self.kind: Kind = Kind()
        self.journal = folder / "journal.jsonl"
        self.undisturbed = folder / "undisturbed"
        self.sockets: set[str] = set()

    def tried(self) -> list[dict[str, Any]]:
        """Return the journal, of this version of the code."""
        if not self.journal.exists():
            return []
        lines = (json.loads(line) for line in self.journal.read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line["version"] == self.version]

    def left(self) -> list[Fault]:
        """Return the faults that are still to be tried."""
        done = {line["number"] for line in self.tried()}
        return [fault for fault in whole() if fault.number not in done]

    def begin(self) -> None:
        """Lay the checkout out, and measure once without any fault, unless that was done."""
        marker = self.place.base / "version"
        if not marker.exists() or marker.read_text(encoding="utf-8") != self.version:
            for name in ("checkout", "undisturbed"):
                shutil.rmtree(self.place.base / name, ignore_errors=True)
            self.place.base.mkdir(parents=True, exist_ok=True)
            self.place.base.chmod(0o755)
        self.place.lay_out()
        write_whole(marker, self.version)
        if not self.undisturbed.exists():
            with self.place.new_run(self.kind):
                begun_s = time.monotonic()
                problems = self._to_its_end()
                assert not problems, problems
                took_s = time.monotonic() - begun_s
                times = Counter(phases_met(self.place.watch))
                write_whole(self.place.base / "undisturbed.json", json.dumps({"took_s": took_s, "times": times}))
                (self.place.folder / "raw").rename(self.undisturbed)

    @property
    def known(self) -> dict[str, Any]:
        """Return how long the undisturbed run took, and how many times it came to each phase."""
        found: dict[str, Any] = json.loads((self.place.base / "undisturbed.json").read_text(encoding="utf-8"))
        return found

    def chain(self, faults: Sequence[Fault], tell: Callable[[str], None] = print) -> list[Tried]:
        """Strike one new run by `faults`, in their order, resume it to its end, and journal what came of it."""
        chance = random.Random(f"{seed()}-{faults[0].number}")
        self.kind = KINDS[faults[0].kind]
        self.sockets.clear()
        tried, seen, waiting = list[Tried](), set[int](), list(faults)
        with self.place.new_run(self.kind):
            while waiting:
                with self.place.living(self.kind) as life:
                    struck = self._strike(life, waiting, chance, len(faults))
                    in_time = self._wait(life, PATIENCE_S)
                    life.processes()
                    self.kind.undo(self.place)
                seen |= life.seen
                problems = [*at_once(self.place, life, struck_down=self.kind.deadly and life.report.returncode < 0)]
                if not in_time:
                    problems.append(f"hangs: {life.said()[-600:]}")
                for one in struck:
                    one.problems += problems
                    tell(f"{one.fault.kind} while {one.phase}, hit {one.hit}: {'; '.join(problems) or life.last()}")
                tried += struck
                if not struck and life.report.returncode:
                    for one in tried:
                        one.problems.append(f"resumed, it ended with {life.report.returncode}: {life.said()[-600:]}")
                if not struck or life.report.returncode == 0:
                    break  # nothing is left to strike
            assert tried or life.report.returncode == 0, f"ended before any fault: {life.said()[-1500:]}"
            problems = self._to_its_end(seen) if tried else []
        for one in tried:
            one.problems += problems
        with self.journal.open("a", encoding="utf-8") as journal:
            journal.writelines(one.line(self.version) for one in tried)
            journal.flush()
            os.fsync(journal.fileno())
        return tried

    def _strike(self, life: Life, waiting: list[Fault], chance: random.Random, together: int) -> list[Tried]:
        """Strike `life` by the first of `waiting` whose time comes, and by those after it as long as it does not end.

        They are taken from `waiting`, which were `together` at first.
        """
        struck: list[Tried] = []
        while waiting and not life.ended:
            fault = waiting[0]
            at = None
            if fault.phase == ANY:
                self._wait(life, chance.uniform(0.0, REACH * self.known["took_s"] / (together + 1)))
            else:
                reach = (REACH if fault.phase in MEASURED else 1) / (together + 1)
                life.await_phase(fault.phase, chance.randint(1, max(1, int(reach * self.known["times"].get(fault.phase, 1)))))
                at = self._wait_for(life, fault.phase)
                if at is not None and fault.phase in LASTING:
                    self._wait(life, chance.uniform(0.0, 0.5))
            if life.ended:
                break
            waiting.pop(0)
            if at is not None or fault.phase == ANY:
                struck += self._hit(life, fault, at, chance)
            life.go_on()
            if struck:
                self._wait(life, self.kind.grace_s)
        return struck

    def _hit(self, life: Life, fault: Fault, at: int | None, chance: random.Random) -> list[Tried]:
        """Strike as soon as there is something to hit, which it may be that there never is."""
        phase = life.phase() if fault.phase == ANY else fault.phase
        until_s = time.monotonic() + PATIENCE_S
        while not life.ended and time.monotonic() < until_s:
            if hit := self.kind.inject(self.place, life, at, chance):
                return [Tried(fault, phase, hit)]
            life.go_on()
            time.sleep(0.1)
            phase = life.phase()
        return []

    def _wait_for(self, life: Life, phase: str) -> int | None:
        """Return the process that came to the `phase` which is waited for; None where none will."""
        while (at := life.arrived()) is None and not life.ended and not life.over(phase):
            self._look()
            time.sleep(0.005)
        return None if life.ended else at

    def _wait(self, life: Life, seconds: float) -> bool:
        """Whether `life` ends within so many `seconds`."""
        until_s = time.monotonic() + seconds
        while not life.ended and time.monotonic() < until_s:
            self._look()
            time.sleep(min(0.02, seconds))
        return life.ended

    def _look(self) -> None:
        """Note the sockets that servers have now."""
        for record in self.place.folder.glob("work/runs/*/*/*/cluster/socket"):
            with suppress(FileNotFoundError):
                self.sockets |= set(record.read_text(encoding="utf-8").split())

    def _to_its_end(self, seen: set[int] | None = None) -> list[str]:
        """Resume the run undisturbed, and return what is wrong with it then."""
        with self.place.living(self.kind) as life:
            self._wait(life, PATIENCE_S)
            life.processes()
        if life.report.returncode:
            return [f"cannot be resumed: {life.said()[-1500:]}"]
        problems = [*at_once(self.place, life, struck_down=False), *strays(self.place, (seen or set()) | life.seen, self.sockets)]
        runs = [folder for folder in (self.place.folder / "raw").iterdir() if folder.is_dir() and folder.name[0] != "."]
        if len(runs) != 1:
            problems.append(f"{len(runs)} runs: {[run.name for run in runs]}")
        if self.undisturbed.exists():
            (there,) = self.undisturbed.iterdir()
            try:
                problems += differences(there, runs[0])
            except (TierwiseError, OSError) as error:
                problems.append(f"rows cannot be read: {error}")
        return problems

    def save(self) -> None:
        """Write the table of what was tried, by kind and phase, into the checkout: the appendix shows it."""
        tried = self.tried()
        counted: dict[tuple[str, str], list[bool]] = {}
        for line in sorted(tried, key=lambda line: (list(KINDS).index(line["kind"]), ORDER.index(line["met"]))):
            counted.setdefault((line["kind"], line["met"]), []).append(line["survived"])
        rows = [
            {"kind": kind, "phase": phase, "tried": len(found), "survived": sum(found), "lost": len(found) - sum(found)}
            for (kind, phase), found in counted.items()
        ]
        told = {
            "made_by": "make soak",
            "product": self.version,
            "commit": commit(),
            "day": max((line["day"] for line in tried), default=today()),
        }
        told |= {"host": fingerprint().model_dump(mode="json"), "asked": len(whole())}
        write_whole(paths.home() / RESULT, json.dumps({**told, "rows": rows}, indent=1) + "\n")


LASTING: Final = ("loading", "measuring", "rendering")
"""Phases that last: they are struck a little after their beginning."""


def next_chain(left: Sequence[Fault]) -> list[Fault]:
    """Choose of `left` what the next run is struck by: faults of one kind, of all its phases, as a run comes to them; else some at any
    moment."""
    of = {phase: [fault for fault in left if (fault.kind, fault.phase) == (left[0].kind, phase)] for phase in (*PHASES, ANY)}
    if not any(of[phase] for phase in PHASES):
        return of[ANY][:ALONE]
    again_and_again = [fault for nth in range(IN_A_CHAIN) for phase in (*MEASURED, ANY) for fault in of[phase][nth : nth + 1]]
    return again_and_again + [fault for phase in ONCE for fault in of[phase][:IN_A_CHAIN]]
