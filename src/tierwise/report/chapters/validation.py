"""Appendix: the device and cache models beside what was measured on real devices. The figures are facts of the models, not of a run."""

from typing import Any

from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.core.text_files import read_json
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import NBSP, count, difference

PLACE = "data/validation/models.json"
PARTS = {
    "first_half": "first half (fitted on)",
    "second_half": "second half (judged)",
    "own_electronics": "all of it, the drive's own electronics: nothing fitted",
}


def load() -> dict[str, Any]:
    """Read what ``scripts/validate_models.py`` found."""
    return committed(PLACE, "scripts/validate_models.py")


def committed(place: str, maker: str) -> dict[str, Any]:
    path = paths.home() / place
    if not path.exists():
        raise MissingError(place, why="the appendix shows it", remedy=f"python {maker}")
    found: dict[str, Any] = read_json(path)
    return found


def drives() -> Table:
    """Return mean service times of three real drives, measured and predicted, by parts of their traces."""
    rows = [
        [
            f"`{drive['drive']}`",
            told,
            count(drive[half]["n"]),
            f"{drive[half]['mean_measured_s'] * 1e3:.3f}{NBSP}ms",
            f"{drive[half]['mean_predicted_s'] * 1e3:.3f}{NBSP}ms",
            difference(1 + drive[half]["mean_error"]),
            f"{100 * drive[half]['demerit']:.1f}{NBSP}%",
        ]
        for drive in load()["drives"]
        for half, told in PARTS.items()
    ]
    return Table(
        ["Drive", "Part of the trace", "n", "Measured", "Simulated", "Error of the mean", "Demerit"],
        rows,
        "Mean service time of real SCSI drives, **measured** and **simulated**. Demerit: root mean square of the horizontal distance "
        f"between the two distributions, over the measured mean. Input: `{PLACE}`.",
        align="llrrrrr",
    )


def fitted() -> Sentence:
    return Sentence(f"Fitted on {load()['fitted_on'].split(' in ')[0]}, once for all drives.")


def caches() -> Table:
    rows = [
        [
            count(line["pages"]),
            f"{line['published_hit_percent']:.2f}{NBSP}%",
            f"{100 * line['hit_ratio']:.2f}{NBSP}%",
            count(line["misses"]),
            count(line["requests"]),
        ]
        for line in load()["caches"]
    ]
    return Table(
        ["Pages", "Published hits", "Simulated hits", "Misses", "Requests"],
        rows,
        f"LRU on the OLTP page trace of the ARC paper [@megiddo2003], **published** and **simulated**. Input: `{PLACE}`.",
        align="rrrrr",
    )
