"""What no chapter may show: a number that is none, an empty sentence, a caption that names a mark which its chart has not; and no two
figures may have one number from different rows.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

import polars as pl

from tierwise.core.errors import InputError
from tierwise.report import theme

ASIDE: Final = re.compile(r"(`+).+?\1|\$\$?[^$]+\$\$?", re.DOTALL)
"""Code and formulas: what stands there is a name."""
NO_NUMBER: Final = re.compile(r"(?<![\w.])-?(?:nan|NaN|inf|None(?! (?:of|agrees)\b))(?![\w.]\w)\b")
NOTHING: Final = {
    "a sentence without words": re.compile(r"(?:^|[.!?:;]\s)\s*[.!?;,](?:\s|$)", re.MULTILINE),
    "brackets around nothing": re.compile(r"\(\s*\)|\*\*\s*\*\*|\[\s*\](?!\()"),
    "a head without a sentence": re.compile(r"(?:^|\n\n)\*\*[^*\n]+\.\*\*\s*(?:\n\n|$)"),
}


class Drawn(NamedTuple):
    """What a chart is drawn with: the kinds of its marks, and its whole specification as text in lower case."""

    marks: frozenset[str]
    text: str

    def has(self, *values: str) -> bool:
        return any(f'"{value}' in self.text for value in values)


GREYS: Final = (theme.MARK, theme.QUIET, theme.GRID)
NAMED: Final[dict[str, Callable[[Drawn], bool]]] = {
    "bars?": lambda drawn: bool(drawn.marks & {"bar", "rect"}),
    "bands?|shaded": lambda drawn: bool(drawn.marks & {"rect", "area", "bar", "errorband"}),
    "lines?": lambda drawn: bool(drawn.marks & {"line", "rule", "trail"}),
    "ticks?": lambda drawn: "tick" in drawn.marks,
    "dots?|circles?": lambda drawn: bool(drawn.marks & {"point", "circle"}),
    "rings?": lambda drawn: '"filled": false' in drawn.text,
    "diamonds?": lambda drawn: drawn.has("diamond"),
    "squares?": lambda drawn: drawn.has("square"),
    "triangles?": lambda drawn: drawn.has("triangle"),
    "cross(?:es)?": lambda drawn: drawn.has("cross"),
    "dashed": lambda drawn: drawn.has("strokedash"),
    "gr[ea]y": lambda drawn: drawn.has(*GREYS),
    "blue": lambda drawn: drawn.has(theme.BLUE),
    "green": lambda drawn: drawn.has(theme.GREEN),
    "orange": lambda drawn: drawn.has(theme.ORANGE),
    "vermillion|red": lambda drawn: drawn.has(theme.VERMILLION),
}
"""The words for marks and colours that captions use -> whether a chart has such."""


def check_text(text: str, where: str) -> None:
    """Refuse Markdown that shows a number that is none, or a sentence that is empty.

    Raises:
        InputError: names `where`, what stands there and the rule.
    """
    plain = ASIDE.sub("code", text)
    if found := NO_NUMBER.search(plain):
        raise InputError(
            where, field="text", value=_around(plain, found), rule=f"shows {found[0]}, which is no number: say why there is none"
        )
    for what, pattern in NOTHING.items():
        if found := pattern.search(plain):
            raise InputError(where, field="text", value=_around(plain, found), rule=f"has {what}")


def check_chart(spec: dict[str, Any], caption: str, where: str) -> None:
    """Refuse a Vega-Lite specification with a text that shows a number that is none, and a caption that names a mark which is not drawn.

    Raises:
        InputError: names `where`, what stands there and the rule.
    """
    for text in _texts(spec):
        if found := NO_NUMBER.search(text):
            raise InputError(where, field="chart", value=_around(text, found), rule=f"shows {found[0]}, which is no number")
    drawn = Drawn(frozenset(_marks(spec)), json.dumps(spec).lower())
    for words, is_drawn in NAMED.items():
        if (found := re.search(rf"\b(?:{words})\b", ASIDE.sub("", caption), re.IGNORECASE)) and not is_drawn(drawn):
            rule = f"names a mark or a colour that its chart has not; it is drawn with {', '.join(sorted(drawn.marks))}"
            raise InputError(where, field="caption", value=found[0], rule=rule)


REPLICATE: Final = "replicate"
"""Column of the rows that are single repeats."""
SAME: Final = 1e-9
"""Relative difference up to which two numbers are one: threads add in any order."""


def check_numbers(rows: Mapping[str, pl.DataFrame]) -> int:
    """Refuse two figures that have one number from different rows; return how many numbers stand in two of them.

    `rows`: by figure those that a reader downloads. Words and whole numbers are coordinates, the rest are values. Two figures of single
    repeats are compared where the coordinates that both have tell the rows of each apart.

    Raises:
        InputError: names both figures, the coordinates and both values.
    """
    repeats = {name: frame for name, frame in rows.items() if REPLICATE in frame.columns}
    return sum(_agreeing(one, repeats[one], other, repeats[other]) for one, other in combinations(repeats, 2))


def _agreeing(one: str, rows: pl.DataFrame, other: str, others: pl.DataFrame) -> int:
    shared = [name for name in rows.columns if name in others.columns]
    values = [name for name in shared if rows[name].dtype.is_float() and others[name].dtype.is_float()]
    at = [name for name in shared if name not in values and rows[name].dtype == others[name].dtype]
    if not values or any(frame.select(at).is_duplicated().any() for frame in (rows, others)):
        return 0
    both = rows.join(others, on=at, suffix=" of the other")
    for name in values:
        off = both.filter((pl.col(name) - pl.col(f"{name} of the other")).abs() > SAME * pl.col(name).abs())
        if not off.is_empty():
            there = off.row(0, named=True)
            told = f"{there[name]:g} and {there[f'{name} of the other']:g} at {', '.join(f'{key} {there[key]}' for key in at)}"
            rule = "two figures have one number from different rows: ask for the same rows, or name as a column what tells them apart"
            raise InputError(f"{one} and {other}", field=name, value=told, rule=rule)
    return len(values) * both.height


def _texts(part: Any) -> Iterator[str]:
    match part:
        case str():
            yield part
        case dict():
            for inner in part.values():
                yield from _texts(inner)
        case list():
            for inner in part:
                yield from _texts(inner)


def _marks(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for inner in part:
            yield from _marks(inner)
    elif isinstance(part, dict):
        if "mark" in part:
            yield part["mark"]["type"] if isinstance(part["mark"], dict) else str(part["mark"])
        for name in ("layer", "vconcat", "hconcat", "concat", "spec"):
            yield from _marks(part.get(name, []))


def _around(text: str, found: re.Match[str]) -> str:
    return " ".join(text[max(0, found.start() - 30) : found.end() + 30].split())
