"""The appendix shows what the models really do: the committed figures are found again."""

import importlib.util
import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

from faults.campaign import Campaign, Fault, whole
from faults.place import ANY, PHASES, commit, product
from support import shared
from tierwise.core import paths
from tierwise.report.chapters import validation, validation_emulator
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


def saved(folder: Path, tried: Sequence[tuple[Fault, bool]]) -> Campaign:
    """The campaign in `folder` that tried the faults `tried` (whether each survived), the last of them on Christmas."""
    campaign = Campaign(folder)
    campaign.journal.parent.mkdir()
    days = ["2026-12-24"] * (len(tried) - 1) + ["2026-12-25"]
    lines = [
        {"version": campaign.version, "day": day, **asdict(fault), "met": fault.phase.replace(ANY, "starting"), "survived": survived}
        for day, (fault, survived) in zip(days, tried, strict=True)
    ]
    lines.append({**lines[0], "version": "of another product", "survived": False})
    campaign.journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    campaign.save()
    return campaign


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for campaigns, whose result lies in it, too."""
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    monkeypatch.setattr("faults.campaign.commit", lambda: "c0ffee1")
    monkeypatch.setattr("faults.campaign.product", lambda: "of today")
    return tmp_path / "campaign"


def test_a_campaign_counts_what_is_left(result: Path) -> None:
    faults = [("power cut", "renaming", True), ("SIGKILL", "merging", True), ("SIGKILL", "loading", True), ("SIGKILL", "merging", False)]
    campaign = saved(result, [(Fault(kind, phase, number), survived) for number, (kind, phase, survived) in enumerate(faults)])
    assert len(campaign.left()) == len(whole()) - 4


def test_what_was_tried_stays_true_until_the_product_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"src/code.py": "1", "data/profiles/quick.toml": "2", "data/validation/faults.json": "3", "tests/test_code.py": "4"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    before, clean = product(), commit()
    for name, text in files.items():
        (tmp_path / name).write_text("another", encoding="utf-8")
        assert (product() != before) is (commit() == f"{clean}-dirty") is (name in {"src/code.py", "data/profiles/quick.toml"}), name
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert (product(), commit()) == (before, clean)


def test_a_campaign_has_as_many_faults_as_it_must() -> None:
    faults = Counter((fault.kind, fault.phase) for fault in whole())
    kinds = Counter(fault.kind for fault in whole())
    assert kinds.pop("SIGKILL") == 60
    assert all(faults["SIGKILL", phase] >= 6 for phase in PHASES)
    assert set(kinds.values()) == {8}
    assert len(kinds) == 9
