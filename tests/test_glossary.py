"""One word, one thing: ``docs/glossary.md`` is short, its words are used, and the words that went are gone."""

import re
import subprocess
from pathlib import Path

import pytest

from tierwise.analysis.claims import load_claims
from tierwise.core import paths

HOME = paths.home()
TEXT = (HOME / "docs" / "glossary.md").read_text(encoding="utf-8")
MOST_WORDS = 25
PLACES = (
    "src",
    "notebooks",
    "report",
    "docs",
    "README.md",
    "CONTRIBUTING.md",
    "data/published",
    "data/tiers",
    "data/costs",
    "data/devices",
)
SUFFIXES = {".py", ".sql", ".toml", ".ipynb", ".md", ".qmd", ".csv"}
BLOCKS = (
    r"[Bb]locks? (read|found|asked|sequences?|of (8 KiB|the (table|index)|tables|indexes)|that [^.,;>]* (reads?|asks?|asked|miss|misses))"
)
"""The pages of a relation. A word of a format, of a device or of a file system is its own."""
RETIRED = (
    r"fore(told|tell\w*|see|seeing)",
    r"[Ss]ources? [MLVHR]",
    r"clean pairs?",
    r"serving_processes",
    BLOCKS,
    r"(cache|state) (state|folder)s?",
    r"I/O arms?",
    r"(CacheState|BlockCount(er)?|no_state)",
    r"(blocks missed|heap_blocks|index_blocks)",
)


def section(title: str) -> str:
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def words() -> list[str]:
    """Every word of the glossary, in its order."""
    tables = section("The sources") + section("What is measured")
    return [word for word in re.findall(r"^\| ([^|]+) \|", tables, re.MULTILINE) if word != "word"]


def texts() -> dict[Path, str]:
    """What is read and written: code, notebooks, pages, and the inputs whose words are shown. The glossary itself aside."""
    listed = subprocess.run(["git", "ls-files", *PLACES], cwd=HOME, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {HOME / name for name in listed} - {HOME / "docs" / "glossary.md"}
    return {path: path.read_text(encoding="utf-8") for path in sorted(found) if path.suffix in SUFFIXES and path.exists()}


def test_the_glossary_has_no_more_words_than_one_can_keep() -> None:
    assert 15 <= len(words()) <= MOST_WORDS
    assert len(set(words())) == len(words())


@pytest.mark.parametrize("word", words())
def test_each_word_is_used_in_the_code_or_on_the_pages(word: str) -> None:
    assert any(re.search(rf"\b{word}", text, re.IGNORECASE) for text in texts().values())


@pytest.mark.parametrize("pattern", RETIRED)
def test_a_word_that_went_is_nowhere(pattern: str) -> None:
    found = [f"{path.relative_to(HOME)}: {match[0]}" for path, text in texts().items() for match in re.finditer(rf"\b{pattern}\b", text)]
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "was it foretold?",
        "what `foresee` tells",
        "Source H's bars",
        "five clean pairs",
        "of sources M and H",
        "Blocks of the table",
        "a block sequence",
        "the blocks that a count reads",
        "both I/O arms",
    ],
)
def test_a_word_that_went_would_be_seen(text: str) -> None:
    assert any(re.search(rf"\b{pattern}\b", text) for pattern in RETIRED)


def test_the_sources_are_called_what_their_claims_call_them() -> None:
    named = {source.name.removeprefix("the "): source.author for source in load_claims().sources.values()}
    rows = re.findall(r"^\| ([^|]+) \| ([^'|]+)'s", section("The sources"), re.MULTILINE)
    assert rows
    assert [(word, author) for word, author in rows if named.get(word) != author] == []
