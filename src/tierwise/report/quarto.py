"""The engine that is used where Quarto is installed; it reads the same project."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from threading import Timer
from typing import Final

from tierwise.core.errors import MissingError, TierwiseError
from tierwise.core.progress import Progress
from tierwise.report.plain import pandoc
from tierwise.report.project import Book
from tierwise.report.site import ANNEX, PAPER, quarto_program

QUARTO_S: Final = 600
BEGUN: Final = re.compile(r"\[ *(\d+)/\d+\] (.+)")
PDF_CHAPTERS: Final = 12
"""What Quarto does not count, the PDF above all, takes as long as this many chapters (timed with 1.10.18 and 18 chapters)."""
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
        shutil.move(_made(book, f"{ANNEX}.pdf"), site)

    def typeset(self, paper: Book, site: Path) -> None:
        """A project of its own: lists of a profile (its chapters, for one) would be appended to the book's."""
        pandoc(paper, "typst", "--to=typst")
        shutil.move(_made(paper, f"{PAPER}.pdf") / f"{PAPER}.pdf", site)


def _made(book: Book, pdf: str) -> Path:
    """The folder of what Quarto renders of `book`, with its `pdf`."""
    said = _rendered(book)
    made = book.folder / "_book"
    if "Unable to resolve crossref" in said or not (made / pdf).is_file():
        raise TierwiseError(f"quarto render: {said.strip()}")
    return made


def _rendered(book: Book) -> str:
    """Have Quarto render `book`; what it said. The time left is told by the chapters that it counts, ``[ 3/18] method.qmd``."""
    said: list[str] = []
    progress: Progress | None = None  # from the first chapter: Quarto takes long to begin
    command = [_program(), "render", str(book.folder), "--metadata", f"run:{book.variables['run']}"]
    with subprocess.Popen(command, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        limit = Timer(QUARTO_S, running.kill)
        limit.start()
        assert running.stderr is not None, "a pipe"
        try:
            for line in running.stderr:
                said.append(line)
                if begun := BEGUN.match(line):
                    progress = progress or Progress("rendering", len(book.chapters) + PDF_CHAPTERS)
                    progress.step(int(begun[1]) - 1 - progress.done, begun[2].strip())
        except BaseException:
            running.kill()
            raise
        finally:
            limit.cancel()
    if running.returncode < 0:
        raise TierwiseError(f"quarto render: ended by signal {-running.returncode}, as it is after {QUARTO_S} s")
    if running.returncode:
        raise TierwiseError(f"quarto render: {''.join(said).strip()}")
    return "".join(said)


def _quarto(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([_program(), *arguments], env=_environment(), capture_output=True, text=True, timeout=QUARTO_S, check=False)
    if done.returncode:
        raise TierwiseError(f"quarto {arguments[0]}: {done.stderr.strip()}")
    return done


def _program() -> str:
    found = quarto_program()
    if found is None:
        raise MissingError("quarto", why="it is not on PATH", remedy="make quarto")
    return found


def _environment() -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1"}
