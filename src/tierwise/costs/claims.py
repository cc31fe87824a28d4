"""The verdicts on claims of kind ``cost``: over the band of the prices, which lies beyond what `analysis` may see."""

from collections.abc import Callable, Mapping, Sequence
from math import inf, log
from pathlib import Path
from typing import Final

import duckdb

from tierwise.analysis.claims import Bounds, Kind
from tierwise.analysis.rules import StateVerdict, Verdict
from tierwise.analysis.verdicts import ClaimVerdict, judge, newest_run
from tierwise.analysis.views import open_views
from tierwise.core.words import IoArm, Substrate
from tierwise.costs.book import load_book
from tierwise.costs.iops import simulated_iops, simulated_rate
from tierwise.costs.sensitivity import ratio_over_band
from tierwise.costs.source_r import DISK, FLASH, THEN, cases, ways

Connection = duckdb.DuckDBPyConnection

CROSSES: Final = "the bound lies within the price band"


def judge_costs(verdicts: Sequence[ClaimVerdict], connection: Connection | None = None) -> tuple[ClaimVerdict, ...]:
    """`verdicts` with those of kind ``cost`` judged at the prices of their source's time, from rows of `connection` if it has them."""
    return tuple(_judged(verdict, connection) if verdict.kind is Kind.COST and verdict.id in STATES else verdict for verdict in verdicts)


def judge_all(raw: Path, run_id: str | None = None) -> list[ClaimVerdict]:
    """`analysis.verdicts.judge` with the claims of kind ``cost`` judged as well; without any run from what was published."""
    chosen = run_id or newest_run(raw)
    if chosen is None:
        return list(judge_costs(judge(raw)))
    with open_views(raw, chosen) as connection:
        return list(judge_costs(judge(raw, chosen), connection))


def _judged(verdict: ClaimVerdict, connection: Connection | None) -> ClaimVerdict:
    assert verdict.bounds is not None, "a claim of kind cost that is judged has bounds"
    bounds = Bounds(lower=verdict.bounds[0], upper=verdict.bounds[1], strict=verdict.bounds_text.startswith(("more", "less")))
    states = [_state(name, substrate, *band, bounds) for name, (substrate, band) in STATES[verdict.id](connection).items()]
    outcome = _combined({state.verdict for state in states})
    decider = min(states, key=lambda state: _room(state, bounds))
    found = {"estimate": decider.estimate, "low": decider.low, "high": decider.high, "deciding_state": decider.state}
    return verdict.model_copy(
        update={
            **found,
            "verdict": f"{outcome} ({CROSSES})" if outcome is Verdict.UNDECIDED else str(outcome),
            "reason": CROSSES if outcome is Verdict.UNDECIDED else "",
            "substrate": Substrate.of({state.substrate for state in states}),
            "deciding_arm": decider.arm,
            "rests_on": (decider.arm,),
            "states": tuple(states),
        }
    )


def _state(name: str, substrate: Substrate, low: float, high: float, bounds: Bounds) -> StateVerdict:
    inside, outside = bounds.contain(low, high), bounds.exclude(low, high)
    return StateVerdict(
        state=name,
        arm=IoArm.BUFFERED,  # source R reads through the page cache
        substrate=substrate,
        estimate=(low * high) ** 0.5,
        low=low,
        high=high,
        pairs=0,
        flagged=0,
        verdict=Verdict.CONFIRMED if inside else Verdict.CONTRADICTED if outside else Verdict.UNDECIDED,
    )


def _room(state: StateVerdict, bounds: Bounds) -> float:
    """How far the band lies inside the bounds, on the log scale; below zero outside."""
    assert state.low is not None, "a band has two ends"
    assert state.high is not None, "a band has two ends"
    lower = log(state.low / bounds.lower) if bounds.lower else inf
    upper = log(bounds.upper / state.high) if bounds.upper else inf
    return min(lower, upper)


def _combined(verdicts: set[Verdict]) -> Verdict:
    if Verdict.CONTRADICTED in verdicts:
        return Verdict.CONTRADICTED
    return Verdict.CONFIRMED if verdicts == {Verdict.CONFIRMED} else Verdict.UNDECIDED


States = Mapping[str, tuple[Substrate, tuple[float, float]]]


def _replaces_memory(connection: Connection | None) -> States:
    """R10: flash is the cheapest, and without it memory is cheaper than disks, wherever the data do not fit the memory."""
    book, found = load_book(THEN), {}
    for case in cases(connection):
        if case.data_to_ram <= 1:
            continue
        three = ways(case, book)
        at = f"data {case.data_to_ram:g} x RAM"
        found[f"more RAM over an SSD, {at}"] = case.substrate, ratio_over_band(three.memory.bill, three.flash.bill, book)
        found[f"more disks over more RAM, {at}"] = case.substrate, ratio_over_band(three.disks.bill, three.memory.bill, book)
    return found


def _sequential(_: Connection | None) -> States:
    """R11: by how much flash is ahead of the disk in random reads, over how much in sequential ones; prices cancel."""
    ratio = simulated_iops(FLASH) / simulated_iops(DISK) / (simulated_rate(FLASH) / simulated_rate(DISK))
    return {"lead in random over lead in sequential reads": (Substrate.SIMULATED, (ratio, ratio))}


STATES: Final[Mapping[str, Callable[[Connection | None], States]]] = {"R10": _replaces_memory, "R11": _sequential}
"""Claim -> the ratios that it needs, each with its substrate and its band."""
