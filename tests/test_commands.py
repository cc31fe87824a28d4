"""What every command shares: how a run is named, what is said without a command, what is confirmed first, what a shell completes."""

import os
import pty
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from report_run import RUN_ID, rich_run
from support import SHIPPED_RUN, said, said_as_json
from tierwise import __version__
from tierwise.analysis.runs import find_run
from tierwise.cli import PANELS, app, main
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.text_table import WIDTH
from tierwise.core.units import GIB
from tierwise.costs.delivered import published_load
from tierwise.costs.hardware import load_hardware
from tierwise.costs.iops import LATENCY_MS
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import loading_settings
from tierwise.recorders.reads import MOST_READS
from tierwise.report import latest_answer, staleness
from tierwise.report.latest_answer import SHIPPED, Kept, answer_lines, newest_answer
from tierwise.report.reference import open_before, open_newest
from tierwise.report.run import open_run
from tierwise.scans.processor import ScanMethod, load_processor
from tierwise.timings.manifest import load_manifest

REFERENCE = SHIPPED_RUN.name


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readers")
    rich_run(folder / "raw")
    return folder


@pytest.fixture
def home(readers: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_RAW", str(readers / "raw"))
    monkeypatch.setenv("TIERWISE_SITE", str(readers / "_site"))
    return readers


def test_a_run_is_named_alike_wherever_one_is_opened(home: Path) -> None:
    assert find_run("latest") == find_run(RUN_ID) == home / "raw" / RUN_ID
    assert find_run("reference") == find_run(REFERENCE) == SHIPPED_RUN
    assert open_newest().run_id == open_newest("latest").run_id == RUN_ID
    assert open_before(open_run("latest"), "reference").is_reference
    for name in ("nonesuch", "..", "."):
        with pytest.raises(InputError, match="no such run"):
            find_run(name)


def test_the_commands_take_these_names(home: Path) -> None:
    assert said("claims", "--run", "latest").startswith(f"Run {RUN_ID}, profile quick: ")
    of_m = [claim["id"] for claim in said_as_json("claims", "--claim", "M")["claims"]]
    assert of_m == [f"M{number}" for number in range(1, 1 + len(of_m))]
    assert [claim["id"] for claim in said_as_json("claims", "--claim", "M1")["claims"]] == ["M1"]
    beside = said("diff", "latest", "reference")
    assert beside == said("diff", "reference", RUN_ID)
    assert re.search(r"together: \d+ cells; \d+ of \d+ claims have another verdict", beside.splitlines()[-1])
    said("export", "latest", str(home / "copy"))
    assert load_manifest(home / "copy" / RUN_ID).run_id == RUN_ID


def test_where_no_run_is_there_commands_read_the_reference_run_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    for command in (("claims",), ("advise", "--ssd-gib", "4"), ("move-plan",)):
        shown = said(*command).splitlines()
        assert shown[0].startswith(f"Reference run {REFERENCE}")
        assert max(map(len, shown)) <= WIDTH


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("volumes --gib 3", {"--iops", "--mibs"}),
        ("volumes --gib -5 --iops 1 --mibs 1", {"--gib"}),
        ("cost --on 1800-01-01", {"--on"}),
        ("emulate", {"DEVICE", "BACKING", "MOUNTPOINT"}),
        ("adviz", {"mean", "advise"}),
        ("cost sata-7k2 --latency-ms 1", {"--latency-ms", "sata-7k2"}),
        ("cost sata-7k2 --data-gib 1e300", {"data_bytes"}),
        ("cost gp33", {"mean", "gp3", "local-nvme", "aws-gp3"}),
        ("cost --iops simulatd", {"mean", "simulated", "published"}),
        ("run read_latencies", {"mean", "read_latency", "wal_placement"}),
        ("plan --profile quik", {"mean", "quick", "full"}),
        ("claims --run referense", {"mean", "reference"}),
        ("claims --run reference --claim Q9", {"--claim", "Q9", "claims"}),
        ("advise --ssd-gib 1 --run reference --pair sourc-m", {"mean", "source-m"}),
        ("advise --ssd-gib 1 --run reference --study survey_placement --workload join", {"mean", "joins", "light"}),
    ],
)
def test_what_is_missing_or_mistyped_is_answered_in_one_line_with_names(
    typed: str, names: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tierwise", *typed.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr().err
    assert (ended.value.code, shown.count("\n")) == (2, 1), shown
    assert names <= set(re.findall(r"[\w-]+", shown)), shown


def test_the_help_groups_all_commands_and_each_has_an_example() -> None:
    grouped = get_command(app)
    assert isinstance(grouped, TyperGroup)
    commands = [*grouped.commands.values()]
    for name in ("simulate", "validate", "device", "campaign"):
        inner = grouped.commands[name]
        assert isinstance(inner, TyperGroup)
        commands = [command for command in commands if command is not inner] + [*inner.commands.values()]
    assert {getattr(command, "rich_help_panel", None) for command in grouped.commands.values()} == set(PANELS)
    for command in commands:
        assert command.epilog
        assert command.epilog.startswith("Example: tierwise "), command.name
        assert all(getattr(parameter, "help", None) for parameter in command.params), command.name


def test_the_version_names_the_commit_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=paths.home(), capture_output=True, text=True, check=False)
    commit = f" ({described.stdout.strip()})" if described.returncode == 0 else ""
    assert said("--version") == f"tierwise {__version__}{commit}\n"
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert said("--version") == f"tierwise {__version__}\n"


