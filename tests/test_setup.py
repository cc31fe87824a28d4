"""The set-up of a fresh clone: what it refuses, in one line with the command that helps, and when it has nothing to do.

The programs that tell it of the machine (``uname``, ``python3``, ``apt-cache``) are replaced on PATH; everything else is real.
That a fresh clone really installs every pin is what continuous integration shows, each time, before it runs these tests.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tierwise.core.paths import home

TOOLS = ("awk", "basename", "cat", "df", "dirname", "id", "ls", "mkdir", "rm", "sed", "sh", "stat", "tail", "touch", "tr", "uname")
REAL_PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
OFFLINE = {
    "https_proxy": "http://127.0.0.1:1",
    "http_proxy": "http://127.0.0.1:1",
    "PIP_RETRIES": "1",
    "PIP_FIND_LINKS": "",
    "PIP_NO_CACHE_DIR": "1",
}


class Clone:
    """A fresh checkout with what the set-up reads, and a PATH that holds only what a test puts there."""

    def __init__(self, folder: Path):
        self.folder, self.bin = folder / "clone", folder / "bin"
        for name in (
            "Makefile",
            "requirements.txt",
            "pyproject.toml",
            "README.md",
            "LICENSE",
            "scripts",
            "data/profiles",
            "src/tierwise/core",
        ):
            self._copy(name)
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)

    def _copy(self, name: str) -> None:
        source, target = home() / name, self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def needs(self, profile: str, size_bytes: int) -> None:
        path = self.folder / "data/profiles" / f"{profile}.toml"
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("free_space_bytes")]
        path.write_text("\n".join([f"free_space_bytes = {size_bytes:_}", *lines]), encoding="utf-8")

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "HOME": str(self.folder), **variables}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def refusal(self, **variables: str) -> str:
        """Return the one line with which the set-up refuses; that it wrote nothing is checked too."""
        done = self.run("sh", "scripts/setup.sh", ".venv", **variables)
        assert done.returncode == 1, done
        assert not (self.folder / ".venv").exists(), "refused only after it had begun"
        return one_line(done.stderr)


def one_line(said: str) -> str:
    lines = said.splitlines()
    assert len(lines) == 1, said
    assert lines[0].startswith("tierwise: ")
    return lines[0]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.mark.parametrize(
    ("machine", "names", "remedy"),
    [
        ("Darwin 25.1.0 arm64", "macOS", "multipass launch"),
        ("MINGW64_NT-10.0 3.4 x86_64", "MINGW64_NT-10.0", "wsl --install"),
        ("FreeBSD 15.0 amd64", "FreeBSD", "Use Linux"),
        ("Linux 6.1.0 armv7l", "armv7l", "rsync"),
        ("Linux 4.4.0-19041-Microsoft x86_64", "WSL1", "wsl --set-version"),
    ],
)
def test_an_unsupported_system_is_reported_what_to_do(clone: Clone, machine: str, names: str, remedy: str) -> None:
    system, release, architecture = machine.split()
    clone.program("uname", f"case $1 in -s) echo {system} ;; -r) echo {release} ;; -m) echo {architecture} ;; esac")
    said = clone.refusal()
    assert names in said
    assert remedy in said


def test_too_little_space_is_reported_before_anything_else(clone: Clone) -> None:
    clone.needs("quick", 10**15)
    said = clone.refusal()  # there is no Python on this PATH either: space comes first
    assert "profile quick and its environment need 1000002.0 GB free" in said
    assert "make report PROFILE=smoke" in said


def test_a_work_folder_elsewhere_is_measured_where_it_lies(clone: Clone, tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system to point TIERWISE_WORK at")
    clone.needs("quick", 10**15)
    assert "needs 1000000.0 GB free in TIERWISE_WORK" in clone.refusal(TIERWISE_WORK=str(memory / "not" / "there"))
    clone.needs("quick", 1)
    assert "no Python" in clone.refusal(TIERWISE_WORK=str(memory / "not" / "there"))


def test_without_python_the_package_that_this_system_has_is_named(clone: Clone) -> None:
    clone.program("apt-cache", '[ "$2" = python3.12-venv ]')
    assert "apt-get install python3.12 python3.12-venv" in clone.refusal()


def test_an_old_python_is_as_good_as_none(clone: Clone) -> None:
    clone.program("python3", f'shift; exec {REAL_PYTHON} -c "import sys; sys.version_info = (3, 10, 13); $1"')
    assert "there is no Python >= 3.11 on PATH" in clone.refusal()


def test_a_python_that_was_named_and_does_not_run_is_reported(clone: Clone) -> None:
    assert "PYTHON=python4 is no Python >= 3.11. Let it be found: make report PYTHON=" in clone.refusal(PYTHON="python4")


def test_a_python_without_venv_names_the_package_of_that_very_version(clone: Clone) -> None:
    clone.program("python3", f'shift; exec {REAL_PYTHON} -c "import sys; sys.modules[\'ensurepip\'] = None; exec(sys.argv[1])" "$1"')
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    said = clone.refusal()
    assert "python3 has no venv module" in said
    assert f"apt-get install python{version}-venv" in said
    assert ("sudo" in said) == (os.geteuid() != 0)


def test_a_half_made_environment_is_begun_anew_and_without_network_one_line_says_so(clone: Clone) -> None:
    clone.program("python3", f'exec {REAL_PYTHON} "$@"')
    environment = clone.folder / ".venv"
    environment.mkdir()
    for left_behind in (".unfinished", "half-made"):
        (environment / left_behind).touch()
    done = clone.run("sh", "scripts/setup.sh", ".venv", **OFFLINE)
    assert done.returncode == 1
    assert "the first set-up needs the network and finds none. Connect, then: make report" in done.stderr.splitlines()[-1]
    assert not (environment / "half-made").exists(), "a half-made environment was built upon"
    assert (environment / ".unfinished").exists(), "the next run would build upon this one"
    assert not (environment / ".ready").exists()


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "its hash differs"),
        ("pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(...): Read timed out.", "needs the network"),
        (
            "WARNING: Retrying\nERROR: Could not find a version (from versions: 1.0)\nERROR: No matching distribution found for x==2",
            "there is no build of x==2 for Python",
        ),
        ("ERROR: something new", "pip failed: ERROR: something new. Begin anew: make clean report"),
        ("", "pip failed: without a word"),
    ],
)
def test_what_pip_says_becomes_one_line(clone: Clone, log: str, says: str) -> None:
    script = f"import sys; sys.path[:0] = ['scripts', 'src']; import setup_install; print(setup_install.explain({log!r}))"
    said = clone.run(sys.executable, "-c", script).stdout
    assert says in said
    assert len(said.splitlines()) == 1


class TestMake:
    """`make` with an environment that is complete: ``.venv/.ready`` is newer than what it is made from, and names this folder."""

    @pytest.fixture
    def ready(self, clone: Clone) -> Clone:
        (clone.folder / ".venv" / "bin").mkdir(parents=True)
        (clone.folder / ".venv" / "bin" / "python").symlink_to(REAL_PYTHON)
        (clone.folder / ".venv" / ".ready").write_text(f"{clone.folder.resolve()}\n", encoding="utf-8")
        (clone.bin / "make").symlink_to(shutil.which("make") or "make")
        return clone

    def is_up_to_date(self, clone: Clone) -> bool:
        return clone.run("make", "--question", ".venv/.ready", **OFFLINE, PIP_NO_INDEX="1").returncode == 0

    def test_a_second_run_needs_no_network(self, ready: Clone) -> None:
        assert self.is_up_to_date(ready)
        done = ready.run("make", ".venv/.ready", **OFFLINE, PIP_NO_INDEX="1")
        assert done.returncode == 0
        assert not done.stderr

    @pytest.mark.parametrize("changed", ["requirements.txt", "pyproject.toml"])
    def test_changed_pins_are_installed(self, ready: Clone, changed: str) -> None:
        later = (ready.folder / ".venv" / ".ready").stat().st_mtime + 1
        os.utime(ready.folder / changed, (later, later))
        assert not self.is_up_to_date(ready)

    def test_a_checkout_that_was_moved_is_set_up_again(self, ready: Clone) -> None:
        ready.folder = ready.folder.rename(ready.folder.with_name("moved"))
        assert not self.is_up_to_date(ready)

    def test_an_environment_whose_python_is_gone_is_set_up_again(self, ready: Clone) -> None:
        (ready.folder / ".venv" / "bin" / "python").unlink()
        (ready.folder / ".venv" / "bin" / "python").symlink_to(ready.folder / "gone")
        assert not self.is_up_to_date(ready)

    def test_inside_the_conda_environment_that_one_is_used(self, ready: Clone) -> None:
        conda = {"CONDA_DEFAULT_ENV": "tierwise", "CONDA_PREFIX": str(ready.folder / "conda")}
        planned = ready.run("make", "--dry-run", "report", **conda).stdout
        assert f"setup.sh {conda['CONDA_PREFIX']}" in planned
        assert f"{conda['CONDA_PREFIX']}/bin/tierwise report" in planned

    def test_options_reach_the_program_through_the_environment(self, ready: Clone) -> None:
        program = ready.folder / ".venv" / "bin" / "tierwise"
        program.write_text('#!/bin/sh\necho "$1 $PROFILE $TIERS $SEED $CENSUS $SKY $FRESH $RUN $ENGINE $PG_BIN"\n', encoding="utf-8")
        program.chmod(0o755)
        requested = ("TIERS=mine", "SEED=7", "CENSUS=file:/a b/c", "SKY=file:/d e", "FRESH=1", "RUN=r", "ENGINE=plain", "PG_BIN=/pg")
        assert ready.run("make", "report", *requested).stdout == "report quick mine 7 file:/a b/c file:/d e 1 r plain /pg\n"
        assert ready.run("make", "report", PROFILE="smoke").stdout.split() == ["report", "smoke"]

    def test_help_has_a_line_for_every_target(self, ready: Clone) -> None:
        reported, _, options = ready.run("make").stdout.partition("options, for example make report PROFILE=smoke\n")
        listed = {line.split()[1]: line.split()[2:] for line in reported.splitlines()}
        lines = (ready.folder / "Makefile").read_text(encoding="utf-8").splitlines()
        phony, exported = (next(line for line in lines if line.startswith(word)).split()[1:] for word in (".PHONY", "export "))
        assert list(listed) == phony
        assert all(listed.values())
        assert {"report", "test", "check", "bench", "soak", "clean", "help"} <= listed.keys()
        assert [name for name in exported if not re.search(rf"\b{name} ", options.replace("=", " "))] == []


def test_no_package_registry_is_named() -> None:
    places = (
        "Makefile",
        "pyproject.toml",
        "requirements.txt",
        "environment.yml",
        "README.md",
        "CONTRIBUTING.md",
        "scripts/setup.sh",
        ".ci/run",
    )
    for name in (*places, "scripts/setup_install.py"):
        text = (home() / name).read_text(encoding="utf-8").lower()
        assert not [word for word in ("py" + "pi.", "python" + "hosted", "--index", "trusted-host", "anaconda.org") if word in text], name
