"""The engine that is used where Quarto is installed; it reads the same project."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tierwise.core.errors import MissingError, TierwiseError
from tierwise.report.plain import pandoc
from tierwise.report.project import Book
from tierwise.report.site import quarto_program

QUARTO_S: Final = 600
OLDEST: Final = (1, 9, 18)
"""The first Quarto that typesets a book by Typst; 1.9.38 and 1.10.18 were run."""
OLDEST_TEXT: Final = ".".join(map(str, OLDEST))


def version() -> str | None:
    """The version of the Quarto that is there; `None` where there is none, or it does not run."""
    try:
        return _quarto("--version").stdout.strip()
    except TierwiseError:
        return None


def usable() -> bool:
    """Is a Quarto there, and new enough?"""
    found = version()
    return found is not None and tuple(int(part) for part in re.findall(r"\d+", found)[:3]) >= OLDEST


class QuartoEngine:
    """Quarto, as it is installed."""

    def __init__(self) -> None:
        if not usable():
            remedy = f"ENGINE=plain, or Quarto {OLDEST_TEXT} or newer: make quarto"
            raise MissingError("quarto", why="ENGINE=quarto asks for it and it is not on PATH, or too old", remedy=remedy)
        self.name = f"Quarto {version()}"

    def build(self, book: Book, site: Path) -> None:
        """All formats in one call (a second one would wipe the first one's output), then the output moves to `site`."""
        pandoc(book, "html", "--to=html5", "--mathml")  # for its errors: of an unknown label Quarto only warns, without the chapter
        said = _quarto("render", str(book.folder), "--metadata", f"run:{book.variables['run']}").stderr
        made = book.folder / "_book"
        if "Unable to resolve crossref" in said or not (made / "tierwise.pdf").is_file():
            raise TierwiseError(f"quarto render: {said.strip()}")
        shutil.move(made, site)


def _quarto(*arguments: str) -> subprocess.CompletedProcess[str]:
    found = quarto_program()
    if found is None:
        raise MissingError("quarto", why="it is not on PATH", remedy="make quarto")
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run([found, *arguments], env=environment, capture_output=True, text=True, timeout=QUARTO_S, check=False)
    if done.returncode:
        raise TierwiseError(f"quarto {arguments[0]}: {done.stderr.strip()}")
    return done
