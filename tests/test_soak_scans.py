"""What a scan is predicted to take beside what a real server takes on an emulated drive: 45 cells, by each way of reading."""

import pytest
import scan_prediction

from emulation import need_fuse
from tierwise.core import session_group
from tierwise.scans.options import IoMethod

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(session_group.obstacle() is not None, reason=str(session_group.obstacle())),
]


@pytest.mark.parametrize("io_method", [IoMethod.SYNC, IoMethod.WORKER])
@pytest.mark.parametrize("device", ["local-nvme", "kingston-dc600m"])
def test_pages_are_those_that_the_server_counts_and_times_are_near(device: str, io_method: IoMethod) -> None:
    need_fuse()
    assert scan_prediction.main(device, io_method) == 0, "the bounds are in the benchmark"
