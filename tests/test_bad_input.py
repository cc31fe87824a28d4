"""Whatever a reader may touch, however it is spoilt: a right answer or one clear line, soon, and never a traceback."""

import io
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from bad_input import Case, Child
from bad_input_targets import TARGETS, Target, make_home, read

NUMBERS: Final = tuple(
    f"{sign}{number}"
    for sign in ("", "-")
    for number in ("0", "1", "nan", "inf", "1e308", "1e-320", "1e19", "0.5", "9223372036854775808", "9" * 40, "9" * 5000)
)
"""Zero, not a number, without end, the greatest and the least of a double, beyond 64 bits, beyond the digits that Python reads."""
WORDS: Final = ("", " ", "true", "null", "[]", "{}", "1979-05-27", "x" * 100_000, "é\u2028\U0001f600", "../../etc/passwd", "%s{0}")
"""Other types than the one that should be there, nothing, and texts that break what prints them."""
BYTES: Final = (b"\xff\xfe\x80", b"\x00", b'"', b"'", b"\n", b"[" * 5000, b"{" * 5000, b",", b"=", b"\x1b[2J", b"PAR1", b"\x1f\x8b")
"""Not UTF-8, no text, an unclosed quote, lines that end otherwise, nested brackets, separators, a terminal's controls, magic numbers."""
NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
TEXT: Final = re.compile(rb'"[^"\n]*"')
WHOLE: Final = 1 << 16  # a place in a sample is drawn as so many parts of it

Change = Callable[[bytes, st.DrawFn], bytes]


def place(draw: st.DrawFn, size: int) -> int:
    return draw(st.integers(0, WHOLE - 1)) * max(0, size) // WHOLE


def _inserted(sample: bytes, draw: st.DrawFn) -> bytes:
    at = place(draw, len(sample) + 1)
    return sample[:at] + draw(st.sampled_from(BYTES)) + sample[at:]


def _truncated(sample: bytes, draw: st.DrawFn) -> bytes:
    return sample[: place(draw, len(sample) + 1)]


def _flipped(sample: bytes, draw: st.DrawFn) -> bytes:
    at = place(draw, len(sample))
    return sample[:at] + bytes([draw(st.integers(0, 255))]) + sample[at + 1 :]


def _cut_out(sample: bytes, draw: st.DrawFn) -> bytes:
    begin, end = sorted((place(draw, len(sample)), place(draw, len(sample))))
    return sample[:begin] + sample[end:]


def _replaced(pattern: re.Pattern[bytes], values: Sequence[bytes]) -> Change:
    def change(sample: bytes, draw: st.DrawFn) -> bytes:
        found = list(pattern.finditer(sample))
        if not found:
            return _inserted(sample, draw)
        one, other = found[place(draw, len(found))], found[place(draw, len(found))]
        value = draw(st.sampled_from([None, *values]))
        return sample[: one.start()] + (other[0] if value is None else value) + sample[one.end() :]

    return change


def _lines(sample: bytes, draw: st.DrawFn) -> bytes:
    lines = sample.splitlines(keepends=True) or [b""]
    one, other = place(draw, len(lines)), place(draw, len(lines))
    match draw(st.sampled_from(["gone", "twice", "moved"])):
        case "gone":
            del lines[one]
        case "twice":
            lines.insert(other, lines[one])
        case _:
            lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


_NUMBERS = _replaced(NUMBER, [number.encode() for number in (*NUMBERS, *WORDS)])
_TEXTS = _replaced(
    TEXT, [b'""', b"1", b"-1.5", b"true", b"[]", b"{}", b'"' + b"x" * 100_000 + b'"', b'"\\u0000"', b'"nan"', b'"../x"', b'"']
)
CHANGES: Final[tuple[Change, ...]] = (_NUMBERS, _NUMBERS, _TEXTS, _TEXTS, _lines, _inserted, _truncated, _flipped, _cut_out)
"""Numbers and texts are drawn twice as often: most of what they give can be parsed, and comes further."""


@st.composite
def mutated(draw: st.DrawFn, sample: bytes) -> bytes:
    for _ in range(draw(st.integers(1, 3))):
        sample = draw(st.sampled_from(CHANGES))(sample, draw)
    return sample


def values(valid: str) -> st.SearchStrategy[str]:
    """Return what may stand in an option or a variable in place of `valid`: no zero bytes, which the operating system refuses."""
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
    return st.sampled_from([*NUMBERS, *WORDS, valid, f"{valid},{valid}", f"file:{valid}", "\udcff"]) | text


@st.composite
def mutated_options(draw: st.DrawFn, valid: Sequence[str]) -> tuple[str, ...]:
    """Return `valid` words of a command or ``NAME=VALUE`` after one or two changes: mostly another value, or one gone, doubled or moved."""
    words = list(valid)
    for _ in range(draw(st.integers(1, 2))):
        valued = [at for at, word in enumerate(words) if not word.startswith("--")]
        at, other = place(draw, len(words)), place(draw, len(words))
        match draw(st.sampled_from(["value"] * 8 + ["gone", "twice", "moved"])):
            case "value" if valued:
                at = valued[place(draw, len(valued))]
                name, equals, value = words[at].partition("=")
                value = draw(values(value if equals else name) | changed_text(value if equals else name))
                words[at] = name + equals + value if equals else value
            case "gone" if len(words) > 1:
                del words[at]
            case "twice":
                words.insert(other, words[at])
            case _:
                words[at], words[other] = words[other], words[at]
    return tuple(words)


def changed_text(value: str) -> st.SearchStrategy[str]:
    """`value` as text that is mutated as a file is, without what no program can be given."""
    return mutated(value.encode(errors="surrogateescape")).map(lambda made: made.replace(b"\0", b"").decode(errors="surrogateescape"))


@st.composite
def mutated_table(draw: st.DrawFn, sample: bytes) -> bytes:
    """Return the Parquet file `sample` with a column that is gone, of another name or type, or with a value that may not be there."""
    table = pl.read_parquet(io.BytesIO(sample))
    name = table.columns[place(draw, table.width)]
    odd = draw(st.sampled_from([None, -1, 2**63 - 1, float("nan"), float("inf"), "", "x" * 10_000, "[1", True]))
    kind: pl.DataType = draw(st.sampled_from([pl.String(), pl.Float32(), pl.Int8(), pl.Date(), pl.List(pl.Int64)]))
    table = draw(
        st.sampled_from(
            [
                table.drop(name),
                table.rename({name: "x" if name != "x" else ""}),
                table.with_columns(pl.lit(None).cast(kind).alias(name)),
                table.with_columns(pl.lit(odd).alias(name)),
                table.clear(),
                pl.concat([table, table]),
            ]
        )
    )
    written = io.BytesIO()
    table.write_parquet(written)
    return written.getvalue()


def mutated_file(name: str, sample: bytes) -> st.SearchStrategy[bytes]:
    return mutated(sample) | mutated_table(sample) if name.endswith(".parquet") else mutated(sample)


pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # of how a long case is shown
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "tierwise-hypothesis")

CASES, SOAKED = 180, 10_000
"""Cases over all targets: the same each time, and other ones each time."""
WARMING_S = 120.0  # processor time that a target may take at first, while libraries load and code is compiled


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
    hold(child, target, cases(CASES, len(TARGETS), target))


@pytest.mark.soak
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_much_more_bad_input_is_reported_in_one_line(child: Child, target: Target) -> None:
    hold(child, target, cases(SOAKED, len(TARGETS), target, derandomize=False))
