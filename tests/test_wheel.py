"""The wheel without extras, where no checkout is near: it holds every input of `data/`, and what needs more says so in one line."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from test_validate_device import MODEL, SEEK, TRACE
from tierwise.cli import NEED_CHECKOUT
from tierwise.core.errors import EXTRAS
from tierwise.core.paths import home
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import loading_settings
from tierwise.recorders.selection import RECORDERS

ZIPF = ("simulate", "zipf", "--device", "crucial-m4", "--dataset-gib", "1", "--cache-gib", "0.5", "--scale", "1024")
OUTPUTS = ("work", "raw", "external")
HIDDEN = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in {sorted(name for names in EXTRAS.values() for name in names)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""


@dataclass(frozen=True)
class Installed:
    """The wheel as pip installs it, beside the interpreter's own libraries; commands run in `away`, a folder of the reader's."""

    wheel: Path
    target: Path
    away: Path
    without: Path  # a folder whose sitecustomize hides what extras bring

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        known = {name: value for name, value in os.environ.items() if not name.startswith(("TIERWISE", "PYTHONDONTWRITE"))}
        ours = {
            "PYTHONPATH": f"{self.without}{os.pathsep}{self.target}",
            "PYTHONPYCACHEPREFIX": str(self.target.with_name("compiled")),
            "PYTHONWARNINGS": "error",
            "NUMBA_CACHE_DIR": str(self.away),
        }
        command = [sys.executable, "-m", "tierwise", *arguments]
        return subprocess.run(command, cwd=self.away, env=known | ours | environment, capture_output=True, text=True, check=False)

    def answer(self, *arguments: str, **environment: str) -> str:
        done = self.run(*arguments, **environment)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def refusal(self, *arguments: str) -> tuple[int, str]:
        done = self.run(*arguments)
        assert done.stderr.startswith("tierwise: "), done
        assert done.stderr.count("\n") == 1, done
        return done.returncode, done.stderr


def built(form: str, folder: Path, source: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", form, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("wheel")
    made = Installed(built("wheel", folder / "dist", home()), folder / "target", folder / "away", folder / "without")
    for each in (made.away, made.without):
        each.mkdir()
    (made.without / "sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(made.target)]
    subprocess.run([*pip, str(made.wheel)], check=True)
    before = contents(made.target)
    yield made
    assert contents(made.target) == before, "a command wrote into the package"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def inputs() -> dict[str, bytes]:
    """Every file of `data/` that git has, or would take."""
    listed = ["git", "-C", str(home()), "ls-files", "--cached", "--others", "--exclude-standard", "data"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: (home() / name).read_bytes() for name in names if (home() / name).is_file()}


def test_the_wheel_has_every_input_and_no_output(installed: Installed) -> None:
    found = {name: content for name, content in contents(installed.target / "tierwise").items() if name.startswith("data/")}
    assert found == inputs()
    assert not [name for name in found if name.split("/")[1] in OUTPUTS]
    assert not (home() / "src" / "tierwise" / "data").exists(), "a checkout's inputs lie where readers look for them"


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ((), "Reference run "),
        (("cost", "--price", "ssd-m4-128gb=100"), "crucial-m4"),
        (("volumes", "--gib", "500", "--iops", "6000", "--mibs", "200"), "aws-gp3"),
        (("claims", "--run", "reference"), "M1"),
        pytest.param(("advise", "--ssd-gib", "4", "--run", "reference"), "ssd", marks=pytest.mark.soak),
        pytest.param(ZIPF, "reads", marks=pytest.mark.soak),  # the most of a minute: nothing is compiled yet there
    ],
    ids=lambda given: (given[0] if given else "alone") if isinstance(given, tuple) else "",
)
def test_a_command_that_needs_no_checkout_works(installed: Installed, arguments: tuple[str, ...], reported: str) -> None:
    assert reported in installed.answer(*arguments)


def test_what_needs_an_extra_names_it(installed: Installed) -> None:
    (installed.away / "stars.fits").write_bytes(b"SIMPLE  =                    T".ljust(2880))
    code, said = installed.refusal("check-data", "--sky", f"file:{installed.away}/stars.fits")
    assert (code, "pip install 'tierwise[sky]'" in said) == (1, True), said


def test_doctor_examines_a_machine_without_extras(installed: Installed) -> None:
    done = installed.run("doctor", PG_BIN=str(find_binaries().folder))
    assert "Quarto" in done.stdout, done
    assert "Traceback" not in done.stderr, done
    assert not done.stderr.startswith("tierwise: the package"), done


def test_a_drive_is_validated(installed: Installed) -> None:
    for ending, text in (("trace", TRACE), ("model", MODEL), ("seek", SEEK)):
        (installed.away / f"small.{ending}").write_text(text, encoding="utf-8")
    files = ("--trace", "small.trace", "--model", "small.model", "--seek", "small.seek")
    assert "3 requests" in installed.answer("validate", "device", *files)


def test_a_running_server_is_traced(installed: Installed, cluster18: Cluster) -> None:
    if why := RECORDERS["strace"].obstacle():
        pytest.skip(why)
    cluster18.start(loading_settings())
    try:
        done = installed.run("trace", "--cluster", str(cluster18.data), "--seconds", "0.5", "--recorder", "strace")
    finally:
        cluster18.stop()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("all: ", "no read was seen"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("cost", "--on", "yesterday"),
        ("validate", "device", "--trace", "no-such-file", "--model", "no-such-file"),
        ("claims", "--run", "no-such-run"),
    ],
    ids=lambda given: " ".join(given[:4]),
)
def test_odd_input_is_one_line_there_too(installed: Installed, arguments: tuple[str, ...]) -> None:
    code, said = installed.refusal(*arguments)
    assert code == 2, said


@pytest.mark.parametrize("command", NEED_CHECKOUT)
def test_what_needs_the_checkout_says_so_and_doctor_lists_it(installed: Installed, command: str) -> None:
    more = {"run": ["read_latency"], "merge": ["latest"], "diff": ["latest"], "publish": ["somewhere"]}.get(command, [])
    code, said = installed.refusal(command, *more)
    assert (code, f"the checkout is missing: tierwise {command}" in said) == (1, True), said
    assert not [path.name for path in installed.away.iterdir() if path.name in {"somewhere", "data", "report"}]


def test_a_clone_that_is_named_is_worked_in(installed: Installed) -> None:
    assert "(" not in installed.answer("--version")
    done = installed.run("diff", "no-such-version", TIERWISE_HOME=str(home()))
    assert "the checkout is missing" not in done.stderr
