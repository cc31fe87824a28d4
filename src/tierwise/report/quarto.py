"""The engine that is used where Quarto is installed; it reads the same project."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

from tierwise.core.errors import MissingError, TierwiseError
from tierwise.report.project import Book

QUARTO_S: Final = 600


def installed() -> bool:
    """Is Quarto on PATH?"""
    return shutil.which("quarto") is not None


class QuartoEngine:
    """Quarto, as it is installed."""

    def __init__(self) -> None:
        if not installed():
            remedy = "ENGINE=plain, or install Quarto (environment.yml names it)"
            raise MissingError("quarto", why="ENGINE=quarto asks for it and it is not on PATH", remedy=remedy)
        self.name = f"Quarto {_quarto('--version').strip()}"

    def build(self, book: Book, site: Path) -> None:
        """All formats in one call (a second one would wipe the first one's output), then the output moves to `site`."""
        _quarto("render", str(book.folder))
        shutil.move(book.folder / "_book", site)


def _quarto(*arguments: str) -> str:
    done = subprocess.run(["quarto", *arguments], capture_output=True, text=True, timeout=QUARTO_S, check=False)
    unresolved = [line for line in done.stderr.splitlines() if "Unable to resolve crossref" in line]
    if done.returncode or unresolved:
        raise TierwiseError(f"quarto {arguments[0]}: {'; '.join(unresolved) or done.stderr.strip()}")
    return done.stdout
