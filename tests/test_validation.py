"""The appendix shows what the models really do: the committed figures are found again."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from support import shared
from tierwise.core import paths
from tierwise.report.chapters import validation, validation_emulator


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
