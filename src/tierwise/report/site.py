"""Where built versions of the report lie, and how they are called. Light: nothing heavy is imported to look there."""

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tierwise.core import paths

BUILD: Final = "build.json"  # file of a version, with its name and its run
ORDER: Final = "versions.json"
LATEST: Final = "latest"
PAPER, ANNEX = "tierwise", "tierwise-annex"
"""Stems of a version's two PDFs: the paper, which stands alone and is read first, and every chapter of the site for print."""
PDFS: Final = {"paper": f"{PAPER}.pdf", "annex": f"{ANNEX}.pdf"}
UNVERSIONED: Final = "unversioned"
NOTEBOOKS: Final = "notebooks"  # folder beside the pages: every notebook as it was executed
FIGURES: Final = "figures"
ROWS: Final = "rows"
TABLES: Final = "tables"  # folder beside the pages: the tables that are too long for the annex
QUERIES: Final = "queries"
"""Folders beside the pages: every chart for print, the rows behind it, and for each figure and table the queries that it was made by,
which run by themselves."""
SQL: Final = "sql"  # folder beside the pages of the views that captions name
BIBTEX: Final = "citation.bib"  # file beside the pages: the report's entry for BibTeX
QUARTO: Final = "-quarto"  # how the name of a version ends that Quarto built


def names() -> list[str]:
    try:
        order: list[str] = json.loads((paths.site() / ORDER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        order = []
    return [name for name in order if (paths.site() / name / BUILD).is_file()]


def today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def version_of(run_id: str, suffix: str = "") -> str:
    """Return what a version of `run_id` is called that is built now by the engine of this `suffix`."""
    return f"{today()}-{code_version()}-{run_id}{suffix}"


def date_of(version: str) -> str:
    return version[: len("2026-01-01")]


def code_of(version: str, run_id: str) -> str:
    """Return the `code_version` in the name of `version`, by either engine, which shows `run_id`."""
    return version[len("2026-01-01-") :].removesuffix(QUARTO).removesuffix(f"-{run_id}")


def code_version() -> str:
    """Return ``git describe`` of the checkout; `UNVERSIONED` where there is no history to describe."""
    if paths.installed():
        return UNVERSIONED  # whatever repository the environment may lie in
    return git("describe", "--always", "--dirty") or UNVERSIONED


def git(*arguments: str) -> str:
    """Return what git prints on the checkout; empty where it fails, or is absent."""
    try:
        done = subprocess.run(["git", "-C", str(paths.home()), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def quarto_program() -> str | None:
    """Find Quarto on PATH, else the one that ``make quarto`` put into this environment."""
    return shutil.which("quarto") or shutil.which("quarto", path=str(Path(sys.executable).parent))
