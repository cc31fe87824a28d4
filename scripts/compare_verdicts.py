"""Print the verdicts on one run under the rules of two commits, and which changes of rules apply to each difference:
``PYTHONPATH=src .venv/bin/python scripts/compare_verdicts.py BEFORE [RUN]``. BEFORE is a commit, which is unpacked into a temporary folder.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from tierwise.analysis.claims import load_claims
from tierwise.analysis.runs import REFERENCE
from tierwise.analysis.verdicts import changes_of
from tierwise.core import paths
from tierwise.core.rule_history import load_rules

GENERAL: Final = 12
"""The number of statements from which on a change is general, and shows by the cause of a verdict."""
DECIDED: Final = {"confirmed", "contradicted"}
UNRECORDED: Final = sum(change.day < date(2026, 11, 28) for change in load_rules().changes)
"""The number of changes before the file that lists them."""
Verdicts = dict[str, dict[str, Any]]


def verdicts(home: Path, run: str) -> Verdicts:
    """Return what the checkout `home` says of `run`, by claim."""
    command = [sys.executable, "-m", "tierwise", "claims", "--run", run, "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(home / "src"), "TIERWISE_HOME": str(home)}
    found = subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True)
    return {claim["id"]: claim for claim in json.loads(found.stdout)["claims"]}


def at_commit(commit: str, run: str) -> tuple[Verdicts, int]:
    """Return the verdicts by the rules of `commit`, and how many changes of rules there had been."""
    packed = subprocess.run(["git", "archive", commit], cwd=paths.home(), check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
        rules = Path(folder) / "data" / "published" / "rules.toml"
        count = rules.read_text(encoding="utf-8").count("[[changes]]") if rules.exists() else UNRECORDED
        return verdicts(Path(folder), run), count


def table(before: Verdicts, after: Verdicts, since: int) -> list[str]:
    """Return a line for each statement whose verdict differs or that is new and judged, with the changes since the first `since`."""
    lines = ["| Statement | Before | After | Cause |", "|:----|:-----------|:-----------|:------------------------|"]
    for claim in load_claims().claims:
        old, new = (str(found[claim.id]["verdict"]) if claim.id in found else "absent" for found in (before, after))
        if old == new or (old, new) == ("absent", "reported"):
            continue
        own = [str(after[claim.id]["cause"])] if new == "undecided" else []
        specific = [change.now for change in changes_of(claim, since=since) if claim.id in change.claims and len(change.claims) < GENERAL]
        lines.append(f"| {claim.id} | {old} | {new} | {'; '.join([*own, *specific])} |")
    return lines


def tally(name: str, found: Verdicts) -> str:
    kinds = Counter((claim["verdict"], claim["evidence"]) for claim in found.values() if claim["verdict"] in DECIDED)
    parts = ", ".join(f"{count} {verdict} on {evidence} rows" for (verdict, evidence), count in sorted(kinds.items()))
    return f"{name}: {sum(kinds.values())} of {len(found)} decided: {parts}"


def main(commit: str, run: str = REFERENCE) -> None:
    before, rules = at_commit(commit, run)
    after = verdicts(paths.home(), run)
    print("\n".join([*table(before, after, rules), "", tally("Before", before), tally("After", after)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
