"""Compare what this checkout and an earlier commit say of the same stored runs.

    python scripts/compare_judgements.py COMMIT RUN_FOLDER [RUN_FOLDER ...]

Each run is judged twice by ``tierwise claims --format json``, by COMMIT in a worktree of its own and by this checkout. It ends with 1 and
prints claim, field and both values where anything differs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tierwise.core import paths


def judged(checkout: Path, run: Path) -> Any:
    """The JSON in which the code of `checkout` says its verdicts on the run in folder `run`."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "TIERWISE_RAW": str(run.parent)}
    command = [sys.executable, "-m", "tierwise", "claims", "--format", "json", "--run", run.name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=checkout)
    return json.loads(done.stdout)


def differences(before: Any, now: Any) -> list[str]:
    """Return a line for each field of a claim that differs, and for each claim that only one of them has."""
    if before["version"] != now["version"]:
        return [f"the JSON has version {before['version']} there and {now['version']} here: name a commit of one version"]
    first, second = ({verdict["id"]: verdict for verdict in form["claims"]} for form in (before, now))
    found = [f"{claim}: judged by one of them alone" for claim in sorted(first.keys() ^ second.keys())]
    for claim in first.keys() & second.keys():
        for field in sorted(first[claim].keys() | second[claim].keys()):
            if first[claim].get(field) != second[claim].get(field):
                found.append(f"{claim}.{field}: {first[claim].get(field)!r} before, {second[claim].get(field)!r} now")
    return found


def main() -> None:
    commit, *runs = sys.argv[1:]
    wrong = 0
    with TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        git = ["git", "-C", str(paths.home()), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(earlier), commit], check=True)
        try:
            for run in map(Path, runs):
                found = differences(judged(earlier, run.resolve()), judged(paths.home(), run.resolve()))
                print(f"{run.name}: {len(found)} differences", *found, sep="\n  ")
                wrong += len(found)
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
