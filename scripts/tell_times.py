"""Fill the times of the documents, which stand between ``<!-- minutes NAME -->`` and ``<!-- end -->``, from the plan's own numbers.

``--check`` writes nothing, and ends with 1 where a time is another one. NAME is a profile, or ``tests`` for ``make test``; all are at the
pace of ``data/plan/host.toml``.
"""

import re
import sys
from typing import Final

from tierwise.bench.loop import gather_inputs
from tierwise.core import paths
from tierwise.plan.estimate import plan_of
from tierwise.plan.forecast import load_host

DOCUMENTS: Final = ("README.md", "docs/artifact.md")
MARKED: Final = re.compile(r"(?<=<!-- minutes )(\w+)( -->)[^<]*(?=<!-- end -->)")


def minutes(name: str) -> int:
    """Whole minutes of a report of the profile `name`, or of the tests."""
    if name == "tests":
        return round(load_host().tests_s / 60)
    return round(plan_of(gather_inputs(profile=name, tiers="", seed=1)).minutes)


def main() -> int:
    """Write every document whose times changed; with ``--check`` name it instead."""
    texts = {name: (paths.home() / name).read_text(encoding="utf-8") for name in DOCUMENTS}
    known = {found[0]: minutes(found[0]) for found in {match[:1] for text in texts.values() for match in MARKED.findall(text)}}
    changed = {
        name: told
        for name, text in texts.items()
        if (told := MARKED.sub(lambda found: f"{found[1]}{found[2]}{known[found[1]]}", text)) != text
    }
    if "--check" in sys.argv:
        print(
            *(f"{name}: a time is not the plan's (scripts/tell_times.py mends it)" for name in changed),
            sep="\n",
            end="\n" if changed else "",
        )
        return 1 if changed else 0
    for name, told in changed.items():
        (paths.home() / name).write_text(told, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
