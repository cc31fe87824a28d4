"""Notebooks are thin, stripped, and say what to do where there is nothing to show."""

import ast
from pathlib import Path

import nbformat
import pytest

from report_run import execute, rich_run
from tierwise.core import paths

NOTEBOOKS = sorted((paths.home() / "notebooks").glob("*.ipynb"))
SHOWN = [path for path in NOTEBOOKS if path.name.startswith("show-")]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.For, ast.While, ast.If)


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def test_there_are_chapters() -> None:
    assert {"show-summary", "show-census", "show-index_placement", "show-provenance"} <= {path.stem for path in SHOWN}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_stripped(path: Path) -> None:
    nbformat.validate(nbformat.read(path, as_version=4))
    for cell in code_cells(path):
        assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_code_cell_has_the_parameters_with_their_defaults(path: Path) -> None:
    first, *others = code_cells(path)
    assert first.metadata.get("tags") == ["parameters"]
    assert not any(cell.metadata.get("tags") for cell in others)
    assigned = [node for node in ast.parse(first.source).body if isinstance(node, ast.Assign)]
    assert "RUN_ID" in [target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_only_calls(path: Path) -> None:
    for cell in code_cells(path):
        tree = ast.parse(cell.source)
        assert not [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)], cell.source
        assert sum(not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign) for node in tree.body) <= 1, cell.source


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_a_chapter_begins_with_a_labelled_heading(path: Path) -> None:
    headings = [cell.source.splitlines()[0] for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"]
    assert headings[0].startswith("# ")
    assert headings[0].endswith("}")
    assert "{#sec-" in headings[0]


def test_a_chapter_without_rows_says_which_command_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    assert execute(SHOWN[0], tmp_path).returncode != 0
    outputs = [output for cell in code_cells(tmp_path / SHOWN[0].name) for output in cell.outputs if output.output_type == "error"]
    (failed,) = outputs
    assert len(failed.traceback) == 1
    assert "make report" in failed.traceback[0]


def test_exploring_starts_from_the_newest_run_and_compares_it_with_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    rich_run(tmp_path / "raw")
    rich_run(tmp_path / "raw", run_id="20260102-030405-quick-fedcba")
    done = execute(paths.home() / "notebooks" / "explore.ipynb", tmp_path)
    assert done.returncode == 0, done.stderr
    outputs = [output for cell in code_cells(tmp_path / "explore.ipynb") for output in cell.outputs if "data" in output]
    texts = ["".join(output.data.get("text/plain", "")) for output in outputs]
    assert "shape: (2, 5)" in texts[0]  # both runs
    assert [text for text in texts if "Cold times by state and placement" in text]
    assert "ratio" in texts[-1]


def test_the_data_is_acquired_from_the_defaults(tmp_path: Path) -> None:
    done = execute(paths.home() / "notebooks" / "acquire-census.ipynb", tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_measures_by_hand_begins_small() -> None:
    for path in NOTEBOOKS:
        if path.name.startswith(("acquire-", "run-")):
            assert 'PROFILE = "smoke"' in code_cells(path)[0].source
