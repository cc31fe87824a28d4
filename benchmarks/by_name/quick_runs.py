"""Every ratio that the tables of several built reports show, side by side: whether runs with other seeds, or beside other work, agree.

Run by name: ``python benchmarks/by_name/quick_runs.py SITE SITE...`` (folders below ``report/_site``). A ratio is a cell, or a part of
one, of the form ``1.04 (1.03 to 1.06)``; it is found again by the words of its row. Bound: two intervals that do not overlap lie at most
10 % apart.
"""

import csv
import itertools
import re
import sys
from pathlib import Path
from typing import Final

BOUND: Final = 1.10
RATIO: Final = re.compile(r"([\d,.]+) \(([\d,.]+) to ([\d,.]+)\)")
RESULT: Final = re.compile(r"\d+\.\d|\d \(|^\d|none|confirmed|contradicted|undecided|no interval|^—|repeats")
"""What a cell has that differs between runs, and so names no row."""

Key = tuple[str, ...]
Ratio = tuple[float, ...]
"""Estimate, and the ends of its interval."""


def main(sites: list[str]) -> int:
    found = [ratios(Path(site)) for site in sites]
    keys = [key for key in dict.fromkeys(itertools.chain(*found)) if sum(key in one for one in found) > 1]
    apart = {key: max(map(gap, itertools.combinations([one[key] for one in found if key in one], 2))) for key in keys}
    for key in sorted(keys, key=apart.__getitem__, reverse=True):
        shown = " | ".join("{:g} ({:g} to {:g})".format(*one[key]) if key in one else "-" for one in found)
        print(f"{apart[key]:.3f} | {' / '.join(part for part in key if part)[:110]} | {shown}")
    beyond = sum(one > BOUND for one in apart.values())
    print(f"{len(keys)} ratios in two or more reports; {beyond} differ by more than {BOUND - 1:.0%} beyond their intervals")
    return int(beyond > 0)


def ratios(site: Path) -> dict[Key, Ratio]:
    found: dict[Key, Ratio] = {}
    for path in sorted((site / "tables").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = [*csv.reader(file)] or [[]]
        for row in rows:
            named = [cell for cell in row if cell and not RESULT.search(cell)]
            for column, cell in zip(header, row, strict=True):
                for match in RATIO.finditer(cell):
                    key = (path.stem, *named, column, cell[max(0, match.start() - 40) : match.start()])
                    while key in found:
                        key = (*key, "+")
                    found[key] = tuple(float(end.replace(",", "")) for end in match.groups())
    return found


def gap(two: tuple[Ratio, Ratio]) -> float:
    """Return how many times the higher interval's low end is the lower one's high end; below 1 they overlap."""
    (_, low, high), (_, other_low, other_high) = two
    return max(low / other_high, other_low / high)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
