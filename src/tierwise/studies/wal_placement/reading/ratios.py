"""Ratios of commits a second with their intervals, and the rules by which they are put into words."""

from collections.abc import Iterable
from typing import Final, Literal

from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.report.formats import DASH, count, interval, listed, number
from tierwise.report.run import Run

WORTH: Final = 1.1
"""A gain in commits that is worth a drive: a tenth (assumed)."""
Case = tuple[int, str]
"""Clients, and whether commits wait for others (``on``, ``off``)."""
Word = Literal["pays", "equal", "costs", "open"]


def of_places(run: Run, pair: str, place: str, over: str) -> dict[Case, Estimate]:
    """Return commits a second with the log on `place` over those with it on `over`, by case; only clean repeats of windows count."""
    return _estimates(run, "wal = $2 and over = $3 and group_commit = over_group_commit", [pair, place, over])


def of_delay(run: Run, pair: str, place: str) -> dict[Case, Estimate]:
    """Return commits a second where commits wait for others over those where they do not, with the log on `place`."""
    return _estimates(run, "wal = $2 and over = $2 and group_commit <> over_group_commit", [pair, place])


def _estimates(run: Run, which: str, parameters: list[str]) -> dict[Case, Estimate]:
    rows = run.query(
        "select clients, group_commit, replicate, ratio, flagged "
        f"from wal_placement where pair = $1 and {which} order by group_commit, clients",
        parameters,
    ).rows()
    clean: dict[Case, dict[int, float]] = {}
    for clients, grouped, replicate, ratio, flagged in rows:
        clean.setdefault((clients, grouped), {}).update({} if flagged else {replicate: ratio})
    return {case: geometric_estimate(ratios) for case, ratios in clean.items()}


def told(one: Estimate | None) -> str:
    """Return ``12.3 (11.9 to 12.8)``; a dash where there is no answer."""
    if one is None or one.value is None or one.interval is None:
        return DASH
    return f"{number(one.value)} ({interval(*one.interval)})"


def word(one: Estimate) -> Word | None:
    """Return what an interval says: above `WORTH`, within as much of 1 on either side, below 1, or none of these; None without one."""
    if one.interval is None:
        return None
    low, high = one.interval
    if low > WORTH:
        return "pays"
    if low >= 1 / WORTH and high <= WORTH:
        return "equal"
    return "costs" if high < 1 else "open"


def reading(found: Iterable[Estimate]) -> str:
    """Return what several ratios say together, in a sentence; nothing where none has an interval."""
    words = [said for one in found if (said := word(one))]
    alone = {
        "pays": f"It pays: every interval lies above {WORTH:g}.",
        "equal": f"It makes no odds: every interval lies between {number(1 / WORTH)} and {WORTH:g}.",
        "costs": "It costs commits: every interval lies below 1.",
        "open": "Whether it pays is open: no interval lies on one side.",
    }
    if len(set(words)) <= 1:
        return alone[words[0]] if words else ""
    parts = {"pays": "it pays", "equal": "it makes no odds", "costs": "it costs commits", "open": "it is open"}
    return (
        f"Of {count(len(words))} cases, {listed(f'in {count(words.count(said))} {what}' for said, what in parts.items() if said in words)}."
    )
