"""How numbers and tables look."""

import shutil
from pathlib import Path

import pytest

from kept_smoke import FOLDER
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import Verdict
from tierwise.bench.inputs import Clocks
from tierwise.report import formats
from tierwise.report.display import LINE, PADDING, Table, shares
from tierwise.report.run import open_run
from tierwise.report.values.provenance import run_items
from tierwise.report.words import marked
from tierwise.timings.manifest import load_manifest


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.98123, "0.981"), (0.0302, "0.0302"), (8211.0, "8,210"), (9.996, "10.0"), (0.09996, "0.100"), (1e6, "1,000,000"), (0, "0")],
)
def test_numbers_have_three_significant_digits_and_no_exponent(value: float, text: str) -> None:
    assert formats.number(value) == text


@pytest.mark.parametrize(("value_s", "text"), [(8.214, "8.21 s"), (0.6409, "641 ms"), (0.000052, "52.0 µs"), (0.99999, "1,000 ms")])
def test_times_have_the_unit_that_keeps_them_short(value_s: float, text: str) -> None:
    assert formats.seconds(value_s) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_counts_are_not_rounded() -> None:
    assert formats.count(2_458_285) == "2,458,285"
    assert formats.span([16, 7]) == "7\N{EN DASH}16"
    assert formats.span([7, 7]) == "7"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0236, "+2.4 %"), (0.9877, "\N{MINUS SIGN}1.2 %"), (0.9997, "0.0 %"), (1.0004, "0.0 %"), (9.5, "+850.0 %"), (140.45, "140-fold")],
)
def test_a_difference_has_a_sign_unless_it_is_none(ratio: float, text: str) -> None:
    assert formats.difference(ratio) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_a_number_keeps_its_unit_on_its_line() -> None:
    text = "at most 20 % of 5 ms, on 32 GiB or 250 IOPS, from 3 to 10 sizes"
    assert formats.tied(text) == "at most 20~% of 5~ms, on 32~GiB or 250~IOPS, from 3 to 10 sizes".replace("~", "\N{NO-BREAK SPACE}")


def test_an_interval_without_a_width_is_none() -> None:
    assert formats.with_interval(0.981, 0.979, 0.983) == "0.981 (0.979 to 0.983)"
    assert formats.with_interval(1.72, 1.72, 1.72 * (1 + 1e-12)) == "1.72 (no interval)"


def test_only_the_word_of_a_verdict_is_marked() -> None:
    assert marked(Verdict.CONFIRMED) == "**confirmed**"
    undecided = ClaimVerdict(verdict=Verdict.UNDECIDED, reason="1 pair", cure="PROFILE=full")
    assert marked(undecided) == "**undecided** (1 pair; needs PROFILE=full)"
    assert marked(ClaimVerdict(verdict=Verdict.CONFIRMED, conditions=("a", "b"))) == "**confirmed** (a, b)"
    assert marked(ClaimVerdict(verdict=Verdict.INPUT)) == "**not testable**: it is an input"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert "| a \\| b |" in Table(["x"], [["a | b"]], "caption").markdown()
    assert Table(["**x**"], [["a \\> b\\*"]], "caption").csv() == "x\na > b*\n", "a table's file has no marks of Markdown"


def test_a_sentence_gets_most_of_the_line_and_every_word_fits() -> None:
    narrow, wide = shares([("Pairs", "5"), ("Statement", "a sentence that goes on and on " * 5)])
    assert (narrow, narrow + wide) == (len("Pairs") + PADDING, LINE)


def test_one_very_long_cell_does_not_starve_the_columns_of_every_other_row() -> None:
    by_row = [("a " * 100, "b " * 20)] * 9 + [("a " * 20, "b " * 200)]
    often, once = shares(list(zip(*by_row, strict=True)))
    assert often > once


def test_the_clock_of_several_sessions_is_named_where_it_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, folder)
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    for found, why in ((Clocks(), None), (Clocks("no right to trace"), "real time: no right to trace")):
        load_manifest(folder).model_copy(update={"clocks": found.record()}).save(folder)
        assert dict(run_items(open_run(folder.name)).rows()).get("Several sessions") == why
