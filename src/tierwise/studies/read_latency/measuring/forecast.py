"""The latency study's windows: their own length, and what is done around them; the load waits for devices only within."""

from typing import Final

from pydantic import Field

from tierwise.core.units import MIB
from tierwise.plan.forecast import Forecast, Measured, Prospect, load
from tierwise.studies.read_latency.measuring.trials import CACHED_MIB, NAME, Cell, Grid

OTHER_SHARE: Final = 0.25
"""The size of the table on any other tier, over that of the table on hdd."""


class Constants(Measured):
    """What was measured of the study on one machine."""

    open_s: float = Field(description="cluster made, tiers mounted, and all put away again")
    load_mib_s: float = Field(description="to load a MiB of table and index")
    window_s: float = Field(description="around each window: restart, warming, reading what was recorded")
    bpftrace_s: float = Field(description="more of it where bpftrace records, which compiles its program first")
    real_share: float = Field(description="seconds of ours that one of the counted clock takes")
    describe_s: float = Field(description="replay of one window's reads on every tier, in proportion to its length")
    server_bytes: float = Field(description="of an empty cluster, with its log")
    spreads: dict[str, float] = Field(description="standard deviation of the log of L4's ratio between windows")


def forecast(prospect: Prospect[Cell]) -> Forecast:
    """Return the forecast of the study on one pair; nothing where it has no trial."""
    if not prospect.trials:
        return Forecast(0.0, 0.0, 0.0, {})
    constants, grid = load(NAME, Constants), prospect.profile.study(NAME, Grid)
    tables_mib = CACHED_MIB + grid.table_mib * (1 + OTHER_SHARE * (len(prospect.pair.tiers) - 1))
    blocks = prospect.profile.blocks_of("read_latency")
    windows, recorded = blocks * len(prospect.trials), len(prospect.waited)
    traced = recorded if prospect.counted else windows
    host_s = constants.open_s + prospect.labs(blocks) * tables_mib * constants.load_mib_s + grid.window_s * constants.describe_s
    host_s += (windows + recorded) * constants.window_s + traced * (constants.bpftrace_s if grid.recorders[:1] == ("bpftrace",) else 0.0)
    counted_s = windows * grid.window_s
    host_s += counted_s * constants.real_share if prospect.counted else 0.0
    device_s = recorded * grid.window_s + (0.0 if prospect.counted else counted_s)
    return Forecast(host_s, device_s, constants.server_bytes + tables_mib * MIB * 1.2, constants.spreads)
