"""Full disclosure: the parameters, packages and prices that the chapter on provenance does not list."""

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from typing import Any, Final

from tierwise.core import paths
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count
from tierwise.report.run import Run

SOURCES: Final = ("source", "note")
"""Columns of a price list that say where an entry was read."""


def profile(run: Run) -> Table:
    """Every parameter of the run's profile."""
    rows = [[f"`{name}`", _plain(value)] for name, value in _leaves(run.manifest.profile)]
    caption = f"Every parameter of the profile, as recorded. {run.stamp}, n = {count(len(rows))} parameters."
    return Table(["Parameter", "Value"], rows, caption)


def packages() -> Sentence:
    """Every package that the set-up pins and that is installed, by name and version."""
    pinned = set(re.findall(r"(?m)^([\w.-]+)==", (paths.home() / "requirements.txt").read_text(encoding="utf-8")))
    installed = {name: found.version for found in distributions() if (name := re.sub(r"[-_.]+", "-", found.name).lower()) in pinned}
    told = ", ".join(f"{name} {version}" for name, version in sorted(installed.items()))
    return Sentence(f"This report was made with {count(len(installed))} packages, each pinned by hash in `requirements.txt`: {told}.")


def prices() -> Table | Sentence:
    """Every entry of every price list, with where it was read."""
    lists = sorted((paths.data() / "prices").glob("*.csv"))
    rows = [[f"`{path.stem}`", *_entry(row)] for path in lists for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]
    if not rows:
        return Sentence("This report uses no prices.")
    return Table(["List", "Entry", "Source"], rows, f"Every price, n = {count(len(rows))}. Input: `data/prices/`, as it is now.")


def assumptions() -> Table | Sentence:
    """Every figure that the accounting takes beside prices."""
    files = sorted((paths.data() / "costs").glob("*.toml"))
    leaves = [(path.stem, *leaf) for path in files for leaf in _leaves(tomllib.loads(path.read_text(encoding="utf-8")))]
    if not leaves:
        return Sentence("This report accounts for no costs.")
    rows = [[f"`{stem}`", f"`{name}`", _plain(value)] for stem, name, value in leaves]
    return Table(
        ["File", "Parameter", "Value"],
        rows,
        f"Every parameter of the accounting, n = {count(len(rows))}. Input: `data/costs/`, as it is now.",
    )


def _entry(row: Mapping[str, str]) -> tuple[str, str]:
    """What a list says, and where it was read."""
    said, read = ({name: value for name, value in row.items() if value and (name in SOURCES) is wanted} for wanted in (False, True))
    return ", ".join(said.values()), "; ".join(read.values())


def _leaves(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested tables by its dotted path."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
