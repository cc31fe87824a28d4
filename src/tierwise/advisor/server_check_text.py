"""The answer of `tierwise check`, for a terminal or as Markdown."""

from typing import Final

from tierwise.advisor.server_advice_text import milliseconds, milliseconds_band, names, short
from tierwise.advisor.server_check import ServerCheck
from tierwise.core.options import TicketFormat
from tierwise.core.text_table import markdown_table, table, wrapped
from tierwise.core.text_template import render

HEADINGS: Final = ("relation", "moved", "before, ms", "predicted, ms", "seen, ms", "size now")
NUMBERS: Final = (2, 3, 4, 5)
ROWS: Final = 12


def shown(check: ServerCheck, form: TicketFormat) -> str:
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
        for unit in check.units[:ROWS]
    ]
    if form is TicketFormat.MARKDOWN:
        return "\n\n".join([*text.splitlines(), markdown_table(HEADINGS, rows, NUMBERS)])
    return "\n".join([wrapped(text), table(HEADINGS, rows, NUMBERS)])
