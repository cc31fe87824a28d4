"""Measure the sentences of documents: ``python scripts/check_sentences.py FILE...`` ends with 1 where they are too long.

Paragraphs of a Markdown file count, not headings, tables, code, lists and quotations; docstrings and ``help=`` of a Python file count.
``--all`` prints each file's own numbers.
"""

import ast
import re
import sys
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from statistics import median
from typing import Final

MEDIAN, MOST, SHARE = 18, 30, 0.95
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
    for node in ast.walk(ast.parse(whole)) if path.suffix == ".py" else ():
        if isinstance(node, ast.Expr | ast.keyword) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value if isinstance(node, ast.Expr) or node.arg == "help" else ""
    yield whole if path.suffix != ".py" else ""


def summary(lengths: list[int]) -> tuple[float, int]:
    """Return the median, and the length that 95 % of the sentences do not exceed."""
    return median(lengths), sorted(lengths)[ceil(SHARE * len(lengths)) - 1]


if __name__ == "__main__":
    found = {name: [one for text in texts(Path(name)) for one in sentences(text)] for name in sys.argv[1:] if name != "--all"}
    every = sorted(((len(words(one)), name, one) for name, several in found.items() for one in several), reverse=True)
    middle, high = summary([length for length, *_ in every] or [0])
    for name, several in found.items():
        if "--all" in sys.argv and several:
            print("{}: {} sentences, median {:g}, 95 % {}".format(name, len(several), *summary([len(words(one)) for one in several])))
    print(f"{len(every)} sentences: median {middle:g} words (at most {MEDIAN}), 95 % at most {high} (at most {MOST})")
    if middle > MEDIAN or high > MOST:
        sys.exit("\n".join(f"{name}: {length} words: {one}" for length, name, one in every[:20]))