def test_alone_it_says_the_newest_answer_in_five_lines_and_what_to_type_next(home: Path) -> None:
    answer, commands = said().split("\n\nnext:\n")
    lines = answer.splitlines()
    assert lines[0] == f"reading run {RUN_ID}", "on the terminal, the first time"
    assert len(lines[1:]) == 5
    assert lines[5].startswith(f"Run {RUN_ID}: ")
    assert not re.search(r"@sec|\*\*|`|nan|None", answer)
    assert "make report PROFILE=full " in commands, "after a quick run"
    assert newest_answer().split("\n\n")[0].splitlines() == lines[1:], "without reading the run again"


def test_where_no_run_is_there_the_answer_is_the_reference_run_s_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    monkeypatch.setenv("TIERWISE_SITE", str(tmp_path / "_site"))
    answer, commands = said().split("\n\nnext:\n")
    last = answer.splitlines()[-1]
    assert last.startswith(f"Reference run {REFERENCE}: ")
    assert "make report PROFILE=smoke " in commands
    assert "tierwise claims --run reference " in commands


def test_the_lines_that_ship_with_the_reference_run_are_those_that_the_code_makes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERWISE_SITE", str(tmp_path / "_site"))
    folder = find_run(REFERENCE)
    shipped = Kept.model_validate_json((folder / SHIPPED).read_bytes())
    assert shipped.inputs == staleness.given(folder), "scripts/ship_answer.py writes them anew"
    assert answer_lines(folder) == shipped.lines
    assert not (tmp_path / "_build").exists(), "nothing had to be reckoned"
    monkeypatch.setattr(latest_answer, "SHIPPED", "none.json")
    assert answer_lines(folder) == shipped.lines, "scripts/ship_answer.py writes them anew"


def test_a_clone_says_its_answer_in_two_seconds_of_processor_time(tmp_path: Path) -> None:
    ours = {**os.environ, "TIERWISE_RAW": str(tmp_path / "raw"), "TIERWISE_SITE": str(tmp_path / "_site")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "tierwise"], env=ours, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


def completed(words: str) -> list[str]:
    completing = {"_TIERWISE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = "from tierwise.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **completing}, capture_output=True, text=True, check=False
    ).stdout.split()


def test_a_shell_completes_commands_and_the_names_of_what_there_is(home: Path) -> None:
    assert {"claims", "report", "publish"} <= set(completed("tierwise "))
    assert completed("tierwise claims --run ") == ["latest", "reference", RUN_ID]
    assert completed("tierwise run read_") == ["read_latency"]
    assert completed("tierwise report --profile s") == ["smoke"]
    assert "crucial-m4" in completed("tierwise advise --ssd ")


