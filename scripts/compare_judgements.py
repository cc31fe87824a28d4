"""Hold what this checkout says of stored runs against what an earlier commit says of the very same files.

    python scripts/compare_judgements.py COMMIT RUN_FOLDER [RUN_FOLDER ...]

Each run is judged twice by ``tierwise claims --format json``, by COMMIT in a worktree of its own and by this checkout. Fields that were
renamed or came since stand in `RENAMED` and `NEW`. It ends with 1 and tells claim, field and both values where anything differs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tierwise.core import paths

JUDGED: Final = (("claim",), ("claim", "here"), ("claim", "arms", "*"), ("claim", "here", "arms", "*"))
"""Where an object with a verdict lies: names of fields from the claim on, `*` for any."""
RENAMED: Final[dict[int, dict[str, str]]] = {
    3: {"verdict": "verdict_text"},
    4: {"states": "cases", "deciding_state": "deciding_case", "states.state": "case"},
}
"""Version of the JSON -> field before, of such an object or with a dot of those in a list of it -> field since then."""
NEW: Final[dict[int, tuple[str, ...]]] = {3: ("verdict", "conditions"), 5: ("cases.freedom", "cases.p_value", "cases.p_holm")}
"""Version of the JSON -> fields that such an object did not have before."""


def judged(checkout: Path, run: Path) -> Any:
    """The JSON in which the code of `checkout` says its verdicts on the run in folder `run`."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "TIERWISE_RAW": str(run.parent)}
    command = [sys.executable, "-m", "tierwise", "claims", "--format", "json", "--run", run.name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=checkout)
    return json.loads(done.stdout)


def form(told: Any) -> tuple[int, list[dict[str, Any]]]:
    """Version and claims; before the JSON had a version it was the list of claims."""
    return (told["version"], told["claims"]) if isinstance(told, dict) else (1, told)


def reshaped(value: Any, names: Mapping[str, str | None], path: tuple[str, ...] = ("claim",)) -> Any:
    """`value` with the fields of `names` by their other name, where they are of it; those whose other name is `None` left out."""
    if isinstance(value, list):
        return [reshaped(inner, names, path) for inner in value]
    if not isinstance(value, dict):
        return value
    here = {name: name for name in value} | names_at(path, names)
    return {other: reshaped(inner, names, (*path, name)) for name, inner in value.items() if (other := here[name]) is not None}


def names_at(path: tuple[str, ...], names: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return those of `names` that are of the object at `path`."""
    if has_verdict(path):
        return {name: other for name, other in names.items() if "." not in name}
    listed = f"{path[-1]}."
    return {name.removeprefix(listed): other for name, other in names.items() if name.startswith(listed) and has_verdict(path[:-1])}


def has_verdict(path: tuple[str, ...]) -> bool:
    """Whether the object at `path` is one of `JUDGED`."""
    return any(len(path) == len(known) and all(a in {b, "*"} for a, b in zip(known, path, strict=True)) for known in JUDGED)


def differences(before: Any, now: Any) -> list[str]:
    """A line for each field of a claim that is another one, and for each claim that is in one JSON alone."""
    (old, earlier), (version, later) = form(before), form(now)
    for since in range(old + 1, version + 1):
        earlier, later = reshaped(earlier, RENAMED.get(since, {})), reshaped(later, dict.fromkeys(NEW.get(since, ())))
    first, second = ({verdict["id"]: verdict for verdict in verdicts} for verdicts in (earlier, later))
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
