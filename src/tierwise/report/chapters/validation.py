"""Appendix: the device and cache models beside what was measured on real devices. The figures are facts of the models, not of a run."""

import json
from typing import Any

from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count

PLACE = "data/validation/models.json"
HALVES = {"first_half": "first (fitted on)", "second_half": "second (judged)", "second_half_left_out": "second, fitted on the two others"}


def load() -> dict[str, Any]:
    """What ``scripts/validate_models.py`` found."""
    return committed(PLACE, "scripts/validate_models.py")


def committed(place: str, maker: str) -> dict[str, Any]:
    """The figures in `place`, which the script `maker` writes."""
    path = paths.home() / place
    if not path.exists():
        raise MissingError(place, why="the appendix shows it", remedy=f"python {maker}")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def drives() -> Table:
    """Mean service times of three real drives, measured and predicted, half by half."""
    rows = [
        [
            f"`{drive['drive']}`",
            told,
            count(drive[half]["n"]),
            f"{drive[half]['mean_measured_s'] * 1e3:.3f} ms",
            f"{drive[half]['mean_predicted_s'] * 1e3:.3f} ms",
            f"{drive[half]['mean_error']:+.1%}",
            f"{drive[half]['demerit']:.1%}",
        ]
        for drive in load()["drives"]
        for half, told in HALVES.items()
    ]
    return Table(
        ["Drive", "Half of the trace", "n", "Measured", "Simulated", "Error of the mean", "Demerit"],
        rows,
        "Mean service time of real SCSI drives, measured and simulated. Demerit: root mean square of the horizontal distance between the "
        f"two distributions, over the measured mean. Input: `{PLACE}`.",
        align="llrrrrr",
    )


def fitted() -> Sentence:
    """What was fitted, and on what."""
    return Sentence(
        f"Fitted on {load()['fitted_on'].replace('../shared/realdata/devices', 'the shared real traces')}, once for all drives."
    )


def caches() -> Table:
    """The LRU page cache beside published hit ratios."""
    rows = [
        [
            count(line["pages"]),
            f"{line['published_hit_percent']:.2f} %",
            f"{line['hit_ratio']:.2%}".replace("%", " %"),
            count(line["misses"]),
            count(line["requests"]),
        ]
        for line in load()["caches"]
    ]
    return Table(
        ["Pages", "Published hits", "Simulated hits", "Misses", "Requests"],
        rows,
        f"LRU on the OLTP page trace of the ARC paper [@megiddo2003], published and simulated. Input: `{PLACE}`.",
        align="rrrrr",
    )


def x25e() -> Table:
    """The mean read of source L's drive by queue depth."""
    rows = [
        [count(line["depth"]), f"{line['one_drive_s'] * 1e6:.0f} us", f"{line['mirror_s'] * 1e6:.0f} us"] for line in load()["x25e_reads"]
    ]
    return Table(
        ["Reads outstanding", "One X25-E", "Mirror of two"],
        rows,
        f"Mean time of a random 8 KiB read from source L's drive, simulated from its published latency. Input: `{PLACE}`.",
        align="rrr",
    )


def x25e_verdict() -> Sentence:
    """Whether source L's 250 us follows."""
    lines = load()["x25e_reads"]
    enough = next((line["depth"] for line in lines if line["one_drive_s"] >= 250e-6), None)
    alone = lines[0]["one_drive_s"] * 1e6
    needed = f"the drive needs about {enough} reads outstanding to come to it" if enough else "no depth tried comes to it"
    return Sentence(
        f"Source L read 250 us from its drive. Alone a read takes {alone:.0f} us here, and {needed}; the few thousand reads in "
        "minutes that L logged speak for about one. **The 250 us are not explained by the drive and its queue**; no parameter was "
        "moved towards them."
    )
