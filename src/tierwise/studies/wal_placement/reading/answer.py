"""What the first page says of the place of the log."""

from typing import Final

from tierwise.report.formats import between
from tierwise.report.run import Run
from tierwise.studies.wal_placement.reading.names import PAIR
from tierwise.studies.wal_placement.reading.values import values

TOPIC: Final = "WAL"


def answer(run: Run) -> str:
    found = values(run, PAIR)
    if not found["answered"]:
        return "no answer yet." if run.record("wal_placement", PAIR) else ""
    over = {"disks": "plain disks", "cache": "disks behind a battery-backed cache"}
    told = [
        f"{between(float(str(found[f'{name}_least'])), float(str(found[f'{name}_most'])))} times as fast as {words}"
        for name, words in over.items()
        if found[f"{name}_known"]
    ]
    return f"the SSD commits {' and '.join(told)} ({found['evidence']})."
