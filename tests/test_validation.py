"""The appendix shows what the models really do: the committed figures are found again."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from support import shared
from tierwise.core import paths
from tierwise.report.exhibits.tables.emulator import rows, tabulate
from tierwise.report.run import Run
from tierwise.report.values.validation import MODELS, load


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
        load(*MODELS)


def test_a_figure_of_the_emulator_that_misses_its_bound_is_in_bold(reference: Run) -> None:
    found = rows(reference, "")
    shown = tabulate(found).rows
    assert len(shown) == found.height > 0
    assert [row[5].startswith("**") for row in shown] == [met is False for met in found["met"]]
