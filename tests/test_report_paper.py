"""The paper: short, legible, and of the chapters' own numbers; titles that state findings; the strip of verdicts; costs of a read."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Final

import pytest

from report_built import Built, bare, page_images, pages, pdf_text
from tierwise.analysis.rules import DECIDED, Verdict
from tierwise.core import paths
from tierwise.core.vocabulary import Evidence
from tierwise.report import notebooks
from tierwise.report.display import LONG, ROWS_MIME, Figure, Table
from tierwise.report.exhibits.figures.verdicts import LOOKS
from tierwise.report.notebooks import Shown
from tierwise.report.page import open_page, open_shared
from tierwise.report.project import PAPER_NOTEBOOK
from tierwise.report.run import Run, source_pair
from tierwise.report.site import PDFS
from tierwise.studies.pgbench_placement.reading.values import values as pgbench
from tierwise.studies.ram_or_ssd.reading.values import values as zipf
from tierwise.studies.read_latency.reading.values import values as latency

PAGES: Final = 12
BODY_PT, LEAST_PT = 10.0, 6.0  # sizes of letters: of the text, and the smallest in a chart, whose labels shrink with it
ZOOM: Final = 1.5  # pixels that pdftohtml counts for a point


def shown_by(executed: Path, *stems: str) -> dict[str, Shown]:
    return {part.label: part for stem in stems for part in notebooks.read(executed / f"{stem}.ipynb") if part.label}


def test_the_paper_is_short_and_has_its_sections(built: Built) -> None:
    assert len(page_images(built.site / PDFS["paper"])) <= PAGES
    text = pdf_text(built.site, name=PDFS["paper"])
    sections = re.findall(r"^#+ (.+?) \{#", (files("tierwise.report") / "text" / "paper.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(sections) > 5
    place = 0
    for section in sections:
        place = text.find(bare(section), place)
        assert place >= 0, section


def test_its_sentences_and_those_of_the_site_are_short(built: Built) -> None:
    files = [*pages(built.site), built.executed / f"{PAPER_NOTEBOOK}.ipynb"]
    command = [sys.executable, str(paths.home() / "scripts" / "check_sentences.py"), *map(str, files)]
    measured = subprocess.run(command, capture_output=True, text=True, check=False)
    assert measured.returncode == 0, measured.stderr


def test_what_it_shows_is_what_the_chapters_show(built: Built) -> None:
    paper = shown_by(built.executed, PAPER_NOTEBOOK)
    chapters = shown_by(built.executed, *(path.stem for path in built.executed.glob("show-*.ipynb") if path.stem != PAPER_NOTEBOOK))
    assert len(paper) >= 6
    for label, part in paper.items():
        assert part.body.get(ROWS_MIME) == chapters[label].body.get(ROWS_MIME), label
        assert part.text == chapters[label].text, label
        assert part.body.get("text/markdown") == chapters[label].body.get("text/markdown"), label


def test_its_figures_are_counted_through_and_their_rows_lie_beside_the_site(built: Built) -> None:
    text = pdf_text(built.site, name=PDFS["paper"])
    figures = {label: part for label, part in shown_by(built.executed, PAPER_NOTEBOOK).items() if label.startswith("fig-")}
    assert [int(found) for found in re.findall(r"Figure(\d+)\.(?=[A-Z])", text)] == [*range(1, len(figures) + 1)]
    for label, part in figures.items():
        assert not part.body.get(ROWS_MIME) or f"rows/{label}.csv".replace("-", "") in text
        assert not part.body.get(ROWS_MIME) or (built.site / "rows" / f"{label}.csv").is_file()


def test_every_sentence_with_a_number_says_how_it_came_to_be(built: Built) -> None:
    stamps = re.compile("|".join((*Evidence, "rows alone", "No answer yet", "profile")))
    for part in notebooks.read(built.executed / f"{PAPER_NOTEBOOK}.ipynb"):
        if part.from_rows and re.search(r"\d", re.sub(r"@[\w-]+", "", part.text)):  # a citation has a year
            assert stamps.search(part.text), part.text


def test_its_letters_are_large_enough(built: Built) -> None:
    if not shutil.which("pdftohtml"):
        pytest.skip("pdftohtml is not installed (Debian: poppler-utils), so the sizes of letters are not known")
    command = ["pdftohtml", "-xml", "-i", "-stdout", str(built.site / PDFS["paper"])]
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sizes = {font: float(size) / ZOOM for font, size in re.findall(r'<fontspec id="(\d+)" size="(\d+)"', page)}
    letters: Counter[float] = Counter()
    for font, text in re.findall(r'<text [^>]*font="(\d+)">(.*?)</text>', page):
        letters[sizes[font]] += len(re.sub(r"<[^>]+>", "", text))
    assert letters.most_common(1)[0][0] == pytest.approx(BODY_PT, abs=0.4)
    assert min(letters) >= LEAST_PT


def test_the_strip_has_every_statement_and_each_verdict_a_shape_of_its_own(reference: Run) -> None:
    assert LOOKS.keys() == set(Verdict)
    assert len({shape for shape, _ in LOOKS.values()}) == len(LOOKS), "read in grey"
    page = open_shared(reference, "summary")
    strip = page.exhibit("fig-verdicts")
    assert isinstance(strip, Figure)
    assert dict(strip.rows.select("claim", "verdict").rows()) == {claim.id: claim.verdict.mark for claim in reference.verdicts}
    assert page.values["decided"] == sum(claim.verdict in DECIDED for claim in reference.verdicts)


def test_the_paper_prints_each_verdict(built: Built) -> None:
    text = pdf_text(built.site, name=PDFS["paper"])
    lines = shown_by(built.executed, PAPER_NOTEBOOK)["tbl-decided"].body["text/markdown"].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert rows
    for claim, *_, found, verdict in rows:
        assert all(bare(word) in text for word in (claim, *found.split(), *verdict.replace("*", "").split())), claim


def test_every_statement_is_in_the_table_of_the_decided_or_among_the_reasons_of_the_others(reference: Run) -> None:
    page = open_shared(reference, "summary")
    decided, others = page.exhibit("tbl-decided"), page.exhibit("tbl-left-open")
    assert isinstance(decided, Table)
    assert isinstance(others, Table)
    verdicts = {claim.id: claim for claim in reference.verdicts}
    assert {row[0] for row in decided.rows} == {name for name, claim in verdicts.items() if claim.verdict in DECIDED}
    assert all(row[-1] == f"**{(one := verdicts[row[0]]).verdict.mark}** **{one.evidence}**" for row in decided.rows)
    named = [name for row in others.rows for name in row[-1].split(", ")]
    assert sorted([*named, *(row[0] for row in decided.rows)]) == sorted(verdicts)
    for verdict, reason, count, claims in others.rows:
        assert int(count) == len(claims.split(", "))
        assert all(verdict == f"**{verdicts[name].verdict.mark}**" for name in claims.split(", "))
        assert all(str(verdicts[name].cause or reason) == reason for name in claims.split(", "))
    assert max(len(decided.rows), len(others.rows)) <= LONG, "printed whole"


def test_a_run_in_which_nearly_all_is_rejected_has_no_finding_of_what_was_live(rejected: Run) -> None:
    pairs = {letter: source_pair(letter) for letter in "VH"}
    assert pgbench(rejected, pairs["V"])["tables_gain"] is None
    assert not any(open_page(rejected, f"survey_{name}", pairs["H"]).own["answered"] for name in ("arrays", "placement"))
    assert latency(rejected)["lead_estimate"] is None
    assert zipf(rejected)["answered"], "no row of it is live"
