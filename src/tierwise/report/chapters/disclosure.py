"""Full disclosure: the parameters, packages and prices that the chapter on provenance does not list."""

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from typing import Any

from tierwise.core import paths
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, NBSP, count
from tierwise.report.run import Run


def profile(run: Run) -> Table:
    rows = [[f"`{name}`", _plain(value)] for name, value in _leaves(run.manifest.profile)]
    caption = f"Every parameter of the profile, as recorded. {run.stamp}, n = {count(len(rows))} parameters."
    return Table(["Parameter", "Value"], rows, caption)


def packages() -> Sentence:
    """Return every package that the set-up pins and that is installed, by name and version."""
    pinned = set(re.findall(r"(?m)^([\w.-]+)==", (paths.home() / "requirements.txt").read_text(encoding="utf-8")))
    installed = {name: found.version for found in distributions() if (name := re.sub(r"[-_.]+", "-", found.name).lower()) in pinned}
    told = ", ".join(f"{name} {version}" for name, version in sorted(installed.items()))
    return Sentence(f"This report was made with {count(len(installed))} packages, each pinned by hash in `requirements.txt`: {told}.")


def prices() -> Table | Sentence:
    """Return every entry of every price list, with where it was read."""
    lists = sorted((paths.data() / "prices").glob("*.csv"))
    rows = [_entry(row) for path in lists for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]
    if not rows:
        return Sentence("This report uses no prices.")
    caption = f"Every price (**published**), n = {count(len(rows))}. Input: `data/prices/`, as it is now."
    return Table(["Item", "Price, place and date", "Source"], rows, caption)


def assumptions() -> Table | Sentence:
    files = sorted((paths.data() / "costs").glob("*.toml"))
    leaves = [(path.stem, *leaf) for path in files for leaf in _leaves(tomllib.loads(path.read_text(encoding="utf-8")))]
    if not leaves:
        return Sentence("This report accounts for no costs.")
    rows = [[f"`{stem}`", f"`{name}`", *_sourced(value)] for stem, name, value in leaves]
    return Table(
        ["File", "Parameter", "Value", "Source"],
        rows,
        f"Every parameter of the accounting, n = {count(len(rows))}. Input: `data/costs/`, as it is now.",
    )


def _entry(row: Mapping[str, str]) -> list[str]:
    read = "; ".join(filter(None, (row["source"], row["note"])))
    price = f"{float(row['price']):,g}{NBSP}{row['currency']} per {row['unit']}"
    return [f"`{row['item']}`", f"{price}; {row['region']}, {row['date']}", read]


def _leaves(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested tables by its dotted path; a value with its source is one."""
    for name, value in table.items():
        if isinstance(value, Mapping) and "value" not in value:
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _sourced(value: Any) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return _plain(value), DASH
    source = str(value["source"])
    return _plain(value["value"]), f"**{source}**" if source == "assumed" else source


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ("; " if any(isinstance(part, Mapping) for part in value) else ", ").join(map(_plain, value))
    return DASH if value is None else str(value)
