"""Defaults that a help text gives as numbers are those of the data."""

import re

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from tierwise.cli import app
from tierwise.core.units import GIB
from tierwise.costs.delivered import published_load
from tierwise.costs.hardware import load_hardware
from tierwise.costs.iops import LATENCY_MS
from tierwise.recorders.reads import MOST_READS
from tierwise.scans.options import ScanMethod
from tierwise.scans.processor import load_processor

LOAD, PROCESSOR = published_load().load, load_processor()
NUMBERS: dict[tuple[str, str], list[float]] = {
    ("cost", "data_gib"): [LOAD.data_bytes / GIB],
    ("cost", "ram_gib"): [LOAD.ram_bytes / GIB],
    ("cost", "reads_per_s"): [LOAD.reads_per_s],
    ("cost", "misses_per_read"): [round(LOAD.misses_per_read, 3)],
    ("cost", "life_years"): [load_hardware().assumptions.life_years.value],
    ("cost", "latency_ms"): [LATENCY_MS["ssd"], LATENCY_MS["hdd"]],
    ("predict-scan", "cpu_us_per_row"): [1e6 * PROCESSOR.row(method).base for method in ScanMethod],
    ("predict-scan", "cpu_speed"): [PROCESSOR.speed.value],
    ("trace", "out"): [MOST_READS],
}


@pytest.mark.parametrize(("command", "option"), NUMBERS)
def test_a_number_in_the_help_is_that_of_the_data(command: str, option: str) -> None:
    grouped = get_command(app)
    assert isinstance(grouped, TyperGroup)
    text = next(str(getattr(one, "help", "")) for one in grouped.commands[command].params if one.name == option)
    for number in NUMBERS[command, option]:
        assert re.search(rf"(?<![\d.]){number:,.6g}(?!\d|,\d)", text), text
