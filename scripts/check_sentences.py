"""Measure the sentences of documents: ``python scripts/check_sentences.py [FILE...]`` ends with 1 where they are too long.

Paragraphs of a Markdown file or a built page count, not headings, tables, code, lists and quotations. Docstrings and ``help=`` of a Python
file count, and the Markdown that an executed notebook shows. Without a FILE, each of `KINDS` is measured by itself. ``--all`` prints
each file's own numbers.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from math import ceil
from pathlib import Path
from statistics import median
from typing import Final

from bs4 import BeautifulSoup

MEDIAN, MOST, SHARE = 18, 30, 0.95
KINDS: Final = {
    "report": ("src/**/text.md", "src/tierwise/report/text/*.md", "report/*.qmd"),
    "documents": ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "report/README.md"),
    "docstrings and help": ("src/**/*.py", "scripts/*.py", "src/tierwise/options.toml"),
}
ASIDE_HTML: Final = "table, figure, figcaption, li, blockquote, pre, nav, header, footer, details"
ASIDE: Final = re.compile(r"^```.*?^```[^\n]*$|<!--.*?-->|\{%.*?%\}|^:::.*?$|\$\$.*?\$\$", re.MULTILINE | re.DOTALL)
"""Code blocks, comments, Jinja's statements, the marks around captions, formulas."""
BLOCK: Final = re.compile(r"\s*([-*+>|#]|\d+\.|!\[|[\w ()*,]+:$)(\s|\||$)|>>>|\s*[a-z_, ]+: ")
"""How a heading, a table, a list, a quotation, or a list of arguments begins."""
END: Final = re.compile(r"(?<=[.?!])[*_)”\"]*\s+(?=[*_(“\"\[`]*[A-Z0-9{`])")
CODE: Final = re.compile(r"``[^`]*``|`[^`]*`|\{\{.*?\}\}")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of the paragraphs of `text`, which is Markdown or a docstring."""
    for block in re.split(r"\n\s*\n", ASIDE.sub("", text)):
        if (lines := block.strip("\n").splitlines()) and not BLOCK.match(lines[0]):
            yield from (one for one in END.split(" ".join(lines)) if len(words(one)) > 1)


def words(sentence: str) -> list[str]:
    """Return the words of `sentence`; code and an inserted number count as one word each."""
    return [word for word in CODE.sub(" code ", sentence).split() if re.search(r"\w", word)]


def texts(path: Path) -> Iterator[str]:
    """Yield what people read in the file at `path`."""
    whole = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(whole)):
            if isinstance(node, ast.Expr | ast.keyword) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                yield node.value.value if isinstance(node, ast.Expr) or node.arg == "help" else ""
    elif path.suffix == ".toml":
        yield from (text for entries in tomllib.loads(whole).values() for text in entries.values())
    elif path.suffix == ".ipynb":
        for output in (output for cell in json.loads(whole)["cells"] for output in cell.get("outputs", ())):
            yield "".join(output.get("data", {}).get("text/markdown", ""))
    elif path.suffix == ".html":
        page = BeautifulSoup(whole, "html.parser")
        yield from (" ".join(one.get_text().split()) for one in page.select("main p") if not one.find_parent(ASIDE_HTML.split(", ")))
    else:
        yield whole


def summary(lengths: list[int]) -> tuple[float, int]:
    """Return the median, and the length that 95 % of the sentences do not exceed."""
    return median(lengths), sorted(lengths)[ceil(SHARE * len(lengths)) - 1]


def faults(names: Iterable[str], kind: str) -> list[str]:
    """Print the numbers of the files `names`, and return their longest sentences if there are too many long ones."""
    found = {name: [one for text in texts(Path(name)) for one in sentences(text)] for name in names}
    every = sorted(((len(words(one)), name, one) for name, several in found.items() for one in several), reverse=True)
    middle, high = summary([length for length, *_ in every] or [0])
    for name, several in found.items():
        if "--all" in sys.argv and several:
            print("{}: {} sentences, median {:g}, 95 % {}".format(name, len(several), *summary([len(words(one)) for one in several])))
    print(f"{kind}: {len(every)} sentences, median {middle:g} words (at most {MEDIAN}), 95 % at most {high} (at most {MOST})")
    return [f"{name}: {length} words: {one}" for length, name, one in every[:20]] if middle > MEDIAN or high > MOST else []


def tracked(patterns: Iterable[str]) -> list[str]:
    """Return the files of the repository that match `patterns`."""
    command = ["git", "ls-files", *(f":(glob){pattern}" for pattern in patterns)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


if __name__ == "__main__":
    given = [name for name in sys.argv[1:] if name != "--all"]
    chosen = {"given": given} if given else {kind: tracked(patterns) for kind, patterns in KINDS.items()}
    sys.exit("\n".join(fault for kind, names in chosen.items() for fault in faults(names, kind)) or None)
