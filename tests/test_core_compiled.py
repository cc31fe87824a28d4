"""Compiled code is kept between processes, and made anew when a loop that it took in from another module changes."""

import os
import subprocess
import sys
from pathlib import Path

INNER = "from tierwise.core.compiled import inlined\n\n@inlined\ndef inner(value: int) -> int:\n    return value + {0}\n"
OUTER = """
from inner import inner
from tierwise.core.compiled import compiled

@compiled
def outer(value: int) -> int:
    return inner(value)

print(outer(1), sum(outer.stats.cache_hits.values()))
"""


def test_compiled_code_is_kept_until_a_module_beside_it_changes(tmp_path: Path) -> None:
    folder = tmp_path / "loops"
    folder.mkdir()
    (folder / "outer.py").write_text(OUTER)

    def run(added: int) -> str:
        (folder / "inner.py").write_text(INNER.format(added))
        kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        environment = {**kept, "PYTHONDONTWRITEBYTECODE": "1"}  # Python itself would miss a change within a second
        done = subprocess.run([sys.executable, "outer.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    # The result, and how many signatures came from disk.
    assert run(10) == "11 0\n"
    assert run(10) == "11 1\n"
    assert run(20) == "21 0\n"


def test_the_command_line_says_its_help_without_what_takes_long_to_load() -> None:
    heavy = {"numba", "numpy", "scipy", "polars", "duckdb", "pydantic", "altair"}
    script = f"import sys; from tierwise import cli; assert cli.app; print({heavy!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stderr
