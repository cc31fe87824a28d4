"""The verdicts on claims of kind ``cost``: over the band of the prices, which lies beyond what `analysis` may see."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from math import inf, log
from typing import Any, Final

import duckdb

from tierwise.analysis.claims import Bounds, Kind, load_claims
from tierwise.analysis.judging import ArmVerdict
from tierwise.analysis.open_claims import Cause, cure
from tierwise.analysis.rules import StateVerdict, Verdict
from tierwise.analysis.verdicts import ClaimVerdict
from tierwise.core.words import IoArm, Substrate
from tierwise.costs import source_h
from tierwise.costs.book import load_book
from tierwise.costs.iops import simulated_iops, simulated_rate
from tierwise.costs.sensitivity import ratio_over_band
from tierwise.costs.source_r import DISK, FLASH, THEN, cases, ways

Connection = duckdb.DuckDBPyConnection

CROSSES: Final = "the bound lies within the price band"
IO: Final = {"R": IoArm.BUFFERED, "H": IoArm.DIRECT}
"""Source R reads through the page cache; the server on source H's tiers past it."""


def judge_costs(verdicts: Sequence[ClaimVerdict], connection: Connection | None = None) -> tuple[ClaimVerdict, ...]:
    """`verdicts` with those of kind ``cost`` judged at the prices of their source's time, from rows of `connection` if it has them."""
    return tuple(_judged(verdict, connection) if verdict.kind is Kind.COST and verdict.id in STATES else verdict for verdict in verdicts)


def _judged(verdict: ClaimVerdict, connection: Connection | None) -> ClaimVerdict:
    found = _found(verdict, STATES[verdict.id](connection))
    others = ARMS[verdict.id](connection) if verdict.id in ARMS else {}
    own = {name: found[name] for name in ("verdict", "reason", "cause", "cure", "estimate", "substrate", "deciding_state", "states")}
    return verdict.model_copy(
        update={
            **own,
            "low": found["interval"][0],
            "high": found["interval"][1],
            "deciding_arm": IO[verdict.source],
            "rests_on": (IO[verdict.source],),
            "arms": {name: ArmVerdict(**_found(verdict, states)) for name, states in others.items()},
        }
    )


def _found(verdict: ClaimVerdict, bands: "States") -> dict[str, Any]:
    """The fields of an `ArmVerdict` from the ratios in `bands`."""
    assert verdict.bounds is not None, "a claim of kind cost that is judged has bounds"
    bounds = Bounds(lower=verdict.bounds[0], upper=verdict.bounds[1], strict=verdict.bounds_text.startswith(("more", "less")))
    states = tuple(_state(name, IO[verdict.source], substrate, band, bounds) for name, (substrate, band) in bands.items())
    outcome = _combined({state.verdict for state in states})
    decider = min(states, key=lambda state: _room(state, bounds))
    return {
        "verdict": f"{outcome} ({CROSSES}; needs {cure(Cause.PRICES, None)})" if outcome is Verdict.UNDECIDED else str(outcome),
        "reason": CROSSES if outcome is Verdict.UNDECIDED else "",
        "cause": Cause.PRICES if outcome is Verdict.UNDECIDED else None,
        "cure": cure(Cause.PRICES, None) if outcome is Verdict.UNDECIDED else "",
        "states": states,
        "deciding_state": decider.state,
        "estimate": decider.estimate,
        "interval": (decider.low, decider.high),
        "pairs": 0,
        "flagged": 0,
        "substrate": Substrate.of({state.substrate for state in states}),
        "through": None,
    }


def _state(name: str, arm: IoArm, substrate: Substrate, band: tuple[float, float], bounds: Bounds) -> StateVerdict:
    low, high = band
    inside, outside = bounds.contain(low, high), bounds.exclude(low, high)
    return StateVerdict(
        state=name,
        arm=arm,
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


def _other_measures(connection: Connection | None) -> Mapping[str, States]:
    """H13 by what is delivered, and at the prices of the day of the run; none without one."""
    if connection is None or not connection.execute("select 1 from duckdb_views() where view_name = 'runs'").fetchall():
        return {}
    ((started_at,),) = connection.execute("select manifest ->> '$.started_at' from runs").fetchall()
    return source_h.arms(connection, load_claims().sources["H"].pair, load_book(dt.datetime.fromisoformat(started_at).date()))


STATES: Final[Mapping[str, Callable[[Connection | None], States]]] = {
    "R10": _replaces_memory,
    "R11": _sequential,
    "H13": source_h.states,
}
"""Claim -> the ratios that it needs, each with its substrate and its band."""
ARMS: Final[Mapping[str, Callable[[Connection | None], Mapping[str, States]]]] = {"H13": _other_measures}
"""Claim -> other ways to count -> the ratios that they need."""
