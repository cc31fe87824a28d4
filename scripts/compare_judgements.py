"""Hold what this checkout says of stored runs against what an earlier commit says of the very same files.

    python scripts/compare_judgements.py COMMIT RUN_FOLDER [RUN_FOLDER ...]

Each run is judged twice by ``tierwise claims --format json``, by COMMIT in a worktree of its own and by this checkout. Fields that were
renamed since stand in `RENAMED`. It ends with 1 and tells claim, field and both values where anything differs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tierwise.core import paths

RENAMED: Final[dict[str, str]] = {}
"""Field before -> field now."""


def judged(checkout: Path, run: Path) -> list[dict[str, Any]]:
    """The verdicts that the code of `checkout` gives on the run in folder `run`."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "TIERWISE_RAW": str(run.parent)}
    command = [sys.executable, "-m", "tierwise", "claims", "--format", "json", "--run", run.name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=checkout)
    told = json.loads(done.stdout)
    found: list[dict[str, Any]] = told["claims"] if isinstance(told, dict) else told  # a list before the JSON had a version
    return found


def renamed(value: Any) -> Any:
    """`value` with every field of an object by its name of now."""
    if isinstance(value, dict):
        return {RENAMED.get(name, name): renamed(inner) for name, inner in value.items()}
    return [renamed(inner) for inner in value] if isinstance(value, list) else value


def differences(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    """A line for each field of a claim that is another one, and for each claim that is in one list alone."""
    first, second = ({verdict["id"]: verdict for verdict in verdicts} for verdicts in (renamed(before), now))
    told = [f"{claim}: judged by one of them alone" for claim in sorted(first.keys() ^ second.keys())]
    for claim in first.keys() & second.keys():
        for field in sorted(first[claim].keys() | second[claim].keys()):
            if first[claim].get(field) != second[claim].get(field):
                told.append(f"{claim}.{field}: {first[claim].get(field)!r} before, {second[claim].get(field)!r} now")
    return told


def main() -> None:
    commit, *runs = sys.argv[1:]
    wrong = 0
    with TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        git = ["git", "-C", str(paths.home()), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(earlier), commit], check=True)
        try:
            for run in map(Path, runs):
                told = differences(judged(earlier, run.resolve()), judged(paths.home(), run.resolve()))
                print(f"{run.name}: {len(told)} differences", *told, sep="\n  ")
                wrong += len(told)
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
