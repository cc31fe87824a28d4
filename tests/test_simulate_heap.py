"""A simulated table whose pages have space for one more row each: which updates stay in their page, and what the others touch."""

import numpy as np

from tierwise.simulate.heap import ROWS_PER_PAGE, Keys, Touched, aged_pages, filled_pages, pages_of, touch

ROWS = 61_000
INDEX_PAGES = 100
MANY_TURNS = 30
"""Lookups of other rows, after which nobody waits for an update before any more."""


def touched(places: list[int], updates: set[int], *, clients: int = 1) -> Touched:
    """Tell what transactions on these rows touch; those with the numbers `updates` update theirs."""
    where: Keys = np.array(places)
    writing = np.array([number in updates for number in range(len(places))])
    return touch(ROWS, INDEX_PAGES, where, where, writing, clients=clients)


def pages(found: Touched, transaction: int) -> list[int]:
    """List the pages of the table that a transaction touched."""
    own = found.pages[found.transactions == transaction]
    return [page - INDEX_PAGES for page in own.tolist() if page >= INDEX_PAGES]


def test_an_aged_table_is_as_large_as_postgresqls() -> None:
    assert (filled_pages(2_000_000), aged_pages(2_000_000)) == (32_787, 33_325)  # pgbench at scale 20, aged
    assert pages_of(ROWS, np.array([0, 1, 60, 61, 62, 61 * 61])).tolist() == [1_000, 0, 0, 1_000, 1, 1_001]


def test_an_update_stays_in_a_page_with_space_and_is_logged_as_one_change() -> None:
    found = touched([5], {0})
    assert found.stayed.tolist() == [True]
    assert pages(found, 0) == [0, 0]  # the update, and the look at what it did
    assert found.pages[found.changed].tolist() == [INDEX_PAGES]


def test_a_second_update_at_once_finds_the_page_full_and_moves_its_row() -> None:
    found = touched([5, 6], {0, 1}, clients=2)
    assert found.stayed.tolist() == [True, False]
    moved = pages(found, 1)
    assert moved[0] == 0
    assert set(moved[1:]) - {0}  # where it moved to, the next page that has space
    assert INDEX_PAGES + 1 in found.pages[found.changed]
    assert 0 in found.pages[found.changed]  # the leaf of the index


def test_a_page_has_space_again_once_nobody_sees_the_old_version() -> None:
    elsewhere = list(range(3_000, 3_000 + 61 * MANY_TURNS, 61))
    found = touched([5, *elsewhere, 6], {0, len(elsewhere) + 1}, clients=4)
    assert found.stayed.tolist() == [True, True]


def test_a_row_among_full_pages_at_the_end_moves_at_its_first_update() -> None:
    first_of_a_page = 10 * ROWS_PER_PAGE
    assert touched([first_of_a_page], {0}).stayed.tolist() == [False]


def test_a_moved_row_is_looked_for_in_its_old_page_until_that_is_found_dead() -> None:
    elsewhere = list(range(3_000, 3_000 + 61 * MANY_TURNS, 61))
    row = 10 * ROWS_PER_PAGE
    found = touched([row, *elsewhere, row, *elsewhere, row], {0}, clients=4)
    last, before = 2 * len(elsewhere) + 2, len(elsewhere) + 1
    assert (len(pages(found, before)), len(pages(found, last))) == (2, 1)


def test_a_table_without_space_grows() -> None:
    rng = np.random.default_rng(1)
    places = rng.integers(0, ROWS, 6_000)
    full = list(range(filled_pages(ROWS)))
    found = touched([page * ROWS_PER_PAGE for page in full] * 2 + places.tolist(), set(range(2 * len(full) + 6_000)), clients=8)
    assert found.pages.max() - INDEX_PAGES >= aged_pages(ROWS)
