"""The pgbench study's windows: what lies between two of them grows with the data, the windows wait for the clock and for a checkpoint."""

from typing import Final

from pydantic import Field

from tierwise.bench.study import Trial
from tierwise.core.units import PAGE_BYTES
from tierwise.plan.forecast import Forecast, Measured, Prospect, load
from tierwise.studies.pgbench_placement.measuring import trials as study
from tierwise.studies.pgbench_placement.measuring.cells import Cell
from tierwise.studies.pgbench_placement.measuring.flip_map import COMPARED
from tierwise.studies.pgbench_placement.measuring.scales import PLACEMENTS as SCALED
from tierwise.studies.pgbench_placement.measuring.trials import Grid

WAL_BYTES: Final = 1_000_000_000
"""Log files that a server keeps for reuse while it is measured; they are removed with it."""
BY_TYPE: Final = 5
"""Placements that each point of the flip map is replayed on: those by type, and by heat."""
CACHES: Final = 20
"""What the caches before the disks cost, in such placements: they are warmed first."""


class Constants(Measured):
    """What was measured of the study on one machine and pair."""

    row_bytes: float = Field(gt=0, description="table and indexes over the rows of pgbench_accounts")
    server_bytes: float = Field(gt=0, description="an empty server")
    open_s: float = Field(description="cluster made, tiers mounted, kernel started, facts at the end; once")
    fill_s: float = Field(description="a server made for a set and stopped; once a set")
    fill_row_s: float = Field(description="a row of it filled and aged")
    trial_s: float = Field(description="server stopped and started, its own files put back, the load ended")
    restore_byte_s: float = Field(description="a byte of the set put back on its tier")
    lookup_s: float = Field(description="a lookup that fills the caches")
    checkpoint: dict[str, float] = Field(description="checkpoint over the time that pages were dirtied before it, by the table's tier")
    real_share: dict[str, float] = Field(description="seconds of ours that one of the counted clock takes, by the table's tier")
    real_slowdown: float = Field(description="of the tiers, at which real_share was measured; the slower they are, the fewer transactions")
    map_s: float = Field(description="a simulated transaction on one placement")
    spreads: dict[str, float] = Field(description="standard deviation of the log gain over everything on hdd between blocks, by placement")


def forecast(prospect: Prospect[Cell]) -> Forecast:
    """Return the forecast of the study on `prospect.pair`."""
    constants = load("pgbench_placement", Constants)
    grid = study.grid_on(prospect.profile, prospect.pair)
    asked = prospect.trials
    if not asked:
        return Forecast(0.0, 0.0, 0.0, {})
    databases = {trial.cell.database: grid.rows_of(trial.cell.size) for trial in asked}
    host_s = constants.open_s + prospect.labs(grid.blocks) * sum(
        constants.fill_s + rows * constants.fill_row_s for rows in databases.values()
    )
    device_s = 0.0

    def around_s(trial: Trial[Cell]) -> float:
        memory_bytes = trial.cell.memory * study.PUBLISHED_MEMORY * grid.rows_of("large") * constants.row_bytes
        return (
            constants.trial_s
            + databases[trial.cell.database] * constants.row_bytes * constants.restore_byte_s
            + study.FILL * memory_bytes / PAGE_BYTES * constants.lookup_s
            + grid.warming_s(trial.cell.skew or 0.0)
        )

    for trial in asked:
        window_s = grid.blocks * prospect.real_s(_window_s(trial, grid, constants), _real_share(trial, constants))
        host_s += grid.blocks * around_s(trial) + (window_s if prospect.counted else 0.0)
        device_s += 0.0 if prospect.counted else window_s
    for trial in prospect.waited:
        host_s, device_s = host_s + around_s(trial), device_s + _window_s(trial, grid, constants)
    if grid.flip_map:
        placements = BY_TYPE + (CACHES if grid.flip_map.caches else 0)
        simulated = len(grid.flip_map.points) * grid.flip_map.seeds * grid.flip_map.transactions
        host_s += simulated * placements * constants.map_s
    if grid.left_open:
        host_s += len(grid.left_open.points) * grid.left_open.seeds * grid.left_open.transactions * len(COMPARED) * constants.map_s
    if grid.scales:
        host_s += len(grid.scales.scales) * grid.scales.seeds * grid.scales.transactions * len(SCALED) * constants.map_s
    copies_bytes = (sum(databases.values()) + max(databases.values())) * constants.row_bytes
    disk_bytes = copies_bytes + (len(databases) + 1) * constants.server_bytes + WAL_BYTES
    moved = {name for name, tiers in study.PLACEMENTS.items() if tiers in {(trial.cell.table, trial.cell.index) for trial in asked}}
    return Forecast(host_s, device_s, disk_bytes, {name: spread for name, spread in constants.spreads.items() if name in moved})


def _real_share(trial: Trial[Cell], constants: Constants) -> float:
    """Seconds of ours in one of the counted clock; at a lesser slowdown than was measured, what was measured."""
    return constants.real_share[trial.cell.table] * min(1.0, constants.real_slowdown / trial.cell.slowdown)


def _window_s(trial: Trial[Cell], grid: Grid, constants: Constants) -> float:
    """Seconds of one window by the clock of the tiers: but not before its checkpoint is done and as long again as before it has passed."""
    window_s = grid.window_s[trial.cell.table]
    before_s = window_s / 4
    checkpoint_s = constants.checkpoint[trial.cell.table] * (grid.settle_s + before_s)
    return grid.settle_s + max(window_s, 2 * before_s + checkpoint_s)
