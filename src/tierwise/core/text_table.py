"""Tables and lines for a terminal of 120 columns, which read the same in a file."""

import textwrap
from collections.abc import Collection, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH: Final = 120  # the longest line of a command's output, in characters


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = (), width: int = WIDTH) -> str:
    """Return `rows` below their header; long cells continue on the next line, and the columns `numbers` are aligned to the right."""
    grid, console = Table.grid(padding=(0, 2)), Console(width=width, color_system=None, force_jupyter=False)
    for column in range(len(header)):
        grid.add_column(no_wrap=column in numbers, overflow="fold")
    for row in (header, *rows):
        grid.add_row(*(Text(cell, justify="right" if column in numbers else "left") for column, cell in enumerate(row)))
    with console.capture() as printed:
        console.print(grid)
    return "\n".join(line.rstrip() for line in printed.get().splitlines())


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    rule = "|" + "|".join("---:" if column in numbers else "---" for column in range(len(header))) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def wrapped(text: str, width: int = WIDTH) -> str:
    """Return `text` with every longer line continued below itself, indented by two more columns."""
    lines = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    found = []
    for line in text.splitlines():
        lines.initial_indent = " " * (len(line) - len(line.lstrip()))
        lines.subsequent_indent = f"{lines.initial_indent}  "
        found.append(lines.fill(line.strip()) if len(line) > width else line)
    return "\n".join(found)
