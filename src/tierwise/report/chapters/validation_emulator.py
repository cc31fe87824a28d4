"""Appendix: the emulator held against the pure device model, by fio; figures of a benchmark, not of a run."""

from typing import Any

from tierwise.core.units import KIB, MIB
from tierwise.report.chapters.validation import committed
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import NBSP, count, difference

PLACE = "data/validation/emulator.json"
HELD = ("accuracy", "data sheet")
OPERATIONS = {"randread": "random read", "randwrite": "random write", "read": "sequential read", "write": "sequential write"}

Line = dict[str, Any]


def load() -> dict[str, Any]:
    """Read what ``benchmarks/emulator.py`` found."""
    return committed(PLACE, "benchmarks/emulator.py")


def accuracy() -> Table:
    """Tabulate fio on the mount beside the model that replays the emulator's own arrivals."""
    return Table(
        ["Device", "Requests", "Outstanding", "Emulated", "Model alone", "Difference", "Bound"],
        [_held(line) for line in load()["rows"] if line["part"] in HELD and line["expected"] is not None],
        "fio on an **emulated** mount past the page cache, beside what it is held to: the device model alone (**simulated**) replaying the "
        "emulator's own arrivals; for flash-250us its latency; for the data sheet (**published**) average seek, half a rotation and "
        "transfer. Means; "
        f"bandwidth for sequential requests. In bold what misses its bound. Input: `{PLACE}`.",
        align="llrrrrr",
    )


def scale() -> Table:
    return Table(
        ["Span of the file", "Emulated", "Model alone", "Difference"],
        [
            [line["subject"].split(maxsplit=1)[1], _value(line, "measured"), _value(line, "expected"), _difference(line)]
            for line in load()["rows"]
            if line["part"] == "scale"
        ],
        "Mean 8 KiB random read from a file on one 7.2k disk (**emulated**), its seek distances as they are (1 x), stretched tenfold, and "
        f"over the whole disk, beside the model alone (**simulated**). Input: `{PLACE}`.",
        align="lrrr",
    )


def limits() -> Table:
    """Return how quick the emulator itself can be, beside an empty server and a plain directory."""
    found = load()
    beside = found["mount_over_empty_server"]  # none where the server could not be built
    told = f" Of reads at the most over those of the empty server, in turn: {_ratio(beside)}." if beside else ""
    return Table(
        ["Server", "Outstanding", "Measured", "Its processor time a request"],
        [
            [line["subject"], count(line["depth"] * line["jobs"]), _value(line, "measured"), f"{line['daemon_s'] * 1e6:.0f}{NBSP}µs"]
            for line in found["rows"]
            if line["part"] == "limits"
        ],
        f"8 KiB random reads without delays (**measured**, processors kept awake, the best of three): limits of the emulator beside those "
        f"of an empty server.{told} Input: `{PLACE}`.",
        align="lrrr",
    )


def conditions() -> Sentence:
    """Return where and when fio ran, and how much was within bounds."""
    found = load()
    held = [line for line in found["rows"] if line["met"] is not None]
    met = sum(line["met"] for line in held)
    host = found["host"]
    return Sentence(
        f"{met} of {len(held)} figures are within their bounds. Taken {found['measured_at'][:10]} with {found['fio']} on {host['cores']} "
        f"cores ({host['cpu']}, {'virtual' if host['virtualized'] else 'real'}), load {found['load_average_before']:.1f} before."
    )


def _ratio(beside: Line) -> str:
    return f"{beside['ratio']:.2f} ({beside['low']:.2f} to {beside['high']:.2f}; {beside['rounds']} rounds)"


def _held(line: Line) -> list[str]:
    size = f"{line['bytes'] // MIB} MiB" if line["bytes"] >= MIB else f"{line['bytes'] // KIB} KiB"
    difference = _difference(line)
    bound = "" if line["limit"] is None else f"at least {count(int(line['limit']))}" if line["unit"] == "IOPS" else f"{line['limit']:.0%}"
    return [
        line["subject"],
        f"{size} {OPERATIONS[line['operation']]}",
        count(line["depth"] * line["jobs"]),
        _value(line, "measured"),
        _value(line, "expected"),
        f"**{difference}**" if line["met"] is False else difference,
        bound.replace("%", f"{NBSP}%"),
    ]


def _difference(line: Line) -> str:
    return "" if line["unit"] == "IOPS" else difference(line["measured"] / line["expected"])


def _value(line: Line, which: str) -> str:
    match line["unit"]:
        case "s":
            return f"{line[which] * 1e3:.3f}{NBSP}ms"
        case "B/s":
            return f"{line[which] / 1e6:.0f}{NBSP}MB/s"
        case _:
            return f"{count(round(line[which]))}{NBSP}IOPS"
