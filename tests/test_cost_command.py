"""``tierwise cost``: the answer in the shell, with the project's own prices and devices."""

import json
from functools import partial
from typing import Any

import pytest

from support import said, said_as_json
from tierwise.core.errors import InputError, MissingError
from tierwise.core.text_table import WIDTH

DAY = ("--on", "2026-06-30")

run = partial(said, "cost")
requested = partial(said_as_json, "cost", *DAY)


def by(rows: list[dict[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in rows}


@pytest.fixture(scope="module")
def today() -> dict[str, Any]:
    return requested()


def test_each_device_has_its_cost_per_gigabyte_and_per_io(today: dict[str, Any]) -> None:
    for row in today["devices"]:
        assert row["per_gb"] == pytest.approx(row["cost_a_year"] * 5 / row["capacity_gb"])
        assert row["per_iops"] == pytest.approx(row["cost_a_year"] * 5 / row["iops"])
        assert row["iops_evidence"] == "simulated"
    assert len(today["devices"]) > 12


def test_a_device_without_a_price_is_left_out_with_the_reason(today: dict[str, Any]) -> None:
    assert by(today["left_out"], "device")["aws-io2"]["why"] == "the first price is dated 2026-09-30"


def test_a_delivered_read_counts_memory_machine_and_power(today: dict[str, Any]) -> None:
    for row in today["delivered"]:
        assert row["cost_a_year"] == pytest.approx(sum(row["parts_a_year"].values()))
        assert row["per_million_reads"] == pytest.approx(row["cost_a_year"] / (today["load"]["reads_per_s"] * 365.25 * 86400) * 1e6)
        assert row["evidence"] == "mixed"  # a published load on simulated devices
    costs = [row["cost_a_year"] for row in today["delivered"]]
    assert costs == sorted(costs)


def test_a_device_whose_price_is_older_than_its_life_serves_no_load(today: dict[str, Any]) -> None:
    served = {row["device"] for row in today["delivered"]}
    assert "exos-x24-24tb" in served
    assert "crucial-m4" not in served


def test_another_price_moves_the_answer() -> None:
    before, after = requested("--device", "crucial-m4"), requested("--device", "crucial-m4", "--price", "ssd-m4-128gb=125")
    difference = by(before["devices"], "device")["crucial-m4"]["cost_a_year"] - by(after["devices"], "device")["crucial-m4"]["cost_a_year"]
    assert difference == pytest.approx(125 / 5)


def test_beyond_its_limit_a_price_changes_who_comes_first(today: dict[str, Any]) -> None:
    edge = by(today["sensitivity"], "item")["ssd-enterprise"]
    assert edge["first_above"] > edge["now"]
    moved = requested("--price", f"ssd-enterprise={edge['first_above'] * 1.01}")
    assert moved["delivered"][0]["plan"] == edge["then_above"]
    assert today["delivered"][0]["plan"] != edge["then_above"]


def test_source_rs_own_time_has_its_own_prices_and_devices() -> None:
    then = json.loads(run("--on", "2014-07-11", "--format", "json"))
    assert {"crucial-m4", "st3000dm001"} <= {row["device"] for row in then["delivered"]}
    assert by(then["prices"], "item")["ram"]["date"] == "2014-07"
    assert then["without_flash"]["replaces"] == "memory"
    assert then["without_flash"]["cost_a_year"] > 0


def test_published_iops_are_never_filled_up_with_simulated_ones() -> None:
    found = requested("--iops", "published")
    assert {row["iops_evidence"] for row in found["devices"]} == {"published"}
    assert "exos-x24-24tb" in by(found["left_out"], "device")


def test_the_readers_own_load_is_answered() -> None:
    load = ("--data-gib", "1000", "--ram-gib", "64", "--reads-per-s", "5000", "--misses-per-read", "0.2")
    found = requested("--device", "micron-7450", *load)
    assert found["load"] == {"data_gib": 1000, "ram_gib": 64, "reads_per_s": 5000, "misses_per_read": 0.2, "evidence": None}
    assert found["delivered"][0]["evidence"] == "simulated"


def test_the_table_shows_all_parts() -> None:
    shown = run(*DAY)
    assert max(map(len, shown.splitlines())) <= WIDTH
    assert "local-nvme" in shown.splitlines()[0]
    for words in ("per IOPS", "per million reads", "Break-even", "older than a year on 2026-06-30"):
        assert words in shown


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--price", "ram"), "--price is 'ram': must be ITEM=VALUE"),
        (("--price", "ram=dear"), "must be ITEM=VALUE"),
        (("--price", "rum=1"), "item is 'rum': no such item"),
        (("--price", "ram=-1"), "--price: ram is -1.0: must be a number above zero, in USD per 32 GiB"),
        (("--life-years", "0"), "--life-years is 0.0"),
        *((("--" + name.replace("_", "-"), "0"), "is 0.0: must be above zero") for name in ("data_gib", "ram_gib", "reads_per_s")),
        (("--latency-ms", "0.001"), "--latency-ms is 0.001: no device with a price has IOPS at that latency: "),
        (("--latency-ms", "nan"), "--latency-ms is nan: must be above zero"),
        (("--on", "1800-01-01"), "--on is '1800-01-01': no device has a price by then: aws-gp2: the first price is dated 2026"),
        (("--device", "gp3:10GiB,11000IOPS"), "11,000 IOPS is not sold: 3,000 to 5,000 IOPS (IOPS per GiB)"),
        (("--device", "floppy"), "data/devices/floppy.toml: no such file"),
    ],
)
def test_what_cannot_be_is_refused(options: tuple[str, ...], reported: str) -> None:
    with pytest.raises(InputError) as caught:
        run(*DAY, *options)
    assert reported in str(caught.value)


