"""The engine that needs no installation: Pandoc for the page, Pandoc and Typst for the PDF, both from wheels."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pypandoc
import typst

from tierwise.core import paths
from tierwise.core.errors import InputError, TierwiseError
from tierwise.report.project import BESIDE, Book
from tierwise.report.site import ANNEX, BIBTEX, PAPER
from tierwise.report.theme import font_folder

PANDOC_S: Final = 120  # a filter that never ends is a bug; a report takes seconds

HTML: Final = ("--to=html5", "--mathml", "--number-sections", "--section-divs")
ASSETS: Final = ("theme/report.css", "theme/page.css", "theme/report.js", "theme/page.js", "theme/vega.js")


class PlainEngine:
    suffix = ""
    name = f"Pandoc {pypandoc.get_pandoc_version()} and Typst {version('typst')}"

    def build(self, book: Book, site: Path) -> None:
        """Write a page for each chapter with its assets, and the annex's PDF, into `site`."""
        self.pages(book, site)
        _typeset(book, site / f"{ANNEX}.pdf")

    def typeset(self, paper: Book, site: Path) -> None:
        _typeset(paper, site / f"{PAPER}.pdf")

    def pages(self, book: Book, site: Path, *, single: bool = False) -> None:
        """Write a page for each chapter, named after its file, or a `single` one, ``index.html``."""
        (site / "assets").mkdir(parents=True)
        for asset in ASSETS:
            shutil.copy(book.folder / asset, site / "assets")
        shutil.copytree(book.folder / "theme" / "fonts", site / "assets" / "fonts", ignore=shutil.ignore_patterns("*.otf"))
        for folder in BESIDE:
            shutil.copytree(book.folder / folder, site / folder)
        shutil.copy(book.folder / BIBTEX, site)
        pandoc(book, "html", *HTML, f"--metadata=site:{site}", *(["--metadata=single:true"] if single else []))


def _typeset(book: Book, pdf: Path) -> None:
    """Byte-stable for the same source: no system font, no time of day. A warning (a missing glyph, a font) is an error."""
    main = book.folder / "main.typ"
    main.write_text(pandoc(book, "typst", "--to=typst"), encoding="utf-8")
    root, fonts = str(main.parent), font_folder()
    compiler = typst.Compiler(str(main), root=root, font_paths=[fonts], ignore_system_fonts=True)
    _, warnings = compiler.compile_with_warnings(output=str(pdf), timestamp=0)
    if warnings:
        raise TierwiseError(f"Typst warns: {'; '.join(warning.message for warning in warnings)}")


def pandoc(book: Book, template: str, *arguments: str) -> str:
    """Return the book as one page or document in ``plain/template.<template>``; nothing where ``pages.lua`` writes the pages."""
    metadata = book.folder / "metadata.json"
    fields = {"title": book.title, "subtitle": book.subtitle, "lang": "en", "paper": book.paper, **book.variables}
    metadata.write_text(json.dumps(fields), encoding="utf-8")
    (book.folder / "glossary.json").write_text(json.dumps(glossary_forms()), encoding="utf-8")
    files = (f"--defaults={book.folder / 'plain' / 'pandoc.yaml'}", f"--template={book.folder / 'plain' / f'template.{template}'}")
    command = [pypandoc.get_pandoc_path(), *files, f"--metadata-file={metadata}", *arguments]
    # Each chapter in a div that names its file, for the filter's messages.
    text = "\n\n".join(f'::::::: {{.chapter file="{name}"}}\n\n{text}\n\n:::::::' for name, text in book.chapters.items())
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PANDOC_S, check=False, cwd=book.folder)
    if done.returncode:
        raise _failed(done.stderr)
    return done.stdout


def _failed(stderr: str) -> TierwiseError:
    for line in stderr.splitlines():
        match line.split("\t"):
            case ["tierwise-error", where, field, value, rule]:
                return InputError(where, field=field, value=value, rule=rule)
    return TierwiseError(f"Pandoc: {stderr.strip()}")


SECTIONS: Final = ("The sources", "What is measured")
ROW: Final = re.compile(r"^\| ([^|]+) \| (.+) \|$", re.MULTILINE)
MARKS: Final = re.compile(r"[`*]")


def glossary_forms() -> dict[str, dict[str, str]]:
    """Return each word in lower case, in singular and plural -> ``word``, the word itself, and ``meaning``, without marks."""
    meaning = {word: {"word": word, "meaning": MARKS.sub("", text)} for word, text in _glossary_entries()}
    return {form: entry for word, entry in meaning.items() for form in (word.lower(), _plural(word.lower()))}


def _glossary_entries() -> Iterator[tuple[str, str]]:
    whole = (paths.home() / "docs" / "glossary.md").read_text(encoding="utf-8")
    for section in SECTIONS:
        for word, text in ROW.findall(whole.split(f"## {section}\n")[1].split("\n## ")[0]):
            if word != "word":
                yield word, text


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("dy") else word if word.endswith("s") else f"{word}s"
