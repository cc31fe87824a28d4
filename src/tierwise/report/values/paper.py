"""The numbers of the paper: those of the verdicts, and how far its clock is from real time."""

from typing import Final

import polars as pl

from tierwise.analysis.rules import CLEARLY_ABOVE_ONE
from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.report.values import verdicts
from tierwise.report.values.provenance import clocks, number_of_parameters, parameters

NEAR: Final = CLEARLY_ABOVE_ONE.apart
"""The most by which a virtual rate should differ from the real one, either way: what an order of two times rests on."""


def values(run: Run, pair: str = "") -> dict[str, Value]:
    rates = clocks(run).filter(pl.col("what") == "rate", pl.col("flags").list.len() == 0)["ratio"]
    of_devices = number_of_parameters(parameters(run))
    far = rates.filter((rates > NEAR) | (rates < 1 / NEAR))
    return verdicts.values(run, pair) | {
        "todays": bool(run.manifest.todays_pairs),
        "parameters": of_devices["parameters"],
        "assumed": of_devices["assumed"],
        "clock_rates": len(rates),
        "clock_far": len(far),
        "clock_near": NEAR - 1,
        "clock_most": max((max(rate, 1 / rate) - 1 for rate in far), default=0.0),
    }
