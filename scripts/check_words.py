"""Refuse words that new readers did not understand: ``python scripts/check_words.py`` prints a line for each."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

CLOCK: Final = "cells?|clocks?|cpu|device|figures?|one|per|rows?|s|sessions?|several|sleeps?|tiers?|time|trials?|wall|windows?"
WORDS: Final = {
    r"told|asked|whence|wherewith": "reported, described, requested, from where, with which",
    rf"(counted|waited) ({CLOCK})|clock (counted|waited)": "virtual time, real time",
    r"substrates?": "evidence",
    r"labs?": "testbed",
    r"memos?": "study state",
    r"rooms?": "package, or space",
    r"arms?": "I/O mode, or variant",
}
OLD: Final = re.compile(r"docs/upgrade|src/tierwise/core/renamed|tests/(test_profiles|smoke/)|scripts/check_words|data/reference/")
TEXT: Final = re.compile(r"\.(py|sql|toml|ipynb|md|qmd|lua|js|css|typ|html|txt|yml)$")
DISKS: Final = re.compile(r"src/tierwise/(devices|simulate)/|tests/(test_(devices|simulate|specified_drive|validate_device)|drives)")
ALLOWED: Final = re.compile(r"“[^”]*”|make lab|jupyter[ -]?lab|https?://\S+", re.IGNORECASE)
"""Quotations, names of programs and addresses."""


def faults(path: str) -> list[str]:
    """Return a line for each refused word in the file at `path`, parts of names included."""
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        words = " ".join(re.findall(r"[a-z]+\d*", re.sub(r"([a-z])([A-Z])", r"\1 \2", ALLOWED.sub("", line)).lower()))
        refused = [(match[0], write) for word, write in WORDS.items() if (match := re.search(rf"\b({word})\b", words))]
        found += [
            f"{path}:{number}: '{word}'; write: {write}" for word, write in refused if word.rstrip("s") != "arm" or not DISKS.match(path)
        ]
    return found


names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
checked = [name for name in names if TEXT.search(name) and not OLD.match(name)]
sys.exit("\n".join(line for name in checked if Path(name).exists() for line in faults(name)) or None)
