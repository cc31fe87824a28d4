"""Whatever a reader may touch, however it is spoilt: a right answer or one clear line, soon, and never a traceback."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from bad_input import COMMAND_S, Case, Child, by_command
from bad_input_mutations import mutated_file, mutated_options
from bad_input_targets import TARGETS, Target, make_home, read

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # of how a long case is shown
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "tierwise-hypothesis")

IN_PROCESS, BY_COMMAND, SOAKED = 180, 12, 10_000
"""Cases over all targets: in a child that has loaded everything, by the command line, and with other cases each time."""
WARMING_S = 120.0  # processor time that a target may take at first, while libraries load and code is compiled
COMMANDS = [target for target in TARGETS if target.read is None]  # what reads files is in process: the command line is the same


def cases(count: int, targets: int, target: Target, *, derandomize: bool = True) -> settings:
    """Return the same cases of `target` each time, as many for each of so many `targets` that they are `count`; nothing is remembered."""
    return settings(
        max_examples=-(-count // (3 * targets if target.dear else targets)),
        derandomize=derandomize,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )


def spoilt(target: Target) -> st.SearchStrategy[Case]:
    if target.file:
        return mutated_file(target.file, target.sample).map(lambda content: Case(target.name, target.file, content, target.command))
    if target.environment:
        changed = mutated_options([f"{name}={value}" for name, value in target.environment])
        return changed.map(lambda words: Case(target.name, options=target.command, environment=as_variables(words)))
    return mutated_options(target.command).map(lambda words: Case(target.name, options=words))


def as_variables(words: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def valid(target: Target) -> Case:
    return Case(target.name, target.file, target.sample if target.file else b"", target.command, dict(target.environment))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("home")
    make_home(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def child(home: Path) -> Iterator[Child]:
    with Child(home, read) as process:
        yield process


def hold(child: Child, target: Target, chosen: settings) -> None:
    begun = child.answer(valid(target), processor_s=WARMING_S)
    assert (begun.line, begun.fault) == ("", ""), "the sample must be valid"

    @chosen
    @given(spoilt(target))
    def check(case: Case) -> None:
        child.answer(case).check()

    check()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_bad_input_is_reported_in_one_line(child: Child, target: Target) -> None:
    hold(child, target, cases(IN_PROCESS, len(TARGETS), target))


@pytest.mark.soak
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_much_more_bad_input_is_reported_in_one_line(child: Child, target: Target) -> None:
    hold(child, target, cases(SOAKED, len(TARGETS), target, derandomize=False))


@pytest.fixture(scope="module")
def starter() -> Iterator[ProcessPoolExecutor]:
    """Provide a small process that starts commands: what a large one starts is reported to have been as large."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        yield process


@pytest.mark.parametrize("target", COMMANDS, ids=lambda target: target.name)
def test_bad_input_is_reported_by_the_command_line_with_exit_code_2(home: Path, starter: ProcessPoolExecutor, target: Target) -> None:
    @cases(BY_COMMAND, len(COMMANDS), target)
    @given(spoilt(target))
    def check(case: Case) -> None:
        reported = starter.submit(by_command, home, case, WARMING_S).result()
        if reported.processor_s > COMMAND_S:  # code was compiled, or a neighbour had the processor's other half
            reported = starter.submit(by_command, home, case, WARMING_S).result()
        reported.check(COMMAND_S)

    check()
