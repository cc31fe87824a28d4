"""A real disk as a model: flash that does what a calibration with direct reads found."""

from collections.abc import Mapping
from functools import partial

from tierwise.core.units import KIB, MB
from tierwise.devices.parameter import Parameter
from tierwise.devices.spec import SsdSpec

READ_BYTES = 8 * KIB  # the size of the random reads of `tiers.directory.calibrate`, in bytes
JOBS = 8
SOURCE = "calibration of this machine's disk"


def calibrated_flash(figures: Mapping[str, float]) -> SsdSpec:
    """Return flash with the figures of `tiers.directory.Calibration`; what it does with writes is not modelled, and takes no time."""
    rate = figures["sequential_read_bytes_per_s"]
    latency_s = max(0.0, figures["random_read_latency_s"] - READ_BYTES / rate)
    read = partial(Parameter, source=SOURCE)
    return SsdSpec(
        kind="ssd",
        name="a real disk",
        description="as calibrated with direct reads",
        capacity=read(value=1, unit="TB"),
        channels=read(value=JOBS, unit="1"),
        read_latency=read(value=latency_s, unit="s"),
        write_latency=read(value=0, unit="s"),
        flush_latency=read(value=0, unit="s"),
        read_rate=read(value=rate / MB, unit="MB/s"),
        write_rate=read(value=rate / MB, unit="MB/s"),
        max_read_iops=read(value=figures["random_read_iops_8jobs"], unit="IOPS"),
    )
