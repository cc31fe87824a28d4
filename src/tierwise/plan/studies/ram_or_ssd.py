"""Source R's simulation: what each size took at a scale of 64, and in proportion at others. It waits for no device and needs no disk."""

from typing import Final

import numpy as np
from pydantic import Field

from tierwise.plan.forecast import Forecast, Measured, Prospect, load

SCALE: Final = 64
"""Of the simulations that were timed."""


class Constants(Measured):
    """What was measured of the study on one machine."""

    open_s: float = Field(description="kernels loaded, facts at the end (assumed)")
    seconds: dict[str, dict[int, float]] = Field(description="of one simulation at a scale of 64, by tier and GiB of data")
    spreads: dict[str, float] = Field(description="standard deviation of the log throughput between seeds, at a scale of 64")


def forecast(prospect: Prospect) -> Forecast:
    """Of the study on source R's pair; a size that was not timed lies between its neighbours."""
    constants = load("ram_or_ssd", Constants)
    once_s = 0.0
    for trial in prospect.trials:
        known = constants.seconds[str(trial.cell["tier"])]
        at_64_s = float(np.interp(int(trial.cell["dataset_gib"]), list(known), list(known.values())))
        once_s += at_64_s * SCALE / int(trial.cell["scale"])
    return Forecast(constants.open_s + prospect.profile.blocks * once_s, 0.0, 0.0, constants.spreads)
