"""The advice for a watched server, and what a move saved, for a terminal or as Markdown."""

from collections.abc import Collection, Sequence
from typing import Final

from tierwise.advisor.server_advice import ServerAdvice, Step
from tierwise.advisor.server_check import ServerCheck
from tierwise.core.activity import Band
from tierwise.core.options import TicketFormat
from tierwise.core.text_table import markdown_table, table, wrapped
from tierwise.core.text_template import render
from tierwise.core.units import GIB

LINES, ROWS, NAMES, LONGEST = 25, 8, 3, 25
HEADINGS: Final = ("move", "GiB", "saves, ms", "left, ms", "others, ms", "$/month", "lock", "then slow", "remark")
NUMBERS: Final = (1, 2, 3, 4, 5)
CHECKED: Final = ("relation", "moved", "before, ms", "predicted, ms", "seen, ms", "size now")
CHECKED_ROWS: Final = 12
LOCKS: Final = {"table": "locked", "index": "online", "wal": "stop", "none": "none"}


def shown(advice: ServerAdvice, form: TicketFormat) -> str:
    if form is TicketFormat.JSON:
        return advice.model_dump_json(indent=2)
    for most in range(ROWS, 0, -1):
        text = _text(advice, form, most)
        if sum(map(bool, text.splitlines())) <= LINES:
            break
    return text


def _text(advice: ServerAdvice, form: TicketFormat, most: int) -> str:
    """Return the answer with at most `most` rows."""
    service = advice.service and render(f"advisor/plan_files/words.toml:services.{advice.service}")
    step = advice.steps[advice.advised - 1] if advice.advised else None
    formats = {"ms": milliseconds, "band": milliseconds_band, "number": short_band, "names": names}
    known = {"step": step, "service": service, "more": len(advice.steps[most:]), "timed": any(one.duration_s for one in advice.steps)}
    head, tail = render("advisor/text/server_advice.txt", a=advice, **known, **formats).split("\nTABLE\n")
    rows = [["nothing", "0", "0", milliseconds(advice.transaction_s), "0", "0", "none", "", ""], *map(_row, advice.steps[:most])]
    return _with_table(head, HEADINGS, rows, NUMBERS, form, tail)


def _with_table(  # noqa: PLR0917
    head: str, header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int], form: TicketFormat, tail: str = ""
) -> str:
    if form is TicketFormat.MARKDOWN:
        return "\n\n".join([*head.splitlines(), markdown_table(header, rows, numbers), *tail.splitlines()])
    return "\n".join([wrapped(head), table(header, rows, numbers), *([wrapped(tail)] if tail else [])])


def check_shown(check: ServerCheck, form: TicketFormat) -> str:
    if form is TicketFormat.JSON:
        return check.model_dump_json(indent=2)
    text = render("advisor/text/check.txt", c=check, ms=milliseconds, band=milliseconds_band, number=short, names=names)
    rows = [
        [
            unit.unit,
            "yes" if unit.moved else "no",
            milliseconds(unit.before_s),
            milliseconds_band(unit.predicted_s),
            milliseconds(unit.seen_s),
            "?" if unit.size_share is None else f"{unit.size_share:.0%}",
        ]
        for unit in check.units[:CHECKED_ROWS]
    ]
    return _with_table(text, CHECKED, rows, (2, 3, 4, 5), form)


def _row(step: Step) -> list[str]:
    return [
        f"+ {cut(step.unit)}",
        "?" if step.size_bytes is None else short(step.size_bytes / GIB),
        milliseconds_band(step.saved_s),
        milliseconds_band(step.left_s),
        milliseconds_band(step.stay_gain_s),
        "?" if step.usd_a_month is None else short(step.usd_a_month),
        LOCKS[step.lock] if step.duration_s is None else f"{LOCKS[step.lock]} ~{time_of(step.duration_s)}",
        ", ".join(step.binds),
        "noise" if not step.worth else "" if step.fits else "limit",
    ]


def names(every: Sequence[str]) -> str:
    """Return the first names, and how many there are more."""
    more = len(every[NAMES:])
    return ", ".join([*map(cut, every[:NAMES]), *([render("advisor/plan_files/words.toml:more", count=more)] if more else [])])


def cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def time_of(seconds: float) -> str:
    return f"{short(seconds)} s" if seconds < 100 else f"{short(seconds / 60)} min"


def milliseconds(seconds: float) -> str:
    return short(1000 * seconds)


def milliseconds_band(band: Band) -> str:
    return short_band(Band(low=1000 * band.low, high=1000 * band.high))


def short_band(band: Band) -> str:
    low, high = short(band.low), short(band.high)
    return low if low == high else f"{low} to {high}"


def short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.2g}"
