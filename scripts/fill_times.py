"""Fill the times of the documents, which stand between ``<!-- minutes NAME -->`` and ``<!-- end -->``, from the plan's own numbers.

``--check`` writes nothing, and ends with 1 where a time is another one. NAME is a profile, or ``tests`` for ``make test``; all are at the
pace of ``data/plan/recorded.toml``.
"""

import re
import sys
from collections.abc import Mapping
from typing import Final

from tierwise.bench.loop import gather_inputs
from tierwise.core import paths
from tierwise.plan.estimate import load_recorded, plan_of

DOCUMENTS: Final = ("README.md", "docs/artifact.md")
MARKED: Final = re.compile(r"(?<=<!-- minutes )(\w+)( -->)[^<]*(?=<!-- end -->)")


def minutes(name: str) -> int:
    """Return the whole minutes of a report of the profile `name`, or of the tests."""
    if name == "tests":
        return round(load_recorded().tests_s / 60)
    return round(plan_of(gather_inputs(profile=name, tiers="", seed=1), pace=load_recorded().pace).minutes)


def filled(text: str, known: Mapping[str, int]) -> str:
    """Return `text` with the `known` minutes, by name, in its marks."""
    return MARKED.sub(lambda found: f"{found[1]}{found[2]}{known[found[1]]}", text)


def main() -> int:
    """Write every document whose times changed; with ``--check`` name it instead."""
    texts = {name: (paths.home() / name).read_text(encoding="utf-8") for name in DOCUMENTS}
    known = {name: minutes(name) for name in {found[1] for text in texts.values() for found in MARKED.finditer(text)}}
    changed = {name: new for name, text in texts.items() if (new := filled(text, known)) != text}
    for name, text in changed.items():
        if "--check" in sys.argv:
            print(f"{name}: a time is not the plan's (scripts/fill_times.py corrects it)")
        else:
            (paths.home() / name).write_text(text, encoding="utf-8")
    return 1 if changed and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