def on_a_terminal(program: str, answer: str) -> tuple[int, str]:
    """Run a Python `program` at a terminal where somebody types `answer`; return its exit code and what was shown."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", program])
    os.write(terminal, f"{answer}\n".encode())
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # how a terminal ends whose last process is gone
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


QUESTION = "from tierwise.core.options import confirming; confirming(yes={yes})('measure now?'); print('under way')"


@pytest.mark.parametrize(
    ("yes", "answer", "begun", "prompted"), [(False, "y", True, True), (False, "n", False, True), (True, "n", True, False)]
)
def test_on_a_terminal_it_asks_before_it_begins_and_yes_answers(yes: bool, answer: str, begun: bool, prompted: bool) -> None:
    code, shown = on_a_terminal(QUESTION.format(yes=yes), answer)
    assert (code == 0, "under way" in shown, "measure now? [y/N]" in shown) == (begun, begun, prompted), shown


def test_a_measuring_run_that_is_declined_leaves_no_run(tmp_path: Path, workspace: Path) -> None:
    environment = {"TIERWISE_RAW": str(tmp_path / "raw"), "TIERWISE_SITE": str(tmp_path / "_site"), "TIERWISE_WORK": str(workspace)}
    settings = "".join(f"os.environ[{name!r}] = {value!r}; " for name, value in environment.items())
    program = f"import os, sys; {settings}sys.argv[1:] = ['report', '--profile', 'smoke']; from tierwise.cli import main; main()"
    code, shown = on_a_terminal(program, "n")
    assert code == 1, shown
    assert re.search(r"plan: \d+ trials, about [\d.]+ minutes", shown)
    assert "measure with profile smoke now? [y/N]" in shown
    assert "nothing was started" in shown
    assert not list((tmp_path / "raw").glob("*/manifest.json"))


def test_an_emulation_beside_a_running_server_or_over_files_needs_consent(cluster18: Cluster, tmp_path: Path) -> None:
    backing, mountpoint = cluster18.data.parent / "backing", tmp_path / "mount"
    for folder in (backing, mountpoint):
        folder.mkdir()
    arguments = ["emulate", "crucial-m4", str(backing), str(mountpoint)]
    program = f"import sys; sys.argv[1:] = {arguments!r}; from tierwise.cli import main; main()"
    (mountpoint / "file").touch()
    code, shown = on_a_terminal(program, "n")
    assert (code, "holds files, which nobody sees while it is mounted; go on?" in shown) == (1, True), shown
    (mountpoint / "file").unlink()
    cluster18.start(loading_settings())
    try:
        code, shown = on_a_terminal(program, "n")
    finally:
        cluster18.stop()
    assert (code, "a running PostgreSQL has files on the disk of" in shown) == (1, True), shown
    assert "is ready as" not in shown


LOAD, PROCESSOR = published_load().load, load_processor()
NUMBERS: dict[tuple[str, str], list[float]] = {
    ("cost", "data_gib"): [LOAD.data_bytes / GIB],
    ("cost", "ram_gib"): [LOAD.ram_bytes / GIB],
    ("cost", "reads_per_s"): [LOAD.reads_per_s],
    ("cost", "misses_per_read"): [round(LOAD.misses_per_read, 3)],
    ("cost", "life_years"): [load_hardware().assumptions.life_years.value],
    ("cost", "latency_ms"): [LATENCY_MS["ssd"], LATENCY_MS["hdd"]],
    ("predict-scan", "cpu_us_per_row"): [1e6 * PROCESSOR.row(method).base for method in ScanMethod],
    ("predict-scan", "cpu_speed"): [PROCESSOR.speed.value],
    ("trace", "out"): [MOST_READS],
}


@pytest.mark.parametrize(("command", "option"), NUMBERS)
def test_a_number_in_the_help_is_that_of_the_data(command: str, option: str) -> None:
    grouped = get_command(app)
    assert isinstance(grouped, TyperGroup)
    text = next(str(getattr(one, "help", "")) for one in grouped.commands[command].params if one.name == option)
    for number in NUMBERS[command, option]:
        assert re.search(rf"(?<![\d.]){number:,.6g}(?!\d|,\d)", text), text
