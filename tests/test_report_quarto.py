"""Quarto, the optional engine: which one is found, from which version on, and what an attempt to install it leaves."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tierwise import doctor
from tierwise.core.errors import MissingError
from tierwise.core.paths import home
from tierwise.report import quarto
from tierwise.report.render import choose

Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Put a Quarto on PATH, alone, that says it has a version."""

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
    assert doctor.examine_quarto().state is doctor.State.OK


def test_one_that_is_too_old_is_passed_over_and_doctor_says_so(program: Program) -> None:
    program("1.9.17")
    assert choose("auto").name.startswith("Pandoc")
    with pytest.raises(MissingError, match=r"Quarto 1\.9\.18 or newer: make quarto"):
        choose("quarto")
    found = doctor.examine_quarto()
    assert (found.state, found.detail) == (doctor.State.OPTIONAL, "1.9.17 is older than 1.9.18")


def test_one_that_does_not_run_is_none(program: Program) -> None:
    program("; exit 1")
    assert not quarto.usable()
    assert doctor.examine_quarto().detail == "not found"


def test_doctor_tells_what_the_set_up_s_attempt_came_to(program: Program, tmp_path: Path) -> None:
    (tmp_path / "quarto.txt").write_text("Quarto 1.10.18 is not installed: no network\n", encoding="utf-8")
    found = doctor.examine_quarto()
    assert (found.detail, found.remedy) == ("Quarto 1.10.18 is not installed: no network", "make quarto")


def attempt(environment: Path, *arguments: str) -> str:
    """Run the attempt without network, for a folder that has no Quarto; what it says."""
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(home() / "src")}
    command = [sys.executable, "scripts/setup_quarto.py", str(environment), *arguments]
    done = subprocess.run(command, cwd=home(), env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_attempt_without_network_is_recorded_and_made_once_unless_asked_for(tmp_path: Path) -> None:
    outcome = "Quarto 1.10.18 is not installed: no network, or no mirror with quarto-cli; `make quarto` tries again\n"
    assert attempt(tmp_path, "--once").endswith(outcome)
    assert (tmp_path / "quarto.txt").read_text(encoding="utf-8") == outcome
    assert attempt(tmp_path, "--once") == ""
    assert attempt(tmp_path).endswith(outcome)


def test_make_quarto_tries_again_even_where_the_set_up_keeps_a_record() -> None:
    told = subprocess.run(["make", "--dry-run", "quarto"], cwd=home(), capture_output=True, text=True, check=True).stdout.splitlines()
    assert re.search(r"python scripts/setup_quarto\.py \S+$", told[-1])
    (once,) = re.findall(r".*setup_quarto\.py.*", (home() / "scripts" / "setup.sh").read_text(encoding="utf-8"))
    assert once.endswith(" --once")