def test_iops_are_those_at_the_latency_that_is_requested() -> None:
    with pytest.raises(InputError, match=r"--latency-ms is 5\.0: exos-x24-24tb: a single read already takes 11"):
        run(*DAY, "--device", "exos-x24-24tb", "--latency-ms", "5")
    quick, slow = (requested("--device", "exos-x24-24tb", "--latency-ms", ms) for ms in ("15", "1000"))
    assert (quick["latency_ms"], slow["latency_ms"]) == (15, 1000)
    assert quick["devices"][0]["iops"] < slow["devices"][0]["iops"] / 2
    intervals_s = [found["break_evens"][0]["by_year_s"] for found in (quick, slow)]
    assert intervals_s[0] > 2 * intervals_s[1], "the dearer a read, the rarer ones memory pays for"
    by_medium = by(requested("exos-x24-24tb", "gp3")["devices"], "device")
    assert {name: row["latency_ms"] for name, row in by_medium.items()} == {"exos-x24-24tb": 30, "gp3": 2}
    assert by_medium["gp3"]["per_iops_month"] == pytest.approx(1024 * 0.08 / 3000)


def test_a_named_device_without_a_price_is_an_error() -> None:
    with pytest.raises(MissingError, match="price of aws-io2-size on 2026-06-30 is missing"):
        run(*DAY, "--device", "aws-io2")


def test_todays_devices_come_first_of_either_kind_the_cheapest_io(today: dict[str, Any]) -> None:
    rows = [(not row["today"], row["per_iops"]) for row in today["devices"]]
    assert rows == sorted(rows)
    assert {"exos-x24-24tb", "kingston-dc600m"} <= {row["device"] for row in today["devices"] if row["today"]}
    assert not by(today["devices"], "device")["crucial-m4"]["today"]


def test_a_volume_is_named_short_and_provisioned_in_its_name() -> None:
    found = by(requested("--device", "gp3", "--device", "gp3:500GiB,6000IOPS")["devices"], "device")
    assert found["gp3"]["cost_a_year"] == pytest.approx(12 * 1024 * 0.08)
    assert found["gp3:500GiB,6000IOPS"]["cost_a_year"] == pytest.approx(12 * (500 * 0.08 + 3000 * 0.005))
    assert found["gp3:500GiB,6000IOPS"]["iops"] == pytest.approx(6000, rel=0.01)
