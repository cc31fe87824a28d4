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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from checkout import seed
from faults.checks import at_once, differences, strays
from faults.kinds import KINDS, Kind
from faults.place import Life, Place
from tierwise.core import paths
from tierwise.core.errors import TierwiseError
from tierwise.core.files import write_whole
from tierwise.core.host import fingerprint
from tierwise.report.site import code_version

PHASES: Final = ("loading", "measuring", "writing rows", "renaming", "merging", "rendering", "exporting")
"""What a run goes through, in its order; renaming is of rows and of what lies beside them."""
ANY: Final = "any moment"
IN_A_PHASE: Final = 6
AT_ANY_MOMENT: Final = 18
"""How many SIGKILLs there are inside each phase, and at any moment."""
OF_A_KIND: Final = 8
"""How many faults there are of each other kind."""
AT_ONCE: Final = 3
"""Faults at any moment that one run has, which are a third of its time apart or less."""
PATIENCE_S: Final = 900.0
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
        return json.dumps({"version": version, **told}) + "\n"


def whole() -> list[Fault]:
    """Every fault of the campaign."""
    kills = [phase for phase in PHASES for _ in range(IN_A_PHASE)] + [ANY] * AT_ANY_MOMENT
    others = [(kind, phase) for kind in KINDS if kind != "SIGKILL" for phase in (*PHASES, ANY)[:OF_A_KIND]]
    asked = [*(("SIGKILL", phase) for phase in kills), *others]
    return [Fault(kind, phase, number) for number, (kind, phase) in enumerate(asked)]


class Campaign:
    """A campaign in `folder`, which has its journal; `version` is the code's."""

    def __init__(self, folder: Path):
        self.place, self.version = Place(folder), code_version()
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
                phases = (self.place.folder / "watch" / "phases").read_text(encoding="utf-8").splitlines()
                times = Counter(line.split(maxsplit=2)[2] for line in phases)
                write_whole(self.place.base / "undisturbed.json", json.dumps({"took_s": took_s, "times": times}))
                (self.place.folder / "raw").rename(self.undisturbed)

    @property
    def known(self) -> dict[str, Any]:
        """Return how long the undisturbed run took, and how many times it came to each phase."""
        found: dict[str, Any] = json.loads((self.place.base / "undisturbed.json").read_text(encoding="utf-8"))
        return found

    def chain(self, faults: Sequence[Fault]) -> list[Tried]:
        """Strike one new run by `faults`, in their order, resume it to its end, and journal what came of it."""
        chance = random.Random(f"{seed()}-{faults[0].number}")
        self.kind = KINDS[faults[0].kind]
        self.sockets.clear()
        tried, seen = [], set[int]()
        with self.place.new_run(self.kind):
            for fault in faults:
                found = self._strike(fault, chance, seen)
                if found is None:
                    break
                tried.append(found)
            problems = self._to_its_end(seen) if tried else []
        for one in tried:
            one.problems += problems
        with self.journal.open("a", encoding="utf-8") as journal:
            journal.writelines(one.line(self.version) for one in tried)
            journal.flush()
            os.fsync(journal.fileno())
        return tried

    def _strike(self, fault: Fault, chance: random.Random, seen: set[int]) -> Tried | None:
        """One life with one fault; None where it ended before its time had come."""
        moment = fault.phase in PHASES
        nth = chance.randint(1, max(1, self.known["times"].get(fault.phase, 1) // AT_ONCE)) if moment else 1
        with self.place.living(self.kind, fault.phase if moment else "", nth) as life:
            at = self._wait_for(life) if moment else None
            if fault.phase in LASTING:
                self._sleep(life, chance.uniform(0.0, 0.5))
            elif not moment:
                self._sleep(life, chance.uniform(0.0, self.known["took_s"] / AT_ONCE))
            if life.ended:
                return None
            phase = fault.phase if moment else life.phase()
            hit = self._hit(life, at, chance)
            life.go_on()
            in_time = life.wait(PATIENCE_S)
            life.processes()
            self.kind.undo(self.place)
            seen |= life.seen
        if not hit:
            return None
        problems = [*at_once(self.place, life, struck_down=self.kind.deadly and life.report.returncode < 0)]
        if not in_time:
            problems.append(f"hangs: {life.said()[-600:]}")
        return Tried(fault, phase, hit, problems)

    def _hit(self, life: Life, at: int | None, chance: random.Random) -> str:
        """Strike as soon as there is something to hit, and return what was."""
        until_s = time.monotonic() + PATIENCE_S
        while not (hit := self.kind.inject(self.place, life, at, chance)) and not life.ended and time.monotonic() < until_s:
            life.go_on()
            time.sleep(0.1)
        return hit

    def _wait_for(self, life: Life) -> int | None:
        while not life.ended and (at := life.arrived()) is None:
            self._look()
            time.sleep(0.005)
        return None if life.ended else at

    def _sleep(self, life: Life, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while not life.ended and time.monotonic() < until_s:
            self._look()
            time.sleep(min(0.02, seconds))

    def _look(self) -> None:
        """Note the sockets that servers have now."""
        for record in self.place.folder.glob("work/runs/*/*/*/cluster/socket"):
            with suppress(FileNotFoundError):
                self.sockets |= set(record.read_text(encoding="utf-8").split())

    def _to_its_end(self, seen: set[int] | None = None) -> list[str]:
        """Resume the run undisturbed, and return what is wrong with it then."""
        with self.place.living(self.kind) as life:
            until_s = time.monotonic() + PATIENCE_S
            while not life.ended and time.monotonic() < until_s:
                self._look()
                time.sleep(0.1)
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
        counted: dict[tuple[str, str], list[bool]] = {}
        for line in self.tried():
            counted.setdefault((line["kind"], line["met"]), []).append(line["survived"])
        rows = [
            {"kind": kind, "phase": phase, "tried": len(found), "survived": sum(found), "lost": len(found) - sum(found)}
            for (kind, phase), found in sorted(counted.items())
        ]
        told = {"made_by": "make soak", "version": self.version, "asked": len(whole()), "host": fingerprint().model_dump(mode="json")}
        write_whole(paths.home() / RESULT, json.dumps({**told, "rows": rows}, indent=1) + "\n")


LASTING: Final = ("loading", "measuring", "rendering")
"""Phases that last: they are struck a little after their beginning."""


def next_chain(left: Sequence[Fault]) -> list[Fault]:
    """Choose of `left` what the next run is struck by: faults of one kind, one of each phase, or else some at any moment."""
    same = [fault for fault in left if fault.kind == left[0].kind]
    in_phases = [next((fault for fault in same if fault.phase == phase), None) for phase in PHASES]
    return [fault for fault in in_phases if fault] or same[:AT_ONCE]
