"""Appendix: reports that were struck by faults and resumed; figures of a campaign, not of a run."""

from typing import Any, Final

from tierwise.report.chapters.validation import committed
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count

PLACE: Final = "data/validation/faults.json"


def load() -> dict[str, Any]:
    """Read what the campaign of faults found."""
    return committed(PLACE, "-m pytest -m soak tests/test_soak_faults.py")


def outcomes() -> Table:
    """Tabulate the faults that were tried, by kind and by the phase that they met."""
    return Table(
        ["Fault", "While", "Tried", "Survived", "Lost"],
        [
            [row["kind"], row["phase"], *(count(row[name]) for name in ("tried", "survived")), f"**{row['lost']}**" if row["lost"] else "0"]
            for row in load()["rows"]
        ],
        "Faults injected into a report of one block, which was then resumed (**measured**). Survived: the same rows as without a fault, "
        "none twice, none torn, the same pages read and the same simulated values, nothing left behind, a message with cause and remedy. "
        f"Input: `{PLACE}`.",
        align="llrrr",
    )


def conditions() -> Sentence:
    """Return how many faults there are, how many were tried, and by which code."""
    found = load()
    tried = sum(row["tried"] for row in found["rows"])
    return Sentence(f"{count(tried)} of {count(found['asked'])} faults were tried, by the code of `{found['version']}`.")
