"""A window costs what lies around it, and so many of our seconds for each of the counted clock, by where the log lies."""

from pydantic import Field

from tierwise.bench.study import Trial
from tierwise.plan.forecast import Forecast, Measured, Prospect, load
from tierwise.studies.wal_placement.measuring import trials as study
from tierwise.studies.wal_placement.measuring.trials import Cell


class Constants(Measured):
    """What was measured of the study on one machine and pair."""

    open_s: float = Field(description="cluster made, tiers mounted, kernel started, facts at the end; once")
    fill_s: float = Field(description="the database filled and aged, once a block")
    move_s: float = Field(description="the log moved to another tier")
    trial_s: float = Field(description="server started and stopped, pages and caches warmed, the load begun and ended")
    disk_bytes: float = Field(gt=0, description="server, its log and a small database")
    real_share: dict[str, float] = Field(description="seconds of ours that one of the counted clock takes, by where the log lies")
    spreads: dict[str, float] = Field(description="standard deviation of the log ratio between blocks, by ratio")


def forecast(prospect: Prospect[Cell]) -> Forecast:
    """Return the forecast of the study on `prospect.pair`."""
    constants, asked = load(study.NAME, Constants), study.grid(prospect.profile)
    if not prospect.trials:
        return Forecast(0.0, 0.0, 0.0, {})

    def window_s(trial: Trial[Cell]) -> float:
        return asked.settle_s + asked.window_s[trial.cell.wal]

    moves = len({trial.cell.wal for trial in prospect.trials})
    host_s = constants.open_s + asked.blocks * (constants.fill_s + len(prospect.trials) * constants.trial_s + moves * constants.move_s)
    windows_s = asked.blocks * sum(prospect.real_s(window_s(one), constants.real_share[one.cell.wal]) for one in prospect.trials)
    host_s += windows_s if prospect.counted else 0.0
    host_s += len(prospect.waited) * (constants.trial_s + constants.move_s)
    device_s = sum(map(window_s, prospect.waited)) + (0.0 if prospect.counted else windows_s)
    return Forecast(host_s, device_s, constants.disk_bytes, constants.spreads)
