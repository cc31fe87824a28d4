"""Appendix: reports that were struck by faults and resumed; figures of a campaign, not of a run."""

from collections.abc import Sequence
from typing import Any, Final

from tierwise.report.chapters.validation import committed
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count

PLACE: Final = "data/validation/faults.json"

Row = dict[str, Any]


def load() -> dict[str, Any]:
    """Read what the campaign of faults found."""
    return committed(PLACE, "-m pytest -m soak tests/test_soak_faults.py")


def outcomes() -> Table:
    """Tabulate the faults that were tried, by kind and by the phase that they met, and all of them."""
    rows: list[Row] = load()["rows"]
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(row["kind"] for row in rows)}
    return Table(
        ["Fault", "Tried", "Survived", "Lost", "Tried while"],
        [_line(kind, found) for kind, found in {**kinds, "all": rows}.items()],
        "Faults injected into a report of one block, which was then resumed (**measured**). Survived: the same rows as without a fault, "
        "none twice, none torn, the same pages read and the same simulated values, nothing left behind, a message with cause and remedy. "
        f"Input: `{PLACE}`.",
        align="lrrrl",
    )


def conditions() -> Sentence:
    """Return how many faults were tried, survived and lost, how many are left, and when and at which commit that was."""
    found = load()
    asked = found["asked"]
    if not found["rows"]:
        return Sentence(f"No fault of {count(asked)} was tried yet.")
    tried, survived, lost = (sum(row[name] for row in found["rows"]) for name in ("tried", "survived", "lost"))
    how_many = f"All {count(asked)} faults were tried" if tried == asked else f"{count(tried)} of {count(asked)} faults were tried so far"
    came = f"{count(survived)} survived, {count(lost) if lost else 'none'} {'were' if lost > 1 else 'was'} lost"
    left = "" if tried == asked else f", {count(asked - tried)} {'are' if asked - tried > 1 else 'is'} left to try"
    return Sentence(f"{how_many}, the last on {found['day']}, at commit `{found['commit']}`: {came}{left}.")


def _line(kind: str, rows: Sequence[Row]) -> list[str]:
    tried, survived, lost = (sum(row[name] for row in rows) for name in ("tried", "survived", "lost"))
    phases = dict.fromkeys(row["phase"] for row in rows)
    return [kind, count(tried), count(survived), _lost(lost), ", ".join(_phase(phase, rows) for phase in phases)]


def _phase(phase: str, rows: Sequence[Row]) -> str:
    tried, lost = (sum(row[name] for row in rows if row["phase"] == phase) for name in ("tried", "lost"))
    return f"{phase} {count(tried)}" + (f" ({_lost(lost)} lost)" if lost else "")


def _lost(number: int) -> str:
    return f"**{count(number)}**" if number else "0"
