"""How numbers and tables look."""

import pytest

from tierwise.report import formats
from tierwise.report.display import Table, shares
from tierwise.report.words import marked, state_name


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


def test_a_list_reads_as_a_sentence() -> None:
    assert [formats.listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


def test_states_have_names() -> None:
    assert [state_name(state) for state in ("FL", "FL->PR", "FL/NV")] == ["Florida", "Puerto Rico after Florida", "Florida over Nevada"]


def test_only_the_word_of_a_verdict_is_marked() -> None:
    assert marked("confirmed") == "**confirmed**"
    assert marked("undecided (needs PROFILE=full)") == "**undecided** (needs PROFILE=full)"
    assert marked("not testable: it is an input") == "**not testable**: it is an input"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert "| a \\| b |" in Table(["x"], [["a | b"]], "caption").markdown()


def test_a_sentence_gets_most_of_the_line_and_every_word_fits() -> None:
    narrow, wide = shares([("Pairs", "5"), ("Statement", "a sentence that goes on and on " * 5)])
    assert wide > 3 * narrow
    assert narrow >= len("Pairs")


def test_the_line_of_dashes_is_long_enough_for_pandoc_to_wrap_cells() -> None:
    assert len(Table(["a", "b"], [["1", "2"]], "caption").markdown().splitlines()[1]) > 72
