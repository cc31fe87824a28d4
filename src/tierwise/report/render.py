"""Build one version of the report: whole, under ``report/_site``, or not at all."""

from datetime import date
from pathlib import Path

from tierwise.calculator.write_page import calculator
from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.report import notebooks, quarto, site, versions
from tierwise.report.pandoc_engine import PlainEngine
from tierwise.report.project import Book, assemble, assemble_paper
from tierwise.report.run import Run, book_of, open_run
from tierwise.report.versions import Version, stamp_of

ENGINES = ("auto", "quarto", "plain")
Engine = quarto.QuartoEngine | PlainEngine
"""What turns the book into the site with the annex's PDF, and the paper into its PDF; `suffix` ends a version's name."""


def render(*, run_id: str, executed: Path, engine: str = "auto") -> Path:
    """Render the chapters in `executed` for `run_id`, whole or not at all; return the site folder, which ``latest`` then names."""
    chosen = choose(engine)
    run = open_run(run_id)
    version = site.version_of(run.run_id, chosen.suffix)
    built = Version(version=version, run_id=run.run_id)
    beside, place = paths.site().with_name("_build"), paths.site() / version
    beside.mkdir(parents=True, exist_ok=True)
    with scratch_folder("build-", within=beside) as build:
        book = _book(build / "book", run, executed, built, chosen)
        chosen.build(book, build / "site")
        paper = assemble_paper(build / "paper", executed, stamp_of(run, version), book)
        chosen.typeset(paper, build / "site")
        notebooks.give_away(executed, build / "site" / site.NOTEBOOKS)
        built.save(build / "site")
        make_folder(place.parent)
        (build / "site").chmod(0o755)
        if place.exists():
            place.replace(build / "old")
        put(build / "site", place)
        versions.put_last(version)
    return place


def plain_page(version: Version, built: Path, scratch: Path) -> Path:
    """Return the folder in `scratch` where the plain engine makes one page of the version in the folder `built`, without a PDF."""
    engine = PlainEngine()
    book = _book(scratch / "book", open_run(version.run_id), built / site.NOTEBOOKS, version, engine)
    engine.pages(book, scratch / "site", single=True)
    return scratch / "site"


def _book(folder: Path, run: Run, executed: Path, built: Version, engine: Engine) -> Book:
    stamp = stamp_of(run, built.version)
    variables = {**run.facts(), "engine": engine.name, "date": stamp.date, "version": built.version}
    return assemble(folder, executed, stamp, variables, calculator(book_of(run, date.fromisoformat(stamp.date))))


def choose(engine: str) -> Engine:
    """Return the engine by its name; ``auto`` is Quarto where one that serves is installed."""
    if engine not in ENGINES:
        raise InputError("ENGINE", value=engine, rule=f"must be one of {', '.join(ENGINES)}", remedy=suggesting(engine, ENGINES))
    wants_quarto = engine == "quarto" or (engine == "auto" and quarto.usable())
    return quarto.QuartoEngine() if wants_quarto else PlainEngine()
