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

QUARTO_S: Final = 600
OLDEST: Final = (1, 9, 18)
"""The first Quarto that typesets a book by Typst; 1.9.38 and 1.10.18 were run."""


def usable() -> bool:
    """Is Quarto on PATH, and new enough?"""
    return shutil.which("quarto") is not None and _version() >= OLDEST


class QuartoEngine:
    """Quarto, as it is installed."""

    def __init__(self) -> None:
        if not usable():
            remedy = f"ENGINE=plain, or install Quarto {_dotted(OLDEST)} or newer (environment.yml names it)"
            raise MissingError("quarto", why="ENGINE=quarto asks for it and it is not on PATH, or too old", remedy=remedy)
        self.name = f"Quarto {_dotted(_version())}"

    def build(self, book: Book, site: Path) -> None:
        """All formats in one call (a second one would wipe the first one's output), then the output moves to `site`."""
        pandoc(book, "html", "--to=html5", "--mathml")  # for its errors: of an unknown label Quarto only warns, without the chapter
        said = _quarto("render", str(book.folder), "--metadata", f"run:{book.variables['run']}").stderr
        made = book.folder / "_book"
        if "Unable to resolve crossref" in said or not (made / "tierwise.pdf").is_file():
            raise TierwiseError(f"quarto render: {said.strip()}")
        shutil.move(made, site)


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", _quarto("--version").stdout)[:3])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _quarto(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(["quarto", *arguments], env=environment, capture_output=True, text=True, timeout=QUARTO_S, check=False)
    if done.returncode:
        raise TierwiseError(f"quarto {arguments[0]}: {done.stderr.strip()}")
    return done
