"""A figure's menu on the page: image, rows, query, citation; the same fragment for both engines.

All of it is links to files beside the page and text, so that it works where no script runs; only PNG is drawn by the page's script.
"""

import html
import json
from pathlib import Path
from typing import Final

from tierwise.core.files import write_whole
from tierwise.report.cite import Stamp
from tierwise.report.dictionary import described
from tierwise.report.made import Made
from tierwise.report.site import BIBTEX, FIGURES, QUERIES, ROWS

OTHER: Final = "What it draws is not among the run's rows: the caption names it. In"
FROM: Final = "In DuckDB, from the Parquet files of a published copy"


def menu(label: str, caption: str, made: Made, stamp: Stamp, folder: Path) -> str:
    """Return the menu of figure `label` as HTML; its query and the JSON that describes its rows are written into `folder`, where these lie.

    Raises:
        InputError: a column of the rows has no meaning in the data dictionary.
    """
    rows, facts = f"{ROWS}/{label}.csv", f"{ROWS}/{label}.json"
    scripts = {f"{QUERIES}/{label}{f'-{number}' if number > 1 else ''}.sql": text for number, text in enumerate(made.scripts, 1)}
    for place, text in scripts.items():
        write_whole(folder / place, text)
    told = {"figure": label, "caption": caption, "rows": rows, "queries": list(scripts), "python": made.steps, **stamp.as_json()}
    write_whole(folder / facts, json.dumps({**told, "columns": described(folder / rows)}, indent=1, ensure_ascii=False) + "\n")
    links = [
        _link(f"{FIGURES}/{label}.svg", "SVG"),
        f'<button type="button" class="png" data-file="{label}.png" hidden>PNG</button>',
        _link(rows, "CSV"),
        _link(facts, "JSON: columns, units, run, host"),
    ]
    parts = [
        f"<p>{' '.join(links)}</p>",
        *(_query(place, text) for place, text in zip(scripts, made.queries, strict=True)),
        f"<p>{'Then, in' if scripts else OTHER} Python: {', '.join(f'<code>{step}</code>' for step in made.steps)}.</p>",
        f"<p>Cite as: {html.escape(stamp.citation(f'Figure {label}'))} {_link(BIBTEX, 'BibTeX')}</p>",
    ]
    return f'<details class="figure-menu"><summary>Image, rows, query, citation</summary>\n{"".join(parts)}\n</details>'


def _query(place: str, text: str) -> str:
    return f'<p>{FROM}, by {_link(place, "this script")}:</p><pre tabindex="0"><code>{html.escape(text)}</code></pre>'


def _link(target: str, text: str) -> str:
    return f'<a href="{target}" download>{text}</a>'
