"""The survey's placements: a query waits for its lookups, whose number the profile gives, and one of the four for a table of many rows."""

from pydantic import Field

from tierwise.bench.sizes import Scales, replays_of
from tierwise.bench.study import Trial
from tierwise.core.words import Substrate
from tierwise.datasets import survey
from tierwise.plan.forecast import Forecast, Measured, Prospect, load
from tierwise.studies.survey_placement.measuring import trials as study
from tierwise.studies.survey_placement.measuring.scales import PLACEMENTS


class Constants(Measured):
    """What was measured of the study on one machine, with the survey's emulated pair."""

    source_bytes: float = Field(gt=0, description="all tables and indexes over the sources")
    server_bytes: float = Field(gt=0, description="an empty server and its log")
    open_s: float = Field(description="cluster made, tiers mounted, kernel started, facts at the end; once")
    load_source_s: float = Field(description="a source with all its rows, generated, loaded and indexed")
    cold_pages_s: float = Field(description="a statement run once to count its pages")
    prepare_s: float = Field(description="server started and stopped for a move")
    move_byte_s: float = Field(description="a byte moved to another tier")
    trial_s: float = Field(description="server stopped, caches looked at, started; plan asked for")
    each_s: dict[str, dict[str, float]] = Field(
        description="by query and placement: of a light curve, of those of the variable stars, of a source of the survey that is joined "
        "by a single index, of a source that is joined by several"
    )
    scales_s: float = Field(description="other sizes made beside their sources, and a join of each recorded; once a block")
    requests_source: float = Field(gt=0, description="requests of that join, of a source of the survey")
    replay_request_s: float = Field(description="a request replayed")
    real_share: dict[str, float] = Field(description="seconds of ours that one of the counted clock takes, of a query and of a move")
    moved_bytes: dict[str, float] = Field(description="by placement, of a source: what it has on the SSDs")
    there_and_back_byte_s: float = Field(description="a byte of it, moved there and back with the delays on")
    spreads: dict[str, float] = Field(description="standard deviation of the log ratio to all_hdd between blocks, by placement")


def forecast(prospect: Prospect[study.Cell]) -> Forecast:
    """Return the forecast of the study on `prospect.pair`."""
    constants = load("survey_placement", Constants)
    grid = study.grid(prospect.profile)
    sources = survey.SOURCES * prospect.profile.fraction * grid.share
    size_bytes = sources * constants.source_bytes
    placements = {trial.cell.placement for trial in prospect.trials}
    queries = {trial.cell.query for trial in prospect.trials} - {study.MOVE}
    host_s = constants.open_s + prospect.labs(grid.blocks) * (sources * constants.load_source_s + len(queries) * constants.cold_pages_s)
    host_s += grid.blocks * len(placements) * (constants.prepare_s + size_bytes / 2 * constants.move_byte_s)
    host_s += grid.blocks * len(prospect.trials) * constants.trial_s
    if prospect.pair.name != prospect.profile.today and prospect.pair.substrate is Substrate.EMULATED:
        host_s += grid.blocks * _scales_s(grid.scales, sources, constants)
    device_s = 0.0
    if prospect.pair.substrate is not Substrate.SIMULATED:  # nobody waits for what is replayed
        counts = {"light_curves": grid.light_curves, "variable_light_curves": 1, "join_single": sources, "join_several": grid.joined}

        def devices_s(trial: Trial[study.Cell]) -> float:
            query, placement = trial.cell.query, trial.cell.placement
            if query == study.MOVE:
                return sources * constants.moved_bytes[placement] * constants.there_and_back_byte_s
            return counts[query] * constants.each_s[query][placement]

        def real_s(trial: Trial[study.Cell]) -> float:
            return prospect.real_s(devices_s(trial), constants.real_share["move" if trial.cell.query == study.MOVE else "query"])

        asked_s = grid.blocks * sum(map(real_s, prospect.trials))
        host_s, device_s = (host_s + asked_s, device_s) if prospect.counted else (host_s, asked_s)
        host_s += len(prospect.waited) * (constants.trial_s + constants.prepare_s + size_bytes / 2 * constants.move_byte_s)
        device_s += sum(map(devices_s, prospect.waited))
    copies = 2 + (sum(grid.scales.shares) if grid.scales else 0.0)
    return Forecast(host_s, device_s, copies * size_bytes + constants.server_bytes, constants.spreads)


def _scales_s(scales: Scales | None, sources: float, constants: Constants) -> float:
    """Seconds of the host for one join at several sizes, in a block."""
    if scales is None:
        return 0.0
    asked = [round(share * sources * constants.requests_source) for share in (*scales.shares, 1.0)]
    replayed = sum(replays_of(size, scales.requests) * size for size in asked)
    return (
        constants.scales_s
        + sum(scales.shares) * sources * constants.load_source_s
        + len(PLACEMENTS) * replayed * constants.replay_request_s
    )
