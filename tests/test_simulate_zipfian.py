"""YCSB's scrambled Zipfian against YCSB itself."""

from itertools import islice

import numpy as np
import pytest

from tierwise.simulate.zipfian import RANKS, THETA, ZETA, fnv_of, item_of, mix_of, rank_of, scrambled, zipfian_pages

ITEMS = 1_000_003
FROZEN = [  # uniform number, rank, item of `ITEMS`: what YCSB's own classes made of these numbers (d9faaac, with a seeded java.util.Random)
    ("0x1.ec9e5b3672e14p-3", 233, 671265),
    ("0x1.a3ec39684df98p-2", 15553, 506028),
    ("0x1.cd8a8b00882f8p-1", 1208193550, 415322),
    ("0x1.22c88b38939f8p-4", 2, 439508),
    ("0x1.d661aee7c5cap-1", 1755312097, 312642),
    ("0x1.6981a67280738p-4", 4, 155472),
    ("0x1.28c4a29ab1413p-1", 875252, 369592),
    ("0x1.7f9328813b859p-1", 42132988, 502213),
]


def test_ranks_and_items_are_ycsbs() -> None:
    chances = np.array([float.fromhex(chance) for chance, _, _ in FROZEN])
    assert [rank_of(chance) for chance in chances] == [rank for _, rank, _ in FROZEN]
    assert scrambled(chances, ITEMS).tolist() == [item for _, _, item in FROZEN]


def test_a_million_items_are_ycsbs() -> None:
    """Java's 48-bit generator from seed 1, and the sum that YCSB's items give where each is added to 31 times the sum before it."""
    state = 1 ^ 0x5DEECE66D

    def bits(count: int) -> int:
        nonlocal state
        state = (state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        return state >> (48 - count)

    chances = np.array([((bits(26) << 27) + bits(27)) * 2.0**-53 for _ in range(1_000_000)])
    total = 0
    for item in scrambled(chances, 33_554_433).tolist():
        total = (31 * total + item) % 2**64
    assert total == 1848736468191900149


def test_zeta_is_the_sum_over_all_ranks() -> None:
    """The sum is taken by Euler and Maclaurin from the millionth term on."""
    first = 10**6
    tail = (RANKS ** (1 - THETA) - first ** (1 - THETA)) / (1 - THETA) + (RANKS**-THETA - first**-THETA) / 2
    assert np.sum(np.arange(1, first + 1) ** -THETA) + tail == pytest.approx(ZETA, rel=1e-9)


def test_the_first_ranks_come_as_often_as_the_law_says() -> None:
    ranks = np.array([rank_of(chance) for chance in np.linspace(0, 1, 100_000, endpoint=False)])
    for rank in (0, 1):
        assert np.mean(ranks == rank) == pytest.approx((rank + 1) ** -THETA / ZETA, rel=1e-3)
    assert rank_of(float(np.nextafter(1, 0))) == RANKS + 1  # by rounding; in Java, too


def test_equal_seeds_give_equal_pages() -> None:
    def first(seed: int) -> list[int]:
        chunks = islice(zipfian_pages(4001, seed=seed, items_per_page=4, chunk=100), 3)
        return [int(page) for chunk in chunks for page in chunk]

    assert first(1) == first(1) != first(2)
    assert len(first(1)) == 300
    assert 0 <= min(first(1)) <= max(first(1)) <= 1000


def test_a_scaled_item_is_a_whole_number_of_the_mix() -> None:
    """A signed and an unsigned hash in one expression would become a float, and lose its low digits."""
    assert item_of(12_345, 1_000_003, 1) == fnv_of(12_345) % 1_000_003
    assert item_of(12_345, 1_000_003, 5) == mix_of(2_469) % 1_000_003
    assert mix_of(0) == 0xE220A8397B1DCDAF >> 1
