"""The answer of a watch for a terminal, or as Markdown for a ticket."""

from typing import Final

from rich.cells import cell_len, set_cell_size

from tierwise.core.activity import Activity, Band, RelationLoad, unsteady
from tierwise.core.options import TicketFormat
from tierwise.core.text_table import markdown_table, table, wrapped
from tierwise.core.text_template import render
from tierwise.core.units import MIB, human_seconds
from tierwise.watch.relation_loads import CATALOG

WIDTH, LINES, LEAST_ROWS, BAR = 100, 30, 3, 8
HEADINGS: Final = ("relation", "kind", "MB", "reads/s", "ms/read", "ms/transaction", "", "share", "writes/s")
NUMBERS: Final = (2, 3, 4, 5, 7, 8)
NAME, LEAST_NAME, BARS = 24, 16, 6
SHORT: Final = {"materialized view": "matview"}
MOSTLY: Final = 0.5
LEAST_SHARE: Final = 0.05  # of all reads, from which a table with sequential scans is named
NAMED: Final = 3


def shown(answer: Activity, form: TicketFormat) -> str:
    if form is TicketFormat.JSON:
        return answer.model_dump_json(indent=2)
    head, tail = (part.strip().splitlines() for part in _sentences(answer).split("\nTABLE\n"))
    if form is TicketFormat.MARKDOWN:
        return "\n\n".join([*head, markdown_table(HEADINGS, _rows(answer, LINES), NUMBERS), *tail])
    above, below = (wrapped("\n".join(lines), WIDTH).splitlines() for lines in (head, tail))
    if len(above) + len(below) + 1 + LEAST_ROWS > LINES:  # one paragraph takes fewer lines than a line for each sentence
        below = wrapped(" ".join(tail), WIDTH).splitlines()
    rows = _fitting(_rows(answer, max(LEAST_ROWS, LINES - len(above) - len(below) - 1)))
    return "\n".join([*above, table(HEADINGS, rows, NUMBERS, WIDTH), *below]).rstrip()


def _fitting(rows: list[list[str]]) -> list[list[str]]:
    """Shorten names, and bars where names have little space, so that no row is folded."""
    others = [max(cell_len(row[column]) for row in (HEADINGS, *rows)) for column in range(1, len(HEADINGS))]
    left = WIDTH - sum(others) - 2 * len(others)
    if left < LEAST_NAME:
        rows, left = [[*row[:BARS], row[BARS][::2], *row[BARS + 1 :]] for row in rows], left + others[BARS - 1] // 2
    return [[_short(row[0], max(LEAST_NAME // 2, left)), *row[1:]] for row in rows]


def _short(name: str, width: int) -> str:
    return name if cell_len(name) <= width else f"{set_cell_size(name, width - 2).rstrip()}.."


def _sentences(answer: Activity) -> str:
    indexes = [load for load in answer.relations if load.droppable and not load.scans]
    return render(
        "watch/text/answer.txt",
        a=answer,
        causes=[f"{part.cause} {percent(part.time_s / (answer.transaction_s or 1.0))}" for part in answer.causes],
        scanned=[_name(load) for load in answer.relations if _scanned(load, answer)][:NAMED],
        queries=[query for query, _ in answer.statements or ()],
        unused=[_name(load) for load in indexes[:NAMED]],
        more_unused=max(0, len(indexes) - NAMED),
        duration=human_seconds,
        percent=percent,
        **unsteady(answer),
        band=band,
        ms=lambda seconds: number(1000 * seconds),
        number=number,
    )


def _rows(answer: Activity, most: int) -> list[list[str]]:
    """Return a row for each relation with reads or waiting, the first `most`; the last one sums up the rest."""
    used = [load for load in answer.relations if load.kind != CATALOG and (load.reads_per_s or load.waiting_s or load.kind == "wal")]
    every = [load for load in answer.relations if load.reads_per_s or load.waiting_s or load in used]
    own = used if max(len(used), min(len(every), len(used) + 1)) <= most else used[: most - 1]
    rest = [load for load in answer.relations if load not in own and (load.reads_per_s or load.waiting_s)]
    largest = max((load.waiting_s or 0.0 for load in own), default=0.0)
    rows = [_row(load, answer, largest) for load in own]
    if rest:
        waiting = sum(load.waiting_s or 0.0 for load in rest)
        share = "" if answer.transaction_s is None else percent(waiting / answer.transaction_s)
        reads = number(sum(load.reads_per_s for load in rest))
        rows.append([f"{len(rest)} others", "", "", reads, "", number(1000 * waiting), _bar(waiting, largest), share, ""])
    return rows


def _row(load: RelationLoad, answer: Activity, largest: float) -> list[str]:
    spent = "?" if load.waiting_s is None else number(1000 * load.waiting_s)
    return [
        _name(load),
        SHORT.get(load.kind, load.kind),
        "?" if load.size_bytes is None and load.kind != "wal" else "" if load.size_bytes is None else number(load.size_bytes / MIB),
        number(load.reads_per_s) if load.kind not in {"wal", "temporary"} else "",
        "" if load.read_s is None else number(1000 * load.read_s),
        spent,
        _bar(load.waiting_s or 0.0, largest),
        _share(load, answer),
        "?" if load.writes_per_s is None else band(load.writes_per_s),
    ]


def _name(load: RelationLoad) -> str:
    named = load.name if load.schema_name in {"", "public", "pg_toast"} else f"{load.schema_name}.{load.name}"
    return _short(named, NAME)


def _share(load: RelationLoad, answer: Activity) -> str:
    if load.low_s is None or load.high_s is None or not answer.transaction_s:
        return "?"
    low, high = (f"{100 * edge / answer.transaction_s:.0f}" for edge in (load.low_s, load.high_s))
    return f"{_joined(low, high)} %"


def _scanned(load: RelationLoad, answer: Activity) -> bool:
    return load.kind == "table" and load.scan_share > MOSTLY and load.reads_per_s > LEAST_SHARE * answer.reads_per_s > 0


def _bar(value: float, largest: float) -> str:
    return "#" * round(BAR * min(1.0, value / largest)) if largest else ""


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def number(value: float) -> str:
    """Write three digits: 0.0123, 1.23, 1,234."""
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def band(value: Band) -> str:
    return _joined(number(value.low), number(value.high))


def _joined(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
