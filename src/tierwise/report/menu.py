"""A figure's menu on the page: links to image, rows, query and citation, and text, so that it works where no script runs."""

import json
from pathlib import Path

from tierwise.core.files import write_whole
from tierwise.report.cite import Stamp
from tierwise.report.dictionary import described
from tierwise.report.queries import Made
from tierwise.report.site import BIBTEX, FIGURES, QUERIES, ROWS
from tierwise.report.text_template import fill


def menu(label: str, caption: str, made: Made, stamp: Stamp, folder: Path) -> str:
    """Return the menu of figure `label` as HTML; its query and the JSON that describes its rows are written into `folder`."""
    rows, facts = f"{ROWS}/{label}.csv", f"{ROWS}/{label}.json"
    scripts = write_scripts(label, made, folder)
    details = {"figure": label, "caption": caption, "rows": rows, "queries": scripts, "python": made.steps, **stamp.as_json()}
    write_whole(folder / facts, json.dumps({**details, "columns": described(folder / rows)}, indent=1, ensure_ascii=False) + "\n")
    known = {"svg": f"{FIGURES}/{label}.svg", "rows": rows, "facts": facts, "bibtex": BIBTEX, "citation": stamp.citation(f"Figure {label}")}
    return fill("menu.html", **known, label=label, scripts=scripts, queries=made.queries, steps=made.steps, link=_link).strip()


def write_scripts(label: str, made: Made, folder: Path) -> list[str]:
    """Write the queries behind figure or table `label` into `folder`, as they run by themselves; return their places in it."""
    scripts = {f"{QUERIES}/{name}": text for name, text in made.scripts(label).items()}
    for place, text in scripts.items():
        write_whole(folder / place, text)
    return list(scripts)


def _link(target: str, text: str) -> str:
    return f'<a href="{target}" download>{text}</a>'
