"""The survey's subsystems: each gets a copy, once; what a trial waits for grows with the rows, what lies around it hardly does."""

from pydantic import Field

from tierwise.bench.study import Trial
from tierwise.core.words import Substrate
from tierwise.datasets import sky
from tierwise.plan.forecast import Forecast, Measured, Prospect, load
from tierwise.studies.survey_arrays.measuring import trials as study


class Constants(Measured):
    """What was measured of the study on one machine, with the survey's emulated pair."""

    row_bytes: float = Field(gt=0, description="table and indexes over the rows")
    server_bytes: float = Field(gt=0, description="an empty server and its log")
    open_s: float = Field(description="cluster made, tiers mounted, kernel started, facts at the end; once")
    load_row_s: float = Field(description="a row loaded and indexed, once a subsystem")
    cold_pages_s: float = Field(description="a statement run once to count its pages")
    trial_s: float = Field(description="server stopped, caches looked at, started; plan asked for")
    real_share: dict[str, float] = Field(description="seconds of ours that one of the counted clock takes, by tier")
    hunt_s: float = Field(description="a request of each way of reading, simulated on every tier")
    device_row_s: dict[str, dict[str, float]] = Field(description="of a query, over the rows, by query and tier")
    spreads: dict[str, float] = Field(description="standard deviation of the log gain over hdd between blocks, by query and tier")


def forecast(prospect: Prospect[study.Cell]) -> Forecast:
    """Return the forecast of the study on `prospect.pair`, with synthetic rows."""
    constants = load("survey_arrays", Constants)
    grid = study.grid(prospect.profile)
    rows = sky.ROWS * prospect.profile.fraction * sky.PROFILE_SHARE * grid.share
    size_bytes = rows * constants.row_bytes
    copies = len({trial.preparation for trial in prospect.trials})
    statements = len(study.queries(prospect.profile))
    host_s = constants.open_s + prospect.labs(grid.blocks) * (copies * rows * constants.load_row_s + statements * constants.cold_pages_s)
    host_s += grid.blocks * len(prospect.trials) * constants.trial_s
    host_s += grid.hunt.requests * grid.hunt.seeds * constants.hunt_s
    device_s = 0.0
    if prospect.pair.substrate is not Substrate.SIMULATED:  # nobody waits for what is replayed

        def devices_s(trial: Trial[study.Cell]) -> float:
            return rows * constants.device_row_s[trial.cell.query][trial.cell.tier]

        asked_s = grid.blocks * sum(prospect.real_s(devices_s(trial), constants.real_share[trial.cell.tier]) for trial in prospect.trials)
        host_s, device_s = (host_s + asked_s, device_s) if prospect.counted else (host_s, asked_s)
        host_s += len(prospect.waited) * constants.trial_s
        device_s += sum(map(devices_s, prospect.waited))
    return Forecast(host_s, device_s, copies * size_bytes + constants.server_bytes, constants.spreads)
