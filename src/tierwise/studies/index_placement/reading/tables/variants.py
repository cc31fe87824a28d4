"""What each variant and I/O mode says of the statements on the index, and the pages behind it."""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from tierwise.analysis.judging import named
from tierwise.analysis.rules import Verdict
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, NBSP, count, number
from tierwise.report.run import Run
from tierwise.report.variants import label, variants
from tierwise.report.words import case_name, marked

UNIT: Final = "variants"
CLAIMS: Final = ("M1", "M2", "M3", "M4", "M5")
STATE_SQL: Final = """
select state from index_placement_through where pair = $pair and cache = 'cold'
group by state order by count(distinct variant) desc, list_position(['FL', 'PR', 'NV'], state) limit 1
"""
"""The state that most variants have counted cold."""


def rows(run: Run, pair: str) -> pl.DataFrame:
    return pl.DataFrame(list(_rows(run, run.query(STATE_SQL, {"pair": pair})["state"].to_list())))


SOURCE = rows


def _rows(run: Run, states: list[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each variant and I/O mode, the largest saving first; pages are those of the one of `states`."""
    claims = {claim.id: {named(one): one for one in variants(claim)} for claim in run.verdicts if claim.id in CLAIMS}
    for state in states:
        for name, one in claims[CLAIMS[0]].items():
            through = (one.through.heap_reads, one.through.index_reads) if one.through else ({}, {})
            pages = {f"{tier}_pages": [of.get(state, {}).get(f"hdd/{tier}") for of in through] for tier in ("hdd", "ssd")}
            found = {claim: (str(same.verdict), same.estimate) if (same := of.get(name)) else ("", None) for claim, of in claims.items()}
            verdicts = {claim: {"verdict": verdict, "estimate": estimate} for claim, (verdict, estimate) in found.items()}
            yield {"label": label(one), "state": state, **verdicts, **pages}


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"state": case_name(rows["state"][0]) if rows.height else ""}


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [row["label"], *(_verdict(**row[claim]) for claim in CLAIMS), *(_pages(row[f"{tier}_pages"]) for tier in ("hdd", "ssd"))]
        for row in rows.rows(named=True)
    ]
    return Cells(["Variant", *CLAIMS, "Reads, index on HDD", "Reads, index on SSD"], cells, "llllllrr")


def _verdict(verdict: str, estimate: float | None) -> str:
    return f"{marked(Verdict(verdict))} {DASH if estimate is None else number(estimate, 2)}" if verdict else DASH


def _pages(found: list[float | None]) -> str:
    return DASH if None in found else f"{NBSP}+{NBSP}".join(count(round(pages or 0)) for pages in found)
