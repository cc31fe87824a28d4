"""A real disk as a model: flash that does what a calibration with direct reads found."""

from collections.abc import Mapping

from tierwise.core.units import KIB, MB
from tierwise.devices.parameter import Parameter
from tierwise.devices.spec import SsdSpec

READ_BYTES = 8 * KIB
"""The size of the random reads of `tiers.directory.calibrate`, in bytes."""
JOBS = 8
SOURCE = "calibration of this machine's disk"


def calibrated_flash(figures: Mapping[str, float]) -> SsdSpec:
    """Return flash with the figures of `tiers.directory.Calibration`; what it does with writes is not modelled, and takes no time."""
    rate = figures["sequential_read_bytes_per_s"]
    latency_s = max(0.0, figures["random_read_latency_s"] - READ_BYTES / rate)

    def read(value: float, unit: str) -> Parameter:
        return Parameter(value=value, unit=unit, source=SOURCE)

    return SsdSpec(
        kind="ssd",
        name="a real disk",
        description="as calibrated with direct reads",
        capacity=read(1, "TB"),
        channels=read(JOBS, "1"),
        read_latency=read(latency_s, "s"),
        write_latency=read(0, "s"),
        flush_latency=read(0, "s"),
        read_rate=read(rate / MB, "MB/s"),
        write_rate=read(rate / MB, "MB/s"),
        max_read_iops=read(figures["random_read_iops_8jobs"], "IOPS"),
    )
