"""``tierwise volumes``: the answer in the shell, with the project's own prices, volumes and machines."""

from functools import partial
from typing import Any

import pytest
from typer.testing import CliRunner

from support import said, said_as_json
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.core.text_table import WIDTH
from tierwise.devices.instances import load_instances

DAY = ("--on", "2026-11-22")
WISH = ("--gib", "500", "--iops", "6000", "--mibs", "200")

run = partial(said, "volumes", *DAY)
requested = partial(said_as_json, "volumes", *DAY)


def by(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {offer["volume"]: offer for offer in found["offers"]}


@pytest.fixture(scope="module")
def wish() -> dict[str, Any]:
    return requested(*WISH, "--latency-ms", "2")


def test_each_provider_offers_and_the_cheapest_total_comes_first(wish: dict[str, Any]) -> None:
    assert {offer["provider"] for offer in wish["offers"]} == {"aws", "azure", "gcp"}
    for offer in wish["offers"]:
        assert offer["total"] == pytest.approx(offer["per_month"] + offer["machine"]["per_month"])
    shown = run(*WISH).splitlines()
    assert wish["offers"][0]["machine"]["name"] in shown[0]
    assert max(map(len, shown)) <= WIDTH


def test_requirements_that_nothing_meets_end_with_exit_code_2_and_a_next_step() -> None:
    done = CliRunner().invoke(app, ["volumes", *DAY, *WISH, "--vcpus", "9000"])
    assert done.exit_code == 2
    assert "Next step: " in done.output
    assert "has the requested vCPUs" in done.output


def test_local_disks_are_ranked_with_the_machine_that_has_them(wish: dict[str, Any]) -> None:
    local = by(wish)["aws-local-ssd"]
    there = load_instances("aws")
    assert there is not None
    machine = there.instances[local["machine"]["name"]]
    assert machine.local_count * there.local_bytes(local["machine"]["name"]) >= 500 * 2**30
    assert (machine.local_read_iops or 0) >= 6000
    assert (local["per_month"], local["total"]) == (0, local["machine"]["per_month"])


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


def test_what_was_read_more_than_a_year_before_is_stamped(wish: dict[str, Any]) -> None:
    warnings = "\n".join(requested(*WISH)["warnings"])
    assert "older than a year on 2026-11-22: aws-st1" not in warnings
    assert "aws-st1: 11 of its values are older than a year on 2026-11-22: read of 2023-06-15" in warnings
    assert "gcp-c4d-standard-2 (2025-06)" in warnings, "the price of the machine is stamped too"
    assert "azure-premium-ssd-v2:" not in warnings, "its page is of August 2026"


@pytest.mark.parametrize("option", ["--gib", "--iops", "--mibs", "--latency-ms", "--read-kib", "--reads-per-gib", "--pieces"])
def test_what_cannot_be_is_refused(option: str) -> None:
    with pytest.raises(InputError, match=f"{option} is 0(.0)?: must be above zero"):
        run(*WISH, option, "0")
