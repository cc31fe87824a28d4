"""The words of ``docs/glossary.md``, as the report's pages explain them."""

import re
from collections.abc import Iterator
from typing import Final

from tierwise.core import paths

SECTIONS: Final = ("The sources", "What is measured")
ROW: Final = re.compile(r"^\| ([^|]+) \| (.+) \|$", re.MULTILINE)
MARKS: Final = re.compile(r"[`*]")


def forms() -> dict[str, dict[str, str]]:
    """Return each word in lower case, in singular and plural -> ``word``, the word itself, and ``meaning``, without marks."""
    meaning = {word: {"word": word, "meaning": MARKS.sub("", text)} for word, text in _entries()}
    return {form: entry for word, entry in meaning.items() for form in (word.lower(), _plural(word.lower()))}


def _entries() -> Iterator[tuple[str, str]]:
    whole = (paths.home() / "docs" / "glossary.md").read_text(encoding="utf-8")
    for section in SECTIONS:
        for word, text in ROW.findall(whole.split(f"## {section}\n")[1].split("\n## ")[0]):
            if word != "word":
                yield word, text


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("dy") else word if word.endswith("s") else f"{word}s"
