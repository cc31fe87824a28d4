"""The advice for a watched server, for a terminal or as Markdown."""

from typing import Final

from tierwise.advisor.server_advice import ServerAdvice, Step
from tierwise.core.activity import Band
from tierwise.core.output_format import TicketFormat
from tierwise.core.text_table import markdown_table, table, wrapped
from tierwise.core.text_template import render
from tierwise.core.units import GIB

WIDTH, ROWS = 100, 8
HEADINGS: Final = ("move", "GiB", "saves, ms", "left, ms", "others, ms", "USD/month", "lock", "binds")
NUMBERS: Final = (1, 2, 3, 4, 5)
LOCKS: Final = {"table": "closed", "index": "concurrent", "wal": "stop", "none": "none"}


def shown(advice: ServerAdvice, form: TicketFormat) -> str:
    if form is TicketFormat.JSON:
        return advice.model_dump_json(indent=2)
    service = render(f"advisor/plan_files/words.toml:services.{advice.service}") if advice.service else ""
    step = advice.steps[advice.advised - 1] if advice.advised else None
    text = render(
        "advisor/text/server_advice.txt", a=advice, step=step, service=service, ms=milliseconds, band=milliseconds_band, number=short_band
    )
    head, tail = text.split("\nTABLE\n")
    rows = [["nothing", "0", "0", milliseconds(advice.transaction_s), "0", "0", "none", ""], *(_row(step) for step in advice.steps[:ROWS])]
    if form is TicketFormat.MARKDOWN:
        return "\n\n".join([*head.splitlines(), markdown_table(HEADINGS, rows, NUMBERS), *tail.splitlines()])
    return "\n".join([wrapped(head, WIDTH), table(HEADINGS, rows, NUMBERS, WIDTH), wrapped(tail, WIDTH)])


def _row(step: Step) -> list[str]:
    noise = "" if step.worth else " (noise)"
    return [
        f"+ {step.unit}",
        "?" if step.size_bytes is None else short(step.size_bytes / GIB),
        f"{milliseconds_band(step.saved_s)}{noise}",
        milliseconds_band(step.left_s),
        milliseconds(step.stay_gain_s),
        "?" if step.usd_a_month is None else short(step.usd_a_month),
        LOCKS[step.lock] if step.duration_s is None else f"{LOCKS[step.lock]} >{time_of(step.duration_s)}",
        step.binds,
    ]


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
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}"
