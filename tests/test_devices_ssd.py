"""Flash against what can be worked out by hand."""

import pytest

from drives import FLASH, anywhere, apart, cache, drive, in_order, iops, p
from tierwise.core.units import GB, GIB, KIB, MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import Erase

READ, WRITE, FLUSH = Operation
ALONE_S = 100e-6 + PAGE_BYTES / 500e6


def test_a_read_takes_its_latency_and_the_transfer() -> None:
    took = drive(build(FLASH), anywhere(build(FLASH), 100))
    assert took == pytest.approx([ALONE_S] * 100)


def test_no_more_moves_than_the_link_can_carry() -> None:
    took = drive(build(FLASH), in_order(MIB, 256 * MIB), depth=4)
    assert 4 * 256 * MIB / sum(took) == pytest.approx(500e6, rel=0.02)


def test_a_flush_waits_for_the_writes_before_it() -> None:
    model = build(FLASH)
    model.submit(0.0, 1, WRITE, 0, MIB)
    model.submit(0.0, 2, FLUSH, 0, 0)
    (first, written_s), (second, flushed_s) = model.advance(1.0)
    assert (first, second) == (1, 2)
    assert written_s == pytest.approx(200e-6 + MIB / 250e6)
    assert flushed_s == pytest.approx(written_s + 50e-6)


@pytest.mark.parametrize("depth", [1, 4, 32])
def test_the_controller_takes_no_more_reads_than_it_can(depth: int) -> None:
    model = build(FLASH.model_copy(update={"max_read_iops": p(20_000, "IOPS")}))
    assert iops(model, anywhere(model, 4_000), depth=depth) == pytest.approx(min(20_000, depth / ALONE_S), rel=0.02)


ERASING = FLASH.model_copy(update={"erase": Erase(latency=p(1.5, "ms"), block=p(64, "KiB"))})


def test_flash_that_says_how_it_erases_is_as_any_other_until_it_is_requested() -> None:
    model, plain = build(ERASING), build(FLASH)
    assert drive(model, anywhere(model, 100)) == drive(plain, anywhere(plain, 100))


def test_reads_wait_for_the_channel_that_holds_them_though_others_are_free() -> None:
    model = build(ERASING, erasing=True)
    for tag, page in enumerate((0, 4, 1)):  # of four channels; pages 0 and 4 lie in one
        model.submit(0.0, tag, READ, page * PAGE_BYTES, PAGE_BYTES)
    done = dict(model.advance(1.0))
    assert done[0] == pytest.approx(ALONE_S)
    assert done[1] == pytest.approx(2 * ALONE_S)
    assert done[2] == pytest.approx(done[1] + PAGE_BYTES / 500e6), "on time, but behind on the link, which is first in, first out"


def test_a_block_is_erased_each_time_that_as_much_was_written_and_holds_up_its_channel_alone() -> None:
    model = build(ERASING, erasing=True)
    for number in range(8):  # 64 KiB: one block
        model.submit(0.0, number, WRITE, number * PAGE_BYTES, PAGE_BYTES)
    written_s = max(done_s for _, done_s in model.advance(1e-2))
    model.submit(1e-2, 8, READ, 7 * PAGE_BYTES, PAGE_BYTES)
    assert written_s < 1e-2
    assert dict(model.advance(1.0))[8] == pytest.approx(1e-2 + ALONE_S), "the block is erased by then"
    model.reset()
    for number in range(8):
        model.submit(0.0, number, WRITE, number * PAGE_BYTES, PAGE_BYTES)
    model.submit(written_s, 8, READ, 6 * PAGE_BYTES, PAGE_BYTES)
    model.submit(written_s, 9, READ, 7 * PAGE_BYTES, PAGE_BYTES)
    done = dict(model.advance(1.0))
    assert done[8] == pytest.approx(written_s + ALONE_S)
    assert done[9] == pytest.approx(written_s + 1.5e-3 + ALONE_S)


OLD = FLASH.model_copy(update={"random_write_iops": p(100, "IOPS")})


def test_old_flash_writes_in_order_at_its_rate_but_elsewhere_slowly() -> None:
    model = build(OLD)
    places = ((WRITE, number % 97 * GB, 4 * KIB) for number in range(500))
    assert iops(model, places, depth=8) == pytest.approx(100, rel=0.02)
    model.reset()
    took = drive(model, ((WRITE, number * MIB, MIB) for number in range(256)), depth=4)
    assert 4 * 256 * MIB / sum(took) == pytest.approx(250e6, rel=0.02)


def test_a_write_cache_hides_the_flash_until_it_is_full() -> None:
    model = build(OLD.model_copy(update={"write_cache": cache(battery=True, size_kib=1024)}))
    took = drive(model, anywhere(model, 1_000, operation=WRITE))
    assert took[:128] == pytest.approx([10e-6] * 128)
    assert 500 / sum(took[500:]) == pytest.approx(1 / (1 / 100 + (PAGE_BYTES - 4 * KIB) / 250e6), rel=0.02)


def test_with_capacitors_a_flush_returns_at_once_and_without_it_waits_for_the_flash() -> None:
    for battery, flush_s in ((True, 10e-6), (False, 200e-6 + PAGE_BYTES / 250e6 + 50e-6)):
        model = build(FLASH.model_copy(update={"write_cache": cache(battery=battery)}))
        model.submit(0.0, 1, WRITE, GIB, PAGE_BYTES)
        model.submit(0.0, 2, FLUSH, 0, 0)
        assert apart(model.advance(1.0)) == ([1, 2], pytest.approx([10e-6, flush_s]))
