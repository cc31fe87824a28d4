"""The controller of the campaign of faults, on a command that goes through the phases of a report and does nothing else."""

import json
from collections import Counter
from pathlib import Path

import pytest

from faults.campaign import Campaign, Fault, next_chain, whole
from faults.place import ANY, MEASURED, ONCE, PHASES, Place

pytestmark = pytest.mark.soak  # as the campaign is

COMMAND = '''
"""Goes on where it stopped, as a report does: what was done has a file, and one that stops half-way leaves its part."""
import os, shutil, subprocess, time
from pathlib import Path

work, raw, site = (Path(os.environ[name]) for name in ("TIERWISE_WORK", "TIERWISE_RAW", "TIERWISE_SITE"))
build = site.with_name("_build")

def make(path):
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{path}.part", "w") as part:
            part.write("whole")
        os.rename(f"{path}.part", path)

def start(server, setting):
    server.mkdir(parents=True, exist_ok=True)
    server.joinpath("tierwise.conf").write_text(setting)
    subprocess.run(["true", "start", f"--pgdata={server}"], check=True)

for study in range(6):
    if not (raw / "run" / f"{study}").exists():
        start(work / f"{study}", "maintenance_work_mem")
        for row in range(4):
            start(work / f"{study}", "")
            make(raw / "run" / f"{study}-{row}")
            time.sleep(0.06)
        make(raw / "run" / f"{study}")
make(raw / "run" / "timings.parquet")
if not (site / "latest").exists():
    build.mkdir(exist_ok=True)
    for chapter in range(6):
        (build / "answers").write_text("rendering")
        time.sleep(0.4)
        make(build / f"{chapter}")
    site.mkdir(exist_ok=True)
    make(site / "latest")
shutil.rmtree(build, ignore_errors=True)
'''
TIMES = {"loading": 6, "measuring": 24, "writing rows": 30, "renaming": 30, "merging": 2, "rendering": 12, "exporting": 8}


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """A campaign against `COMMAND`, which was seen to take so long undisturbed."""
    program = Place(tmp_path).copy / "src" / "tierwise"
    program.mkdir(parents=True)
    program.joinpath("__init__.py").touch()
    program.joinpath("__main__.py").write_text(COMMAND, encoding="utf-8")
    tmp_path.joinpath("undisturbed.json").write_text(json.dumps({"took_s": 1.5, "times": TIMES}), encoding="utf-8")
    return Campaign(tmp_path)


@pytest.mark.parametrize("kind", ["SIGKILL", "stopped and continued"])
def test_every_fault_of_a_chain_strikes_in_its_phase_and_the_run_comes_to_its_end(
    campaign: Campaign, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.kinds.STOPPED_S", (0.05, 0.1))
    asked = [Fault(kind, phase, number) for number, phase in enumerate((*MEASURED, *ONCE))]
    told: list[str] = []
    tried = campaign.chain(asked, told.append)
    assert [(one.fault.phase, one.phase) for one in tried] == [(fault.phase, fault.phase) for fault in asked]
    assert len(told) == len(asked)
    assert all("runner" in one.hit for one in tried)
    assert sorted(path.name for path in campaign.place.folder.glob("raw/run/[0-9]")) == [str(study) for study in range(6)]
    assert [(line["number"], line["met"], line["version"]) for line in campaign.tried()] == [
        (fault.number, fault.phase, campaign.version) for fault in asked
    ]
    assert [line["problems"] for line in campaign.tried()] == [[]] * len(asked)
    assert [fault for fault in whole() if fault not in campaign.left()] == whole()[: len(asked)]


def test_a_fault_whose_phase_is_over_is_left_for_another_run(campaign: Campaign) -> None:
    tried = campaign.chain([Fault("SIGKILL", "merging", 1), Fault("SIGKILL", "loading", 2)], print)
    assert [one.fault.number for one in tried] == [1]
    assert 2 in {fault.number for fault in campaign.left()}


def test_what_is_left_behind_and_what_ends_without_a_remedy_is_told(campaign: Campaign) -> None:
    program = campaign.place.copy / "src" / "tierwise" / "__main__.py"
    program.write_text(COMMAND + "raise SystemExit(print('it is all over') or 3)\n", encoding="utf-8")
    (one,) = campaign.chain([Fault("SIGKILL", "renaming", 0)], print)
    assert any(problem.startswith("cannot be resumed: it is all over") for problem in one.problems)
    program.write_text(COMMAND + "(Path(os.environ['TMPDIR']) / 'forgotten').touch()\n", encoding="utf-8")
    (one,) = campaign.chain([Fault("SIGKILL", "renaming", 1)], print)
    assert any(problem.endswith("tmp/forgotten") for problem in one.problems)


def test_chains_have_every_fault_once_and_few_runs() -> None:
    left, chains = whole(), []
    while left:
        chains.append(next_chain(left))
        left = [fault for fault in left if fault not in chains[-1]]
    assert Counter(fault for chain in chains for fault in chain) == Counter(whole())
    assert all(len({fault.kind for fault in chain}) == 1 for chain in chains)
    assert len(chains) <= 15
    for chain in chains:
        once = [PHASES.index(fault.phase) for fault in chain if fault.phase in ONCE]
        assert once == sorted(once)
        assert [fault.phase in ONCE for fault in chain] == sorted(fault.phase in ONCE for fault in chain), "what comes once comes last"
    assert sum(fault.phase == ANY for fault in whole()) >= 18
