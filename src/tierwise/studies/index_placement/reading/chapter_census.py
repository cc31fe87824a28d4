"""Chapter on the data of the census study: how many rows, whence, how large and how clustered."""

import json
from typing import Any, Final

from tierwise.core.data_sets import whole_rows
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, number, percent, size
from tierwise.report.run import Run
from tierwise.report.words import case_name
from tierwise.timings.manifest import DatasetRecord

STUDY: Final = "index_placement"
PUBLISHED_ROWS: Final = whole_rows("census")
PUBLISHED_POB: Final = {"FL": 54_445, "PR": 10_134, "NV": 4_722}
"""Rows that each query found in the census study."""
PUBLISHED_BYTES: Final = {"census": 1_010 * MIB, "census_pkey": 52 * MIB, "pob": 52 * MIB}
"""``relpages * 8 / 1024`` of the census study, in bytes."""
SHOWN_APART: Final = ("rows", "sha256", "assumed", "pob_counts")


def origin(run: Run) -> Sentence:
    """Return whether the rows are real, and how many of the published there are; synthetic rows are called that."""
    record = _dataset(run)
    if record is None:
        return Sentence("This run's manifest names no census data.")
    share = percent(record.rows / PUBLISHED_ROWS)
    told = f"This run holds **{count(record.rows)} rows**, {share} of the published {count(PUBLISHED_ROWS)}."
    source = run.manifest.source_of(record)
    if source != "synthetic":
        return Sentence(f"{told} They were read from the file that the run was given (`{source}`).")
    assumed = "".join(f"\n- {line}" for line in record.provenance.get("assumed", []))
    warning = f"{record.provenance.get('what', 'The rows are synthetic')}.".capitalize()
    told_assumed = f"\n\nAssumed, because the real file's excerpt does not show it:\n{assumed}" if assumed else ""
    return Sentence(f"{told}\n\n::: {{.callout-note}}\n## Synthetic data\n\n{warning}{told_assumed}\n:::")


def counts(run: Run, pair: str) -> Table:
    """Return rows that each query found, beside the published count scaled to this run; pages that hold them where known."""
    record = _dataset(run)
    share = record.rows / PUBLISHED_ROWS if record else float("nan")
    found = run.query(
        "select distinct state, result_rows from index_placement_observations where pair = ? and cache <> 'cross'",
        [pair],
    )
    rows_of = dict(found.iter_rows())
    pages_of = _facts(run, pair).get("cold_pages", {})
    table_pages = _facts(run, pair).get("size_bytes", {}).get("census", 0) / PAGE_BYTES
    rows = []
    for state, published in PUBLISHED_POB.items():
        heap = pages_of.get(state, {}).get("census")
        here = rows_of.get(state)
        rows.append(
            [
                case_name(state),
                count(published),
                count(round(published * share)) if record else DASH,
                count(here) if here else DASH,
                count(heap) if heap else DASH,
                percent(heap / table_pages) if heap and table_pages else DASH,
                number(here / heap) if heap and here else DASH,
            ]
        )
    return Table(
        ["Place of birth", "Published rows", "At this scale", "Found", "On table pages", "Share of table", "Rows a page"],
        rows,
        "Rows of each query. A page holds several rows of one place of birth because the file is sorted by state of residence: "
        f"the fewer pages, the fewer reads. {run.note(pair, len(found), 'statements', 'studies/index_placement/reading/rows.sql')}",
        align="lrrrrrr",
    )


def sizes(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the size of the table and its indexes beside the published ones, whole and at this scale."""
    found = _facts(run, pair).get("size_bytes")
    record = _dataset(run)
    if not found or record is None:
        return Sentence("This run's manifest has no sizes of the relations.")
    share = record.rows / PUBLISHED_ROWS
    rows = [
        [f"`{name}`", size(published), size(published * share), size(found[name])]
        for name, published in PUBLISHED_BYTES.items()
        if name in found
    ]
    return Table(
        ["Relation", "Published", "At this scale", "Here"],
        rows,
        "Sizes of the table and its indexes, **published** and here. The index on `pob` is built without deduplication, as in "
        f"PostgreSQL 8.3. {run.facts_note(pair, len(rows), 'relations')}",
        align="lrrr",
    )


def correlation(run: Run, pair: str) -> Sentence:
    """Return how far the order of `pob` follows the order of rows, as the planner sees it."""
    value = (_facts(run, pair).get("planner") or {}).get("correlation")
    if value is None:
        return Sentence("The planner's correlation of `pob` with the order of rows was not recorded.")
    return Sentence(
        f"The planner's correlation of `pob` with the order of rows is {number(value)}. The costs that the census study printed imply "
        "about 0.5, "
        "which is what rows in the order of the state of residence give."
    )


def provenance(run: Run) -> Table | Sentence:
    record = _dataset(run)
    if record is None:
        return Sentence("This run's manifest names no census data.")
    shown = {name: value for name, value in sorted(record.provenance.items()) if name not in SHOWN_APART} | {"rows_sha256": record.sha256}
    rows = [[name.replace("_", " "), f"`{value[:16]}…`" if name.endswith("sha256") else _plain(value)] for name, value in shown.items()]
    return Table(
        ["Item", "Value"],
        rows,
        f"Origin of the rows. {run.stamp}, n = {count(record.rows)} rows; from the run's manifest.",
    )


def _dataset(run: Run) -> DatasetRecord | None:
    return run.manifest.data("census", STUDY)


def _facts(run: Run, pair: str) -> dict[str, Any]:
    record = run.record(STUDY, pair)
    return record.facts if record else {}


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
