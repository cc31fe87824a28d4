"""What a thousand operations a second cost: by hand, on one machine with one disk."""

import datetime as dt

import pytest

from tierwise.advisor.operations import Operated, Place, priced
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import load_book
from tierwise.costs.hardware import device_bill, load_hardware, ram_bill, server_bill

BOOK = load_book(dt.date(2026, 11, 26))
DEVICES = {"hdd": "st3000dm001", "ssd": "crucial-m4"}


def operated(*places: Place, pair: str = "source-v") -> Operated:
    return Operated("A workload", "read", pair, Evidence.EMULATED, 4 * GIB, DEVICES, places)


def test_each_part_is_charged_at_its_largest_share() -> None:
    """A read of 10 ms, of which the disk serves 8 and a processor 1: 8 disks, 40 GiB of memory, and servers by the four bays of each."""
    (found,) = priced(operated(Place("all on HDD", 0.010, 0.001, {"hdd": 0.008}, {"hdd": 0.0})), BOOK)
    then, server = load_book(load_hardware().settings["source-v"].day), load_hardware().servers["microserver-gen8"]
    disks, memory = device_bill("st3000dm001", then).cost(then) * 8, ram_bill(40 * GIB).cost(then)
    servers = server_bill(server).cost(then) * max(10 * 4 / 16, 1, 8 / 4)
    assert found.shared == pytest.approx((disks + memory + servers) / 12)


def test_whole_machines_have_all_of_their_drives_all_of_the_time() -> None:
    slow, fast = priced(
        operated(Place("slow", 0.0101, 0.001, {"hdd": 0.008}, {"hdd": 0.0}), Place("fast", 1e-6, 1e-6, {"ssd": 1e-6}, {"ssd": 0.0})), BOOK
    )
    assert slow.whole is not None
    assert fast.whole is not None
    assert fast.shared is not None
    assert slow.whole > (slow.shared or 0.0)
    assert fast.whole > 100 * fast.shared, "one whole machine does more than a thousand"


def test_data_that_fill_a_drive_take_all_of_it() -> None:
    full, idle = priced(
        operated(Place("full", 1.0, 0.0, {"ssd": 0.1}, {"ssd": 128e9}), Place("idle", 1.0, 0.0, {"ssd": 0.1}, {"ssd": 0.0})), BOOK
    )
    assert (full.shared or 0.0) > (idle.shared or 0.0)


def test_what_has_no_price_says_so() -> None:
    (real,) = priced(
        Operated("A workload", "read", "local", Evidence.MEASURED, GIB, {"hdd": ""}, (Place("all", 1, 0, {}, {"hdd": 0}),)), BOOK
    )
    assert real.shared is None
    assert real.missing
