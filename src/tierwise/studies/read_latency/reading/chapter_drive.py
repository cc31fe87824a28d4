"""Part of the appendix on models: whether queueing explains the latency study's mean read."""

from typing import Final

from tierwise.report.chapters import validation
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count, seconds

LOGGED_S: Final = 250e-6
"""The latency study's mean read of 8 KiB."""
LOGGED: Final = seconds(LOGGED_S)


def x25e() -> Table:
    rows = [[count(line["depth"]), seconds(line["one_drive_s"]), seconds(line["mirror_s"])] for line in validation.load()["x25e_reads"]]
    return Table(
        ["Reads outstanding", "One X25-E", "Mirror of two"],
        rows,
        f"Mean time of a random 8 KiB read from the latency study's drive, **simulated** from its published latency. "
        f"Input: `{validation.PLACE}`.",
        align="rrr",
    )


def x25e_verdict() -> Sentence:
    lines = validation.load()["x25e_reads"]
    enough = next((line["depth"] for line in lines if line["one_drive_s"] >= LOGGED_S), None)
    alone = seconds(lines[0]["one_drive_s"])
    needed = f"the drive needs about {enough} reads outstanding to come to it" if enough else "no depth tried comes to it"
    return Sentence(
        f"The latency study read {LOGGED} from its drive. Alone a read takes {alone} here, and {needed}; the few thousand reads in "
        f"minutes that its author logged speak for about one. **The {LOGGED} are not explained by the drive and its queue**; no parameter "
        "moved towards them."
    )
