"""The command `predict-scan`: its answer, its defaults, and what it refuses."""

import json

import pytest
from typer.testing import CliRunner, Result

from tierwise.cli import app
from tierwise.scans.rows import Table, touched_pages

OPTIONS = {
    "--device": "local-nvme",
    "--pages": "20000",
    "--rows": "400000",
    "--selectivity": "0.01",
    "--correlation": "0.9",
    "--method": "bitmap",
    "--cache": "cold",
}


def command(**changed: str) -> Result:
    options = OPTIONS | {"--" + name.replace("_", "-"): value for name, value in changed.items()}
    return CliRunner().invoke(app, ["predict-scan", *(word for option in options.items() for word in option)])


def test_the_answer_has_its_keys_and_postgresqls_defaults() -> None:
    found = json.loads(command(format="json").stdout)
    assert {"time_s", "low_s", "high_s", "pages"} <= found.keys()
    assert 0 < found["low_s"] < found["time_s"] < found["high_s"]
    assert found["pages"] == round(touched_pages(Table(20_000, 400_000, 0.9, 0.01)))
    assert found == json.loads(command(format="json", io_method="worker", io_workers="3", effective_io_concurrency="16").stdout), (
        "and it is the same again"
    )
    assert "parallel" in found["notes"][0]
    assert set(found["fitted"]) == {"read_latency", "ordered_read_latency"}
    assert found["cpu_source"].startswith("measured")
    assert json.loads(command(format="json", device="kingston-dc600m").stdout)["fitted"] == {}
    assert f"{found['pages']:,} distinct pages" in command().stdout
    assert "every process has a processor" in command().stdout
    assert "2 processors for all processes" in command(processors="2").stdout


def test_the_cost_of_a_row_is_an_input() -> None:
    slow, quick = (json.loads(command(cache="warm", method="sequential", cpu_us_per_row=us, format="json").stdout) for us in ("2", "1"))
    assert slow["time_s"] - quick["time_s"] == pytest.approx(400_000e-6)
    slow, quick = (json.loads(command(cache="warm", cpu_speed=speed, format="json").stdout) for speed in ("1", "2"))
    assert slow["time_s"] == pytest.approx(2 * quick["time_s"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pages": "0"}, "--pages is 0: must be 1 to 4294967294"),
        ({"rows": "9000000"}, "--rows is 9000000: must be 1 to 5820000"),
        ({"selectivity": "-0.1"}, "--selectivity is -0.1: must be 0 to 1"),
        ({"correlation": "1.5"}, "--correlation is 1.5: must be -1 to 1"),
        ({"io_workers": "0"}, "--io-workers is 0: must be 1 to 32"),
        ({"processors": "0"}, "--processors is 0: must be 1 to 4096"),
        ({"cpu_speed": "0"}, "--cpu-speed is 0.0: must be above 0"),
        ({"cpu_us_per_row": "-1"}, "--cpu-us-per-row is -1.0: must be above 0"),
        ({"device": "drum"}, "data/devices/drum.toml: no such file"),
        ({"pages": "4000000000", "rows": "4000000000"}, "--pages is 4000000000: must fit on local-nvme"),
    ],
)
def test_bad_input_is_one_line_and_status_2(changed: dict[str, str], message: str) -> None:
    done = command(**changed)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"tierwise: {message}")
    assert done.stderr.count("\n") == 1
