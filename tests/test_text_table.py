"""Tables for a terminal: plain text in columns, the same into a pipe, never wider than a page, and never read as markup."""

import pytest

from tierwise.core.text_table import WIDTH, table, wrapped


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_to_the_right() -> None:
    text = table(["device", "IOPS", "from"], [["hdd", "187", "simulated"], ["nvme", "1,000,000", ""]], numbers=[1])
    assert text.splitlines() == ["device       IOPS  from", "hdd           187  simulated", "nvme    1,000,000"]


def test_what_is_too_long_continues_below_itself_and_nothing_is_read_as_markup() -> None:
    long = "a source of many words " * 50 + "end"
    text = table(["[bold]x[/bold]", "y"], [[":smile:", long]])
    for shown in (text, wrapped(f"    {long}")):
        assert max(map(len, shown.splitlines())) <= WIDTH
        assert long.split() == [word for word in shown.split() if word not in {"[bold]x[/bold]", "y", ":smile:"}]
    assert text.splitlines()[1].startswith(":smile:         a source")


def test_a_terminal_that_asks_for_colours_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert table(["a", "b"], [["1" * 30, "2"]]) == f"{'a':30}  b\n{'1' * 30}  2"
