"""The processor time that a window charges: without the mount's part, at the reference processor's pace."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from emulation import emulated
from random_readers import filled, need_groups, readers, run
from tierwise.bench.stopwatch import BATCH, BATCHES, PROBE, Reading, measured_charge, processor_shares
from tierwise.core import session_group
from tierwise.postgres.cluster import Cluster
from tierwise.tiers.clock import Charge
from tierwise.tiers.daemon import ClockParts
from tierwise.tiers.fuse_abi import Opcode

READS = 300
MOUNTS_S = 30e-6


def charged(folder: Path, charge: Charge, *, rounds: int = 0) -> tuple[ClockParts, ClockParts]:
    """Return the clock before and after a session's reads."""
    with filled(folder, "mtron-3025") as (tier, path), session_group.session_group() as group, ExitStack() as ends:
        with group.entered():
            processes = ends.enter_context(readers(path, 1, reads=READS, rounds=rounds))
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0, charge=charge)
        tier.delays(True)
        begun = tier.daemon.time()
        run(processes)
        return begun, tier.daemon.time()


@need_groups
@pytest.mark.parametrize("pace", [1.0, 0.5])
def test_the_mounts_part_of_every_request_is_free_and_the_rest_goes_at_the_reference_processors_pace(tmp_path: Path, pace: float) -> None:
    begun, ended = charged(tmp_path, Charge(read_s=MOUNTS_S, write_s=1.0, pace=pace), rounds=300)
    used_s, mount_s = ended.used_s - begun.used_s, ended.mount_s - begun.mount_s
    assert mount_s == pytest.approx(READS * MOUNTS_S, rel=0.02)
    assert used_s > 1.5 * mount_s
    assert ended.charged_s - begun.charged_s == pytest.approx(pace * (used_s - mount_s), rel=1e-6)
    assert ended.computed_s - begun.computed_s == pytest.approx(ended.charged_s - begun.charged_s, rel=0.02), "one at a time computes"


@need_groups
def test_whoever_uses_less_than_a_request_is_said_to_cost_is_charged_nothing(tmp_path: Path) -> None:
    begun, ended = charged(tmp_path, Charge(read_s=1.0))
    assert ended.charged_s - begun.charged_s < 0.2 * (ended.used_s - begun.used_s), "what comes before the first request is charged"


def test_a_request_without_an_answer_costs_its_caller_nothing() -> None:
    charge = Charge(read_s=1.0, write_s=2.0, other_s=3.0)
    costs_s = [charge.request_s(opcode) for opcode in (Opcode.READ, Opcode.WRITE, Opcode.FSYNC, Opcode.GETATTR, Opcode.FORGET)]
    assert costs_s == [1.0, 2.0, 3.0, 3.0, 0.0]


def test_a_request_through_a_mount_costs_more_than_one_in_memory(tmp_path: Path, cluster18: Cluster) -> None:
    cluster18.start({})
    try:
        with emulated(tmp_path, "mtron-3025") as tier:
            before = tier.daemon.time()
            charges = [measured_charge(tier.directory, cluster18) for _ in range(2)]
            requests = (tier.io() or {})[PROBE]
            assert [path.name for path in tier.directory.iterdir()] == [PROBE], "one file, however many windows"
    finally:
        cluster18.stop()
    assert before.used_s == 0.0
    assert requests.reads == 2 * BATCH * BATCHES
    for charge in charges:
        assert 1e-6 < charge.read_s < 1e-3
        assert 1e-6 < charge.write_s < 1e-3
        assert 1e-6 < charge.other_s < 1e-3
        assert 0.1 < charge.pace < 10


def test_a_windows_row_has_its_share_of_processor_time_and_the_mounts_part_of_it() -> None:
    def reading(parts: ClockParts) -> Reading:
        return Reading(parts, 0.0, {}, {}, 0.0)

    begun = reading(ClockParts(now_s=1.0, computed_s=0.5, used_s=2.0, mount_s=1.0))
    ended = reading(ClockParts(now_s=5.0, computed_s=1.5, used_s=6.0, mount_s=2.0))
    shares = processor_shares(begun, ended, Charge(read_s=2e-5, pace=0.7))
    assert (shares["share"], shares["mount_share"], shares["used_s"]) == (0.25, 0.25, 4.0)
    assert (shares["read_s"], shares["pace"]) == (2e-5, 0.7)
    real = reading(ClockParts(now_s=5.0))
    assert processor_shares(real, real, Charge()) == {}
