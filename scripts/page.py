"""Make one page of the report of any run, also of a partial one, without the other pages and without PDFs:
``PYTHONPATH=src .venv/bin/python scripts/page.py NAME --run ID``. NAME is that of the notebook ``notebooks/show-NAME.ipynb``.
"""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

from tierwise.analysis.runs import find_run
from tierwise.core import paths
from tierwise.core.errors import InputError, TierwiseError, suggesting
from tierwise.core.files import make_folder, scratch_folder
from tierwise.core.progress import say
from tierwise.pipeline import execute, kernels, runs_in
from tierwise.report import staleness
from tierwise.report.pandoc_engine import PlainEngine
from tierwise.report.project import DEFINED, FRONT, FRONT_PAGE, REFERENCE, REFERENCES, Book, assemble
from tierwise.report.run import open_run
from tierwise.report.versions import stamp_of


def make_page(name: str, run_id: str, target: Path) -> Path:
    """Execute the notebook of the page `name` for the run `run_id`, write the page into the folder `target`, and return its file."""
    notebook, folder = notebook_of(name), find_run(run_id)
    executed = folder / "notebooks"
    with kernels(), runs_in(folder.parent):
        execute(notebook, folder.name)
        staleness.keep(notebook, folder, executed)
        chapter = FRONT_PAGE if notebook.stem == FRONT else f"{notebook.stem}.qmd"
        run = open_run(folder.name)
        stamp = stamp_of(run, "page")
        variables = {**run.facts(), "engine": PlainEngine.name, "date": stamp.date, "version": "page"}
        make_folder(target)
        with scratch_folder("page-", within=target) as build:
            book = assemble(build / "book", executed, stamp, variables, only=[chapter, REFERENCES])
            PlainEngine().pages(without_other_pages(book), build / "site")
            shutil.copytree(build / "site", target, dirs_exist_ok=True)
    return target / f"{Path(chapter).stem}.html"


def notebook_of(name: str) -> Path:
    there = {path.stem.removeprefix("show-"): path for path in sorted((paths.home() / "notebooks").glob("show-*.ipynb"))}
    if name not in there:
        raise InputError("NAME", value=name, rule="no such page", remedy=suggesting(name, there, f"name one of: {', '.join(there)}"))
    return there[name]


def without_other_pages(book: Book) -> Book:
    """Return `book` with the label, in place of a link, for each reference to a page that is not in it."""
    own = {label for text in book.chapters.values() for label in DEFINED.findall(text)}
    chapters = {
        name: REFERENCE.sub(lambda found: found[0] if found[1] in own else f"`{found[1]}`", text) for name, text in book.chapters.items()
    }
    return replace(book, chapters=chapters)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", metavar="NAME", help="page, such as wal_placement")
    parser.add_argument("--run", required=True, help="id of a run in data/raw, or reference")
    parser.add_argument("--to", type=Path, help="folder of the page [default: report/_build/pages]")
    given = parser.parse_args()
    try:
        say(f"the page: {make_page(given.name, given.run, given.to or paths.site().with_name('_build') / 'pages')}")
    except TierwiseError as error:
        raise SystemExit(f"page.py: {error}") from None
