"""Tables for a terminal, which read the same in a file."""

from collections.abc import Collection, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH: Final = 10_000
"""The width of the page, in characters: wider than any table, so that nothing is wrapped or cut."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Return `rows` below their header, in columns as wide as their widest cell; the columns `numbers` stand to the right."""
    grid, console = Table.grid(padding=(0, 2)), Console(width=WIDTH, color_system=None, force_jupyter=False)
    for row in (header, *rows):
        grid.add_row(*(Text(cell, justify="right" if column in numbers else "left") for column, cell in enumerate(row)))
    with console.capture() as printed:
        console.print(grid)
    return "\n".join(line.rstrip() for line in printed.get().splitlines())
