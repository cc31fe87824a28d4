"""A report that is struck by every kind of fault, in every phase, loses nothing: the campaign of `make soak`.

``FAULTS_MINUTES`` is the time after which no further run is begun (else every fault is tried), ``FAULTS`` the campaign's folder; called
again it goes on where it stopped.
"""

import hashlib
import os
import time
from pathlib import Path

import pytest

from faults.campaign import Campaign, next_chain, whole
from tierwise.core import paths

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="faults are injected by root, with FUSE"),
]


def test_a_report_survives_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    digest = hashlib.sha256(str(paths.home()).encode()).hexdigest()[:8]
    campaign = Campaign(Path(os.environ.get("FAULTS") or f"/var/tmp/tierwise-faults-{digest}"))
    minutes = float(os.environ.get("FAULTS_MINUTES") or "inf")
    until_s = time.monotonic() + 60 * minutes
    campaign.begin()
    if campaign.tried():
        campaign.save()  # whoever was called before may have been killed before it did

    def tell(line: str) -> None:
        with capsys.disabled():
            print(line, flush=True)

    while (left := campaign.left()) and time.monotonic() < until_s:
        begun_s, chain = time.monotonic(), next_chain(left)
        tried = campaign.chain(chain, tell)
        assert tried, f"no run came to what {chain} are to strike"
        tell(f"{len(tried)} faults in one run of {time.monotonic() - begun_s:.0f} s: {'; '.join(tried[-1].problems) or 'survived'}")
        campaign.save()
    lost = [line for line in campaign.tried() if not line["survived"]]
    tell(f"{len(campaign.tried())} of {len(whole())} faults tried, {len(lost)} lost, {len(campaign.left())} left")
    assert not lost, [(line["kind"], line["met"], line["problems"]) for line in lost]
