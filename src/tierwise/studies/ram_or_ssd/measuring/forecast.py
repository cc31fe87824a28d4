"""The simulated Zipfian reads: what each size took at a scale of 64, and in proportion at others; and what reading live beside it takes."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from pydantic import Field

from tierwise.bench.simulation import LIVE
from tierwise.bench.study import Trial
from tierwise.core.units import GIB, MIB
from tierwise.plan.forecast import Forecast, Measured, Prospect, load
from tierwise.simulate.zipf import MEASURED_S, WARM_UP_S
from tierwise.studies.ram_or_ssd.measuring.trials import HOW_LIVE, Cell, LiveCell

SCALE: Final = 64
"""The scale of the simulations that were timed."""
CALIBRATION_BYTES: Final = 256 * MIB


class Live(Measured):
    """Seconds beside those in which files are read, and how far repetitions are apart."""

    open_s: float = Field(description="mounts, the reader's process, calibrations")
    turn_s: float = Field(description="of a live trial beside its reading: eviction, remount, residency")
    model_s: float = Field(description="of its model")
    spreads: dict[str, float] = Field(description="standard deviation of the log throughput between blocks, at quick's scale")


class Constants(Measured):
    """What was measured of the study on one machine."""

    open_s: float = Field(description="kernels loaded, facts at the end (assumed)")
    size_s: float = Field(description="to count how popular the pages of a size are, once a run; at full size nothing is counted")
    seconds: dict[str, dict[int, float]] = Field(description="of one simulation at a scale of 64, by tier and GiB of data")
    spreads: dict[str, float] = Field(description="standard deviation of the log throughput between seeds, at a scale of 64")
    live: Live


def forecast(prospect: Prospect[Cell]) -> Forecast:
    """Return the forecast of the study on one of the pairs of the Zipfian reads; a size that was not timed lies between its neighbours."""
    constants = load("ram_or_ssd", Constants)
    blocks = prospect.profile.blocks_of("ram_or_ssd")
    if any(trial.preparation == LIVE for trial in prospect.trials):
        return _live(prospect.trials, blocks, constants.live)
    once_s = 0.0
    for trial in prospect.trials:
        known = constants.seconds[trial.cell.tier]
        at_64_s = float(np.interp(trial.cell.dataset_gib, list(known), list(known.values())))
        once_s += at_64_s * SCALE / trial.cell.scale
    counted = {trial.cell.dataset_gib for trial in prospect.trials if trial.cell.scale > 1}
    return Forecast(constants.open_s + constants.size_s * len(counted) + blocks * once_s, 0.0, 0.0, constants.spreads)


def _live(trials: Sequence[Trial[Cell]], blocks: int, constants: Live) -> Forecast:
    files = [cell for trial in trials if isinstance(cell := trial.cell, LiveCell) and cell.how == HOW_LIVE]
    once_s = constants.turn_s * len(files) + constants.model_s * (len(trials) - len(files))
    reading_s = sum((WARM_UP_S + MEASURED_S) / cell.scale for cell in files)
    sizes = {(cell.tier, cell.dataset_gib): cell.dataset_gib * GIB / cell.scale for cell in files}
    return Forecast(constants.open_s + blocks * once_s, blocks * reading_s, CALIBRATION_BYTES + sum(sizes.values()), constants.spreads)
