"""The engine that is used where Quarto is installed; it reads the same project."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tierwise.core.errors import MissingError, TierwiseError
from tierwise.core.progress import say
from tierwise.report.site import ANNEX, PAPER, QUARTO, quarto_program
from tierwise.report.text_template import fill

if TYPE_CHECKING:
    from tierwise.report.project import Book

QUARTO_S: Final = 600
OLDEST: Final = (1, 9, 18)  # the first Quarto that typesets a book by Typst; 1.9.38 and 1.10.18 were run
OLDEST_TEXT: Final = ".".join(map(str, OLDEST))
SEARCH: Final = "search.js"
LOADED: Final = f"""<script>if (location.protocol === "file:") document.write('<script src="{SEARCH}"><\\/script>');</script>
"""
"""Where a server is, its page loads half a megabyte less."""
NAVIGATION: Final = {
    'class="quarto-secondary-nav"': "This page",
    'id="quarto-sidebar"': "Chapters",
    'class="page-navigation"': "Before and after",
}
"""What a page finds its way by, which Quarto gives no name though a page has several of such -> its name here."""


def version() -> str | None:
    """Return the version of the Quarto that is there; `None` where there is none, or it does not run."""
    try:
        return _quarto("--version").stdout.strip()
    except TierwiseError:
        return None


def usable() -> bool:
    found = version()
    return found is not None and tuple(int(part) for part in re.findall(r"\d+", found)[:3]) >= OLDEST


class QuartoEngine:
    suffix = QUARTO

    def __init__(self) -> None:
        if not usable():
            remedy = f"use ENGINE=plain, or install Quarto {OLDEST_TEXT} or newer: make quarto"
            raise MissingError("quarto", why="ENGINE=quarto needs it, but it is not on PATH or is too old", remedy=remedy)
        from tierwise.report.pandoc_engine import pandoc  # noqa: PLC0415  of an extra, without which doctor asks for Quarto's version

        self.name, self._pandoc = f"Quarto {version()}", pandoc

    def build(self, book: "Book", site: Path) -> None:
        """Build all formats in one call (a second one would wipe the first one's output), then the output moves to `site`."""
        self._pandoc(book, "html", "--to=html5", "--mathml")  # for its errors: of an unknown label Quarto only warns, without the chapter
        shutil.move(_made(book, f"{ANNEX}.pdf"), site)
        finish(site)

    def typeset(self, paper: "Book", site: Path) -> None:
        """Typeset the paper as its own project: lists of a profile (its chapters, for one) would be appended to the book's."""
        self._pandoc(paper, "typst", "--to=typst")
        shutil.move(_made(paper, f"{PAPER}.pdf") / f"{PAPER}.pdf", site)


def _made(book: "Book", pdf: str) -> Path:
    say("Quarto renders, which takes minutes")
    said = _quarto("render", str(book.folder), "--metadata", f"run:{book.variables['run']}").stderr
    made = book.folder / "_book"
    if "Unable to resolve crossref" in said or not (made / pdf).is_file():
        raise TierwiseError(f"quarto render: {said.strip()}")
    return made


def finish(site: Path) -> None:
    """Let the search of Quarto's pages in `site` find from a file what it finds on a server, and give each `nav` a name."""
    documents = (site / "search.json").read_text(encoding="utf-8").strip()
    (site / SEARCH).write_text(fill("search.js", documents=documents), encoding="utf-8")
    for page in sorted(site.glob("*.html")):
        head, end, tail = page.read_text(encoding="utf-8").rpartition("</body>")
        for sign, name in NAVIGATION.items():
            head = head.replace(f"<nav {sign}", f'<nav {sign} aria-label="{name}"')
        page.write_text(f"{head}{LOADED}{end}{tail}", encoding="utf-8")


def _quarto(*arguments: str) -> subprocess.CompletedProcess[str]:
    program, environment = quarto_program(), {**os.environ, "NO_COLOR": "1"}
    if program is None:
        raise MissingError("quarto", why="it is not on PATH", remedy="make quarto")
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=QUARTO_S, check=False)
    if done.returncode:
        raise TierwiseError(f"quarto {arguments[0]}: {done.stderr.strip()}")
    return done
