"""Page caches against textbook versions of the same rule, and against the published results of a real trace."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from support import shared
from test_map import plain_lru
from tierwise.core.errors import InputError
from tierwise.simulate.page_cache import CacheResult, PageCache, replay, replay_stream
from tierwise.simulate.page_trace import simulate_trace

Pages = NDArray[np.int64]


def skewed(requests: int, pages: int, seed: int = 1) -> Pages:
    chance = np.random.default_rng(seed)
    return (pages * chance.random(requests) ** 3).astype(np.int64)


def misses_of_textbook_clock(trace: Pages, pages: int) -> int:
    frames, used, hand, misses = [-1] * pages, [False] * pages, 0, 0
    for page in trace.tolist():
        if page in frames:
            used[frames.index(page)] = True
            continue
        misses += 1
        while used[hand]:
            used[hand] = False
            hand = (hand + 1) % pages
        frames[hand] = page
        hand = (hand + 1) % pages
    return misses


def misses_of_slow_two_lists(trace: Pages, pages: int) -> int:
    """Count the misses below 1 GiB, where the active list may be as long as the inactive one; a fault is a page's first use."""
    inactive: OrderedDict[int, bool] = OrderedDict()  # whether it was used
    active: OrderedDict[int, None] = OrderedDict()
    gone: dict[int, int] = {}
    age = misses = 0
    for page in trace.tolist():
        if page in active:
            continue
        if page in inactive:
            if inactive[page]:
                del inactive[page]
                active[page] = None
                age += 1
            else:
                inactive[page] = True
            continue
        misses += 1
        if len(inactive) + len(active) == pages:
            while len(inactive) < len(active):
                inactive[active.popitem(last=False)[0]] = False
            gone[inactive.popitem(last=False)[0]] = age
            age += 1
        if page in gone and age - gone[page] <= len(active):
            active[page] = None
        else:
            inactive[page] = True
    return misses


def misses_of_slow_mapped_lists(trace: Pages, pages: int) -> int:
    inactive: list[int] = []
    active: list[int] = []
    young, referenced = set[int](), set[int]()
    misses = 0
    for page in trace.tolist():
        if page not in inactive and page not in active:
            misses += 1
            while len(inactive) + len(active) == pages:
                while 2 * len(active) > pages:
                    inactive.append(active.pop(0))
                    young.discard(inactive[-1])
                    referenced.add(inactive[-1])
                oldest = inactive.pop(0)
                if oldest not in young:
                    referenced.discard(oldest)
                elif oldest in referenced:
                    active.append(oldest)
                    referenced.remove(oldest)
                else:
                    inactive.append(oldest)
                    referenced.add(oldest)
                young.discard(oldest)
            inactive.append(page)
        young.add(page)
    return misses


SLOW: dict[str, Callable[[Pages, int], int]] = {
    "lru": lambda trace, pages: plain_lru(trace.tolist(), [False] * len(trace), [0] * 150, pages)[0][0],
    "clock": misses_of_textbook_clock,
    "two-list": misses_of_slow_two_lists,
    "mapped": misses_of_slow_mapped_lists,
}


@pytest.mark.parametrize("policy", SLOW)
@pytest.mark.parametrize("pages", [1, 2, 17, 100])
def test_each_policy_is_a_slow_version_of_the_same_rule(policy: str, pages: int) -> None:
    trace = skewed(5000, 150)
    assert replay(trace, pages, policy) == CacheResult(5000, SLOW[policy](trace, pages))


@pytest.mark.parametrize("policy", SLOW)
def test_a_stream_is_replayed_as_the_whole(policy: str) -> None:
    trace = skewed(20_000, 3000)
    for far_apart in (trace, trace - 1500, trace * 10**11 - 7):
        chunks = np.array_split(far_apart, 7)
        assert replay_stream(lambda given=chunks: iter(given), 500, policy) == replay(trace, 500, policy)  # type: ignore[misc]


@pytest.mark.parametrize("policy", SLOW)
def test_a_trace_is_replayed_as_its_pages_are_accessed_one_by_one(policy: str) -> None:
    """The loops of a replay are compiled apart; more requests than LRU has positions."""
    trace = skewed(120_000, 900)
    cache = PageCache(900, 300, policy)
    assert replay(trace, 300, policy).misses == sum(cache.access(page) is not None for page in trace.tolist())


@pytest.mark.parametrize(
    ("pages", "hit_percent", "misses"),
    [(1000, 32.83, 614_023), (2000, 42.47, 525_910), (5000, 53.65, 423_702), (10_000, 60.70, 359_239), (15_000, 64.63, 323_294)],
)
def test_lru_on_the_oltp_trace_is_as_published(pages: int, hit_percent: float, misses: int) -> None:
    """Hit ratios: Megiddo and Modha, FAST 2003. Misses: counted by libCacheSim 0.3.5 on the same file."""
    result = simulate_trace(shared("realdata", "traces", "OLTP.lis.zst"), pages)
    assert round(100 * result["hit_ratio"], 2) == hit_percent
    assert (result["requests"], result["misses"]) == (914_145, misses)


@pytest.mark.parametrize("policy", ["lru", "clock", "two-list", "mapped"])
def test_a_cache_never_holds_more_than_its_pages(policy: str) -> None:
    cache = PageCache(150, 20, policy, read_around=8)
    for page in skewed(3000, 150).tolist():
        cache.access(page)
        assert page in cache
        assert len(cache) <= 20
    assert len(cache) == sum(page in cache for page in range(150)) == 20


def test_a_page_read_along_with_another_has_not_been_used() -> None:
    cache = PageCache(1000, 100, "two-list", read_around=8)
    for page in (20, 20, 21, *range(100, 900)):  # 20 was used twice, 21 once
        cache.access(page)
    assert 20 in cache
    assert 21 not in cache


def test_read_around_takes_a_centred_window_that_ends_with_the_file() -> None:
    cache = PageCache(100, 64, read_around=32)
    assert cache.access(50) == (34, 66)
    assert cache.access(34) is None
    assert cache.access(66) == (66, 82)  # what is there already is not read again
    assert cache.access(3) == (0, 32)
    assert cache.access(99) == (83, 100)
    assert PageCache(100, 64).access(50) == (50, 51)


def test_read_around_pays_where_neighbours_follow() -> None:
    trace = np.arange(10_000)
    assert replay(trace, 100, read_around=32).misses == pytest.approx(10_000 / 16, rel=0.01)
    assert replay(trace, 100).misses == 10_000


@pytest.mark.parametrize(
    ("arguments", "field"),
    [((10, 5, "fifo"), "policy"), ((0, 5), "file_pages"), ((10, -1), "pages"), ((2**29, 2**28, "two-list"), "pages")],
)
def test_a_cache_that_cannot_be_is_refused(arguments: tuple[int, int], field: str) -> None:
    with pytest.raises(InputError, match=field):
        PageCache(*arguments)


def test_options_that_cannot_be_are_named_as_they_were_typed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--pages is 0"):
        simulate_trace(tmp_path / "absent", 0)
    with pytest.raises(InputError, match="--policy is 'arc'"):
        simulate_trace(tmp_path / "absent", 1, "arc")
