"""Quarto, the optional engine: which one is found, from which version on, and what an attempt to install it leaves."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tierwise import doctor
from tierwise.core.errors import MissingError, TierwiseError
from tierwise.core.paths import home
from tierwise.report import quarto
from tierwise.report.project import OUTPUTS, Book
from tierwise.report.render import choose
from tierwise.report.site import PDFS

Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:

    def put(version: str) -> Path:
        path = tmp_path / "quarto"
        path.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return put


def test_the_oldest_version_is_that_of_the_conda_route_and_the_pin_is_not_older() -> None:
    conda = yaml.safe_load((home() / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert f"quarto>={quarto.OLDEST_TEXT},<2" in conda
    (pin,) = re.findall(r"quarto-cli==([\d.]+) --hash=sha256:[0-9a-f]{64}", (home() / "scripts" / "quarto.txt").read_text(encoding="utf-8"))
    assert quarto.OLDEST <= tuple(map(int, pin.split("."))) < (2,)


def test_auto_takes_a_quarto_that_is_new_enough_and_plain_is_never_quarto(program: Program) -> None:
    program("1.10.18")
    assert choose("auto").name == choose("quarto").name == "Quarto 1.10.18"
    assert choose("plain").name.startswith("Pandoc")
    assert doctor.examine_quarto().status is doctor.Status.OK


def test_one_that_is_too_old_is_passed_over_and_doctor_says_so(program: Program) -> None:
    program("1.9.17")
    assert choose("auto").name.startswith("Pandoc")
    with pytest.raises(MissingError, match=r"Quarto 1\.9\.18 or newer: make quarto"):
        choose("quarto")
    found = doctor.examine_quarto()
    assert (found.status, found.detail) == (doctor.Status.OPTIONAL, "1.9.17 is older than 1.9.18")


def test_one_that_does_not_run_is_none(program: Program) -> None:
    program("; exit 1")
    assert not quarto.usable()
    assert doctor.examine_quarto().detail == "not found"


RENDERS = """
printf '\\r[1/2] index.qmd\\n' >&2; printf '\\r[2/2] method.qmd\\n' >&2
mkdir "$2/_book"; echo '<body>a page</body>' > "$2/_book/index.html"; echo '[{"text": "a page"}]' > "$2/_book/search.json"
[ -f "$2/tierwise.qmd" ] && pdf=tierwise || pdf=tierwise-annex; echo "$pdf" > "$2/_book/$pdf.pdf"
"""


def book_of(folder: Path) -> Book:
    shutil.copytree(home() / "report", folder, ignore=shutil.ignore_patterns(*OUTPUTS))
    return Book(folder, "A title", "", {"index.qmd": "# One\n", "method.qmd": "# Two\n"}, {"run": "r"})


def test_it_renders_book_and_paper(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath, prepend=os.pathsep)
    program(f"1.10.18{RENDERS}".replace("\n", "\n[ $1 = --version ] && exit\n", 1))
    engine, book = choose("quarto"), book_of(tmp_path / "book")
    engine.build(book, tmp_path / "site")
    paper = replace(book_of(tmp_path / "paper"), chapters={"tierwise.qmd": "# One\n"}, paper=True)
    (paper.folder / "tierwise.qmd").write_text("# One\n", encoding="utf-8")
    engine.typeset(paper, tmp_path / "site")
    assert {name: (tmp_path / "site" / file).read_text(encoding="utf-8") for name, file in PDFS.items()} == {
        "paper": "tierwise\n",
        "annex": "tierwise-annex\n",
    }


def test_quarto_s_search_gets_its_index_as_a_script_where_nothing_may_be_fetched(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('[{"text": "a turn"}]\n', encoding="utf-8")
    page = '<html><body><nav class="quarto-secondary-nav">Bar</nav><nav id="quarto-sidebar" class="sidebar">All</nav>\n</body></html>'
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    quarto.finish(tmp_path)
    made = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<nav class="quarto-secondary-nav" aria-label="This page">' in made
    assert '<nav id="quarto-sidebar" aria-label="Chapters" class="sidebar">' in made
    assert made.endswith("</script>\n</body></html>")
    assert '<script src="search.js">' not in made.replace("document.write('<script src", ""), "a server's page does not load it"
    assert 'fuseIndex = new Fuse([{"text": "a turn"}], kFuseIndexOptions);' in (tmp_path / "search.js").read_text(encoding="utf-8")


def test_what_fails_says_what_quarto_said(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath, prepend=os.pathsep)
    program("1.10.18\n[ $1 = --version ] && exit\necho no space left >&2; exit 1")
    with pytest.raises(TierwiseError, match="quarto render: no space left"):
        choose("quarto").build(book_of(tmp_path / "book"), tmp_path / "site")
    assert not (tmp_path / "site").exists()


def attempt(environment: Path, *arguments: str) -> str:
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(home() / "src")}
    command = [sys.executable, "scripts/setup_quarto.py", str(environment), *arguments]
    done = subprocess.run(command, cwd=home(), env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_attempt_without_network_is_recorded_and_made_once_unless_requested(tmp_path: Path) -> None:
    outcome = "Quarto 1.10.18 is not installed: no network, or no mirror with quarto-cli; `make quarto` tries again\n"
    assert attempt(tmp_path, "--once").endswith(outcome)
    assert (tmp_path / "quarto.txt").read_text(encoding="utf-8") == outcome
    assert attempt(tmp_path, "--once") == ""
    assert attempt(tmp_path).endswith(outcome)
