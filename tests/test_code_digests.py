"""What is another experiment: an edit that could change a number of a study, and none that could not."""

import ast
import shutil
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest

from tierwise.bench import code_digests
from tierwise.bench.inputs import Inputs
from tierwise.bench.study_registry import code_of_study, fingerprints
from tierwise.core import studies
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.timings.manifest import Fingerprint

VIRTUAL = 'def f(x: int) -> int:\n    """Twice."""\n    return 2 * x  # doubled\n\n\nLIMIT = 3\n"""So many."""\n'
PAIRS = ("source-h", "source-l", "source-m", "source-r", "source-r-live", "source-v", "wal-placement")
LIVE = {"index_placement", "pgbench_placement", "read_latency", "survey_arrays", "survey_placement", "wal_placement"}
"""The studies on a live server; `ram_or_ssd` needs none."""
EVERY = LIVE | {"ram_or_ssd"}


@pytest.mark.parametrize(
    "edited",
    [
        VIRTUAL.replace("Twice.", "The double of `x`."),
        VIRTUAL.replace("So many.", "At most so many."),
        VIRTUAL.replace("  # doubled", ""),
        VIRTUAL.replace("2 * x", "(\n        2 * x\n    )"),
    ],
)
def test_words_and_layout_are_no_other_method(edited: str) -> None:
    assert edited != VIRTUAL
    assert code_digests.meaning(ast.parse(edited)) == code_digests.meaning(ast.parse(VIRTUAL))


@pytest.mark.parametrize("edited", [VIRTUAL.replace("2 *", "3 *"), VIRTUAL.replace("LIMIT = 3", "LIMIT = 4"), VIRTUAL + "f(LIMIT)\n"])
def test_another_number_or_call_is_another_method(edited: str) -> None:
    assert code_digests.meaning(ast.parse(edited)) != code_digests.meaning(ast.parse(VIRTUAL))


def inputs() -> Inputs:
    return Inputs(load_profile("smoke"), tuple(map(load_pair, PAIRS)), None, 1, "18.0")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(str(resources.files("tierwise")), copy / "tierwise", ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        files = resources.files
        patch.setattr(resources, "files", lambda name: copy / name if name == "tierwise" else files(name))
        yield copy / "tierwise"


Anew = Callable[[str, str, str], set[str]]


@pytest.fixture(scope="module")
def before(package: Path) -> dict[str, Fingerprint]:
    assert package.is_dir()
    return fingerprints(inputs())


@pytest.fixture
def anew(package: Path, before: dict[str, Fingerprint]) -> Iterator[Anew]:
    """Edits a file of the copy (text -> other text) and says which studies are measured anew; afterwards the file is as it was."""
    edited = dict[Path, str]()

    def edit(file: str, old: str, new: str) -> set[str]:
        path = package / file
        text = path.read_text(encoding="utf-8")
        edited.setdefault(path, text)
        assert old in text, f"{file} has no {old!r} any more"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return {study for study, one in fingerprints(inputs()).items() if one != before[study]}

    yield edit
    for path, text in edited.items():
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "studies_anew"),
    [
        ("devices/hdd.py", "DESTAGED_AT_ONCE: Final = 32", "DESTAGED_AT_ONCE: Final = 31", EVERY),
        ("devices/controller.py", "import math", "import math\n\nLIMIT = 1", {"survey_arrays", "survey_placement"}),
        *((file, '"""', '"""Said otherwise: ', set[str]()) for file in ("tiers/clock.py", "bench/live.py")),
        ("recorders/strace.py", "\nfrom ", "\n# why\nfrom ", set()),
        ("devices/volume.py", "import math", "import math\n\nLIMIT = 1", set()),
        ("simulate/closed_loop.py", "np.empty(0, np.int64)", "np.empty(1, np.int64)", {"ram_or_ssd"}),
        ("tiers/clock.py", "HISTORY_S: Final = 2e-4", "HISTORY_S: Final = 3e-4", EVERY),
        ("postgres/cold_proof.py", "METAPAGES: Final = 1", "METAPAGES: Final = 2", LIVE),
        ("postgres/statements.sql", "conname", "conname AS name", LIVE),
        ("recorders/bpftrace.py", "ENOUGH_READS: Final = 1000", "ENOUGH_READS: Final = 2000", {"read_latency"}),
        ("bench/testbed.py", "PROCESSORS = 2", "PROCESSORS = 3", LIVE),
        (
            "studies/pgbench_placement/measuring/simulated_maps.py",
            "HOST_S: Final = 0.0005",
            "HOST_S: Final = 0.0006",
            {"pgbench_placement"},
        ),
        ("studies/survey_arrays/measuring/trials.py", 'FIRST: Final = "hdd"', 'FIRST: Final = "ssd"', {"survey_arrays"}),
        ("studies/survey_arrays/reading/rows.sql", "as gain", "as gained", set()),  # SQL
        ("studies/read_latency/reading/fig_read_histograms.py", "import ", "LIMIT = 1\nimport ", set()),  # a figure
        ("studies/index_placement/reading/words.toml", '"Florida"', '"the Sunshine State"', set()),  # prose
        ("timings/timings.sql", "1.4826", "1.5", set()),  # how rows are read, not what they are
        ("timings/manifest.py", "class Stage", "LIMIT = 1\n\n\nclass Stage", set()),
    ],
)
def test_a_constant_measures_those_studies_anew_whose_numbers_come_from_it(
    anew: Anew, file: str, old: str, new: str, studies_anew: set[str]
) -> None:
    assert anew(file, old, new) == studies_anew


def test_a_study_without_a_server_comes_to_no_server_and_no_study_to_another() -> None:
    for study in studies.names():
        code = code_of_study(study, inputs())
        packages = {name.split(".")[2] for name in code if name.startswith("tierwise.studies.")}
        assert packages == {study}
        assert not [name for name in code if name.split(".")[1:2] in (["report"], ["analysis"], ["plan"], ["costs"])]
        assert ("tierwise.postgres.cluster" in code) is (study in LIVE)
        assert "tierwise.bench.loop" not in code


def test_what_is_started_as_a_process_and_what_is_imported_in_a_function_count(package: Path, tmp_path: Path) -> None:
    made = tmp_path / "tierwise"
    made.mkdir()
    (made / "__init__.py").touch()
    for name in ("started", "inner", "typed", "beside"):
        (made / f"{name}.py").write_text("N = 1\n", encoding="utf-8")
    (made / "facts.toml").write_text("n = 1  # why\n", encoding="utf-8")
    (made / "root.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tierwise import typed\nelse:\n    import tierwise.beside\n"
        "COMMAND = ['-m', 'tierwise.started']\nFACTS = 'facts.toml'\ndef f():\n    'tierwise.typed'\n    from tierwise import inner\n",
        encoding="utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resources, "files", lambda name: tmp_path / name)
        code = code_digests.code_of(["tierwise.root"])
        assert set(code) == {"tierwise", *(f"tierwise.{name}" for name in ("root", "started", "inner", "beside")), "tierwise/facts.toml"}
        (made / "facts.toml").write_text("n = 1  # as was measured\n", encoding="utf-8")
        assert code_digests.code_of(["tierwise.root"]) == code
        (made / "facts.toml").write_text("n = 2\n", encoding="utf-8")
        assert code_digests.code_of(["tierwise.root"]) != code
