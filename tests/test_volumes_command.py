"""``tierwise volumes``: the answer in the shell, with the project's own prices, volumes and machines."""

from functools import partial
from typing import Any

import pytest

from support import said, said_as_json
from tierwise.core.errors import InputError
from tierwise.core.text_table import WIDTH
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec

DAY = ("--on", "2026-11-22")
WISH = ("--gib", "500", "--iops", "6000", "--mibs", "200")

run = partial(said, "volumes", *DAY)
requested = partial(said_as_json, "volumes", *DAY)


def by(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {offer["volume"]: offer for offer in found["offers"]}


@pytest.fixture(scope="module")
def wish() -> dict[str, Any]:
    return requested(*WISH, "--latency-ms", "2")


def test_each_provider_offers_and_the_cheapest_comes_first(wish: dict[str, Any]) -> None:
    assert {offer["provider"] for offer in wish["offers"]} == {"aws", "azure", "gcp"}
    priced = [offer["per_month"] for offer in wish["offers"] if offer["per_month"] is not None]
    assert priced == sorted(priced)
    gp3 = by(wish)["aws-gp3"]
    assert gp3["per_month"] == pytest.approx(500 * 0.08 + 3000 * 0.005 + 75 * 0.04)
    assert by(wish)["gcp-hyperdisk-balanced"]["per_month"] == pytest.approx(500 * 0.08 + 3000 * 0.005 + 60 * 0.04)


def test_a_volume_whose_price_was_read_on_no_page_stands_last_and_without_money(wish: dict[str, Any]) -> None:
    assert wish["offers"][-1]["volume"] == "azure-local-ssd"
    assert wish["offers"][-1]["per_month"] is None
    shown = run(*WISH).splitlines()
    assert "57.40" in shown[0]
    assert max(map(len, shown)) <= WIDTH


def test_the_machine_binds_where_it_has_the_least_to_spare(wish: dict[str, Any]) -> None:
    """200 MiB/s are too much for an m7i.xlarge, which takes 149; of the next one's 298 they are two thirds."""
    gp3 = by(wish)["aws-gp3"]
    assert (gp3["machine"]["name"], gp3["binds"]) == ("m7i.2xlarge", "298 MiB/s of m7i.2xlarge")
    assert gp3["used"] == pytest.approx(200 / 298, rel=0.01)


def test_two_volumes_are_taken_where_one_is_not_enough() -> None:
    gp3 = by(requested("--gib", "500", "--iops", "120000", "--mibs", "200"))["aws-gp3"]
    assert (gp3["count"], gp3["iops"]) == (2, 60_000)


def test_the_band_of_a_latency_reaches_the_answer() -> None:
    strict = requested(*WISH, "--latency-ms", "0.7")
    assert by(strict)["aws-gp3"]["latency"]["meets"] == "open: within the band"
    assert by(strict)["aws-io2"]["latency"]["meets"] == "yes"
    assert by(strict)["gcp-hyperdisk-balanced"]["latency"]["low_ms"] == pytest.approx(0.2)
    hard = requested(*WISH, "--latency-ms", "0.3")
    gone = {each["volume"]: each["why"] for each in hard["refused"]}
    assert gone["aws-gp3"] == "a read takes 0.5 to 2 ms, assumed"
    assert gone["aws-io2"] == "a read takes 0.5 ms"
    assert "assumed" in run(*WISH)


def test_memory_pays_exactly_from_the_break_even_on(wish: dict[str, Any]) -> None:
    """A GiB more of memory is what an r7i costs more than the m7i with as many processors; a read a second of gp3 half a cent a month."""
    memory = by(wish)["aws-gp3"]["memory"]
    assert memory["gib_month"] == pytest.approx((0.5292 - 0.4032) / 32 * 730.5)
    assert memory["reads_per_s"] == pytest.approx(memory["gib_month"] / 0.005)
    assert memory["cheaper"] is None
    for reads, cheaper in ((memory["reads_per_s"] * 0.99, False), (memory["reads_per_s"] * 1.01, True)):
        assert by(requested(*WISH, "--reads-per-gib", str(reads)))["aws-gp3"]["memory"]["cheaper"] is cheaper


def test_what_was_read_more_than_a_year_before_is_stamped(wish: dict[str, Any]) -> None:
    warnings = "\n".join(requested(*WISH)["warnings"])
    assert "older than a year on 2026-11-22: aws-st1" not in warnings
    assert "aws-st1: 11 of its values are older than a year on 2026-11-22: read of 2023-06-15" in warnings
    assert "gcp-local-ssd-size (2025-06)" in warnings
    assert "gcp-c4d-standard-2 (2025-06)" in warnings, "the price of the machine is stamped too"
    assert "azure-premium-ssd-v2:" not in warnings, "its page is of August 2026"


@pytest.mark.parametrize("option", ["--gib", "--iops", "--mibs", "--latency-ms", "--read-kib", "--reads-per-gib"])
def test_what_cannot_be_is_refused(option: str) -> None:
    with pytest.raises(InputError, match=f"{option} is 0.0: must be above zero"):
        run(*WISH, option, "0")


def test_no_offer_exceeds_what_the_file_says_is_sold() -> None:
    for offer in requested("--gib", "3", "--iops", "20000", "--mibs", "900")["offers"]:
        spec = load_device(offer["volume"])
        if isinstance(spec, CloudSpec):
            size_bytes = offer["gib"] * 2**30
            assert offer["iops"] <= spec.limits.iops_of(size_bytes).value * (1 + 1e-9)
            assert offer["mib_s"] * 2**20 <= spec.limits.rate_of(size_bytes, offer["iops"]).value * (1 + 1e-9)
