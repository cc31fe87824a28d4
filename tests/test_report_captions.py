"""What a caption says of the rows that it shows: their I/O modes, clock and assumed processors."""

import pytest

from tierwise.analysis.claims import load_claims
from tierwise.report.exhibit_registry import find
from tierwise.report.page import Page, open_page, open_shared
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES

SOURCES = load_claims().sources
PAIRS = {
    "wal_placement": "wal-placement",
    **{case.study: SOURCES[claim.source].pair for claim in load_claims().claims for case in claim.cases},
}


def said(caption: str) -> set[str]:
    note = caption.splitlines()[-1]
    return {mode for mode in IO_MODES if " I/O, " in note and mode in note.partition(" I/O, ")[0].rpartition("**")[2]}


@pytest.mark.parametrize("study", PAIRS)
def test_the_mode_of_a_caption_is_the_mode_of_its_rows(reference: Run, study: str) -> None:
    page = open_page(reference, study, PAIRS[study])
    for label in page.text.parts:
        if label.startswith(("fig-", "tbl-")):
            holds(page, label, study)


def test_the_first_page_names_the_modes_of_its_rows(reference: Run) -> None:
    page = open_shared(reference, "front")
    for label in ("tbl-answer", "fig-answer"):
        holds(page, label, "")
        assert "assumed processors" in page.exhibit(label).caption


def holds(page: Page, label: str, study: str) -> None:
    rows = find(label, study).rows(page.run, page.pair).frame
    if rows.height and "io_mode" in rows.columns:
        assert said(page.exhibit(label).caption) == set(rows["io_mode"]), label
