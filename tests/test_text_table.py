"""Tables for a terminal: plain text in columns, the same into a pipe, with nothing wrapped, cut or read as markup."""

import pytest

from tierwise.core.text_table import table


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_to_the_right() -> None:
    text = table(["device", "IOPS", "from"], [["hdd", "187", "simulated"], ["nvme", "1,000,000", ""]], numbers=[1])
    assert text.splitlines() == ["device       IOPS  from", "hdd           187  simulated", "nvme    1,000,000"]


def test_nothing_is_wrapped_cut_or_read_as_markup() -> None:
    long = "a source of many words " * 50 + "end"
    assert table(["[bold]x[/bold]", "y"], [[":smile:", long]]) == f"[bold]x[/bold]  y\n:smile:         {long}"


def test_a_terminal_that_asks_for_colours_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert table(["a", "b"], [["1" * 30, "2"]]) == f"{'a':30}  b\n{'1' * 30}  2"
