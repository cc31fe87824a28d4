"""Two copies are loaded, once; then every trial stops and starts the server."""

from pydantic import Field

from tierwise.bench.study import Cell
from tierwise.plan.forecast import Forecast, Measured, Prospect, load


class Constants(Measured):
    """What was measured of the study on one machine."""

    open_s: float = Field(description="cluster made, tiers mounted, both copies loaded; once")
    trial_s: float = Field(description="the server started three times: files, blocks, the query itself")
    server_bytes: float = Field(gt=0, description="an empty server and its log, and two small copies")
    spreads: dict[str, float] = Field(description="standard deviation of the log ratio between blocks")


def forecast(prospect: Prospect[Cell]) -> Forecast:
    """Return the forecast of the study on `prospect.pair`."""
    constants = load("toy_x", Constants)
    executions = prospect.profile.blocks_of("toy_x") * len(prospect.trials) + len(prospect.waited)
    return Forecast(constants.open_s + executions * constants.trial_s, 0.0, constants.server_bytes, constants.spreads)
