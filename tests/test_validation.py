"""The appendix shows what the models really do: the committed figures are found again."""

import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from faults.campaign import PHASES, Campaign, whole
from support import shared
from tierwise.core import paths
from tierwise.report.chapters import validation, validation_emulator, validation_faults
from tierwise.studies.read_latency.reading import chapter_drive


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("validate_models", paths.home() / "scripts" / "validate_models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def committed() -> dict[str, object]:
    found: dict[str, object] = json.loads((paths.data() / "validation" / "models.json").read_text(encoding="utf-8"))
    return found


def test_the_drives_are_found_again(script: ModuleType, committed: dict[str, object]) -> None:
    assert script.rounded(script.drives(shared("realdata", "devices"))) == committed["drives"]


def test_the_caches_are_found_again_and_are_the_published_ones(script: ModuleType, committed: dict[str, object]) -> None:
    found = script.caches(shared("realdata", "traces", "OLTP.lis.zst"))
    assert script.rounded(found) == committed["caches"]
    for line in found:
        assert round(100 * line["hit_ratio"], 2) == pytest.approx(line["published_hit_percent"], abs=1e-9)


def test_source_ls_250_us_are_reported_as_not_explained(script: ModuleType) -> None:
    assert script.mean_read_s("intel-x25-e", 1) < 150e-6
    assert "not explained" in chapter_drive.x25e_verdict().text


def test_a_missing_file_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    with pytest.raises(Exception, match=r"python scripts/validate_models\.py"):
        validation.load()


def test_the_emulators_figures_are_all_shown_and_its_misses_in_bold() -> None:
    rows = validation_emulator.load()["rows"]
    held = [line for line in rows if line["part"] in validation_emulator.HELD and line["expected"] is not None]
    shown = validation_emulator.accuracy().rows
    assert len(shown) == len(held)
    assert [row[5].startswith("**") for row in shown] == [line["met"] is False for line in held]
    met = [line["met"] for line in rows if line["met"] is not None]
    assert f"{sum(met)} of {len(met)} figures" in validation_emulator.conditions().text


def test_seeks_grow_with_the_span_of_the_file() -> None:
    spans = [line["measured"] for line in validation_emulator.load()["rows"] if line["part"] == "scale"]
    assert spans == sorted(spans)
    assert len(validation_emulator.scale().rows) == len(spans) == 3
    assert {row[0] for row in validation_emulator.limits().rows} >= {"plain directory", "empty server in C"}


def test_the_faults_of_a_campaign_are_counted_by_kind_and_phase_and_losses_stand_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried = [("SIGKILL", "merging", True), ("SIGKILL", "merging", False), ("power cut", "renaming", True)]
    lines = [
        {"version": "v", "kind": kind, "phase": phase, "number": number, "met": phase, "hit": "runner", "survived": survived}
        for number, (kind, phase, survived) in enumerate(tried)
    ]
    campaign = Campaign(tmp_path / "campaign")
    campaign.version = "v"
    campaign.journal.parent.mkdir()
    campaign.journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    campaign.save()
    assert validation_faults.outcomes().rows == [
        ["SIGKILL", "merging", "2", "1", "**1**"],
        ["power cut", "renaming", "1", "1", "0"],
    ]
    assert validation_faults.conditions().text == f"3 of {len(whole())} faults were tried, by the code of `v`."
    assert len(campaign.left()) == len(whole()) - 3


def test_a_campaign_has_as_many_faults_as_it_must() -> None:
    faults = Counter((fault.kind, fault.phase) for fault in whole())
    kinds = Counter(fault.kind for fault in whole())
    assert kinds.pop("SIGKILL") == 60
    assert all(faults["SIGKILL", phase] >= 6 for phase in PHASES)
    assert set(kinds.values()) == {8}
    assert len(kinds) == 9
