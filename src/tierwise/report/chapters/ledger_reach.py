"""Part of the chapter on what would change the verdicts: whether an assumed read-ahead of the disks decides any of them.

The rows of the run are given the times that they would have where the disks read less or farther ahead, and every claim is judged on them
again, by its own judge. An I/O mode counts where all of its rows are still there: a row that waited for disks and whose requests were not
recorded cannot be replayed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import duckdb
import polars as pl

from tierwise.advisor.other_devices import take
from tierwise.advisor.seeks import reads_ahead
from tierwise.analysis import heat
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import Verdict
from tierwise.core.vocabulary import Evidence
from tierwise.report.chapters.ledger_ahead import LEAST, MOST
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed
from tierwise.report.run import Run
from tierwise.report.study_registry import judge_changed
from tierwise.report.variants import PUBLISHED
from tierwise.report.words import case_name, estimated, way_of

ENDS: Final = {"least": LEAST, "most": MOST}
"""Column of `ledger_ahead.frame` -> how far the disks read ahead then."""
NOT_JUDGED: Final = {Verdict.REPORTED, Verdict.NOT_MEASURED, Verdict.INPUT, Verdict.MIXED}
"""Outcomes that no time of a row could change."""


@dataclass(frozen=True)
class Held:
    """What one variant and I/O mode says of a claim as assumed, and at both of `ENDS`; no `ends` where that is not known."""

    claim: str
    decides: bool
    as_assumed: ClaimVerdict
    ends: Mapping[str, ClaimVerdict]

    @property
    def moves(self) -> bool:
        return any(_numbers(end) != _numbers(self.as_assumed) for end in self.ends.values())

    @property
    def flips(self) -> tuple[str, ...]:
        return tuple(ENDS[name] for name, end in self.ends.items() if end.verdict is not self.as_assumed.verdict)


@dataclass(frozen=True)
class Reach:
    """Every claim on a pair whose requests were recorded, by each I/O mode of the published protocol; `unrecorded`: the others."""

    held: Sequence[Held]
    unrecorded: Sequence[str]

    @property
    def moved(self) -> list[Held]:
        return [one for one in self.held if one.moves]

    @property
    def unknown(self) -> list[str]:
        return [one.claim for one in self.held if one.decides and not one.ends]

    @property
    def unmoved(self) -> list[str]:
        return [one.claim for one in self.held if one.decides and one.ends and not one.moves]


def judged(run: Run, bounds: pl.DataFrame) -> Reach:
    """Judge every claim again on rows of the run with the times of `bounds` (`ledger_ahead.frame`)."""
    recorded = set(bounds["pair"])
    ours = [claim for claim in run.verdicts if claim.verdict not in NOT_JUDGED]
    again = [claim for claim in ours if claim.pair in recorded]
    named = [claim.id for claim in again]
    found = {
        end: judge_changed(run.folder.parent, run.run_id, named, partial(reaching, bounds=bounds, end=end, tiers=_disks(run, bounds)))
        for end in ENDS
    }
    held = [one for claim in again for one in compared(claim, {end: judgements[claim.id] for end, judgements in found.items()})]
    return Reach(held, [claim.id for claim in ours if claim.pair not in recorded])


def reaching(rows: duckdb.DuckDBPyConnection, bounds: pl.DataFrame, end: str, tiers: Mapping[str, Sequence[str]]) -> None:
    """Give the view `timings` of `rows` the times at one of `ENDS`; `tiers`: pair -> those whose disks read ahead."""
    for pair, disks in tiers.items():
        take(rows, pair, bounds.filter(pl.col("pair") == pair).with_columns(factor=pl.col(end)), disks)


def _disks(run: Run, bounds: pl.DataFrame) -> dict[str, list[str]]:
    """Pair -> its tiers whose disks read ahead, of every pair with recorded requests."""
    found = {}
    for study, pair in bounds.select("study", "pair").unique(maintain_order=True).rows():
        record = heat.record_of(run.store, study, pair)
        tiers = (record.pair.get("tiers") or {}) if record else {}
        found[pair] = [name for name, spec in tiers.items() if reads_ahead(str(spec.get("device", "")))]
    return found


def compared(claim: ClaimVerdict, ends: Mapping[str, ClaimVerdict]) -> Iterator[Held]:
    """Yield what each I/O mode of the published protocol says of `claim` at the `ends`, first the one that decides."""
    for own in (claim, *claim.others):
        known = {name: one for name, end in ends.items() for one in (end, *end.others) if _is_same(one, own)}
        if own is claim or (own.variant == PUBLISHED and len(known) == len(ENDS)):
            yield Held(claim.id, own is claim, own, known if len(known) == len(ENDS) else {})


def _is_same(one: ClaimVerdict, other: ClaimVerdict) -> bool:
    """Whether both are by one variant and I/O mode, from as many repeats of each case."""
    keys = [(each.variant, each.io_mode, {case.case: case.pairs for case in each.cases}) for each in (one, other)]
    return keys[0] == keys[1]


def _numbers(found: ClaimVerdict) -> list[tuple[float | None, ...]]:
    return [tuple(value and round(value, 12) for value in (case.estimate, case.low, case.high)) for case in found.cases]


def answer(run: Run, reach: Reach) -> Sentence:
    if not reach.held:
        return Sentence("No statement was judged on requests that this run recorded, so that nothing tells whether a verdict hangs on it.")
    deciding, beside = ([one for one in reach.moved if one.decides is decides] for decides in (True, False))
    told = [f"of {_verdicts(deciding)} that rest on their reads {_flipped(deciding)}"] if deciding or not beside else []
    if beside:
        told.append(f"of {_verdicts(beside)} by ways of I/O that do not decide {_flipped(beside, by=True)}")
    said = f"Where the disks read {LEAST} or {MOST} ahead, {'; '.join(told)} (**{Evidence.SIMULATED}**)."
    if reach.unmoved:
        said += f" The estimates of {listed(reach.unmoved)} do not change at all."
    if reach.unknown:
        said += f" Of {listed(reach.unknown)} this run has not all requests of the I/O mode that decides: there it is not known."
    return Sentence(f"{said} {run.stamp}.")


def _verdicts(held: Sequence[Held]) -> str:
    return f"{count(len(held))} verdict{'' if len(held) == 1 else 's'}"


def _flipped(held: Sequence[Held], *, by: bool = False) -> str:
    flips = [
        f"{one.claim}{f' by {way_of(one.as_assumed)}' if by else ''} ({one.as_assumed.verdict.mark} as assumed, "
        + listed(f"{end.verdict.mark} with {ENDS[name]}" for name, end in one.ends.items() if ENDS[name] in one.flips)
        + ")"
        for one in held
        if one.flips
    ]
    return f"{count(len(flips))} flip{'s' if len(flips) == 1 else ''}: {listed(flips)}" if flips else "none flips"


def table(run: Run, reach: Reach) -> Table | Sentence:
    """Tabulate the estimates that hang on it with their verdicts, and in plain words what is not known."""
    if not reach.held:
        return Sentence("")
    rows = [_row(one) for one in reach.held if one.moves]
    lacking: dict[str, list[str]] = {}
    for one in reach.held:
        if one.decides and not one.ends:
            lacking.setdefault(way_of(one.as_assumed), []).append(one.claim)
    rows += [
        [listed(claims), f"{way} decides", "not replayed: this run has not all of its requests", DASH, DASH, "not known"]
        for way, claims in lacking.items()
    ]
    if reach.unrecorded:
        why = "not replayed: of transactions, single reads and simulated loads no sequence of requests is recorded"
        rows.append([listed(reach.unrecorded), DASH, why, DASH, DASH, "not known"])
    return Table(
        ["Claim", "Way of I/O", "As assumed", LEAST, MOST, "Verdict"],
        rows,
        f"Verdicts where disks read ahead as assumed, {LEAST} or {MOST}: each row of the run gets the time that its requests then take in "
        "proportion, as they were recorded in one replicate, and each statement is judged on these rows again, by its own rule. Of several "
        "cases the one that decides is told. Direct I/O asks for one page after another, whatever the device, so that a query without a "
        f"record has that of the same query on other tiers. {run.stamp}, **{Evidence.SIMULATED}**, n = {count(len(reach.moved))} verdicts "
        "that were judged again; from the run's manifest and its recorded requests.",
    )


def _row(one: Held) -> list[str]:
    verdict = f"flips with {' and '.join(one.flips)}" if one.flips else "stays"
    own = one.as_assumed.deciding_case
    return [
        one.claim,
        f"{way_of(one.as_assumed)}{' decides' if one.decides else ''}",
        _cell(one.as_assumed, own if len(one.as_assumed.cases) > 1 else None),
        *(_cell(end, end.deciding_case if end.deciding_case != own else None) for end in (one.ends[name] for name in ENDS)),
        f"**{verdict}**" if one.flips else verdict,
    ]


def _cell(found: ClaimVerdict, case: str | None) -> str:
    decider = next((one for one in found.cases if one.case == found.deciding_case), None)
    told = estimated(decider) if decider else DASH
    return f"**{found.verdict.mark}**: {told}" + (f", {case_name(case)}" if case else "")
