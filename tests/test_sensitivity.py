"""How far verdicts hang on what no source states of a device: the bands, their effects, and the interval that these make."""

import math
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tierwise.analysis import rules
from tierwise.analysis.causes import Cause
from tierwise.analysis.claims import load_claims
from tierwise.analysis.model_interval import CLAIM, FILE, SCHEMA, Key, Shifts, combined
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.analysis.statistics import Estimate
from tierwise.core import paths
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.devices.spec import HddSpec, load_device
from tierwise.pipeline import variables
from tierwise.postgres.workspace import MARKER
from tierwise.report.study_registry import judge_all
from tierwise.sensitivity import screening
from tierwise.sensitivity.bands import HOME, Bands, Move, load_bands, make_checkout, moves_of
from tierwise.sensitivity.screening import Base, Replayed, shown, values_in
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parquet import read_whole

PAIRS = sorted(path.stem for path in (paths.data() / "tiers").glob("*.toml"))
LATENCY = Move("mtron-3025: read_latency", "high", 0.1, 0.2, "ms", file="devices/mtron-3025", place=("read_latency",))
SHIPPED = paths.reference() / FILE


@pytest.mark.parametrize("pair", PAIRS)
def test_a_number_without_a_source_is_moved_to_half_and_twice_or_further_unless_a_band_says_why_not(pair: str) -> None:
    known = load_bands()
    for move in moves_of("", pair):
        if isinstance(move.value, float) and isinstance(move.own, float) and known.of(move.parameter.replace(": ", ".")) is None:
            reached = move.value <= move.own / 2 if move.end == "low" else move.value >= move.own * 2
            assert reached or (move.unit == "1" and round(move.own / 2) >= move.value), move


def test_what_we_chose_stays_and_what_is_one_or_the_other_becomes_the_other() -> None:
    moved = {(move.parameter, move.end) for move in moves_of("", "wal-placement")}
    assert not {parameter for parameter, _ in moved if parameter.endswith((": level", ": members"))}
    assert ("kingston-dc600m: write_cache.battery_backed", "false") in moved


@pytest.mark.parametrize("pair", PAIRS)
def test_the_ends_are_devices_that_the_model_takes(pair: str, tmp_path: Path) -> None:
    for number, move in enumerate(moves_of("", pair)):
        assert make_checkout(tmp_path / str(number), move) is not None, move


def test_an_end_that_makes_no_seek_curve_gives_way_to_the_furthest_that_does(tmp_path: Path) -> None:
    (low,) = [one for one in moves_of("", "source-m") if (one.parameter, one.end) == ("sata-7k2: full_seek", "low")]
    taken = make_checkout(tmp_path, low)
    assert taken is not None
    with variables({HOME: str(tmp_path)}):
        drive = load_device("sata-7k2")
    assert isinstance(drive, HddSpec)
    assert low.value < drive.full_seek.value < load_device("sata-7k2").full_seek.value  # type: ignore[operator, union-attr]
    assert min(drive.curve_s) == pytest.approx(0, abs=1e-5)


def shifts(*effects: tuple[str, str, float | None, float], name: str = "M1") -> dict[Key, Shifts]:
    """Combine (parameter, end, log shift, share of the data)."""
    of = {"pair": "source-m", "kind": CLAIM, "name": name, "case": "FL", "variant": "published", "io_mode": "direct"}
    rows: list[dict[str, object]] = [
        {**of, "parameter": one, "end": end, "log_shift": shift, "fraction": size} for one, end, shift, size in effects
    ]
    return combined(pl.DataFrame(rows, schema=SCHEMA))


def test_shifts_add_up_by_their_squares_upward_and_downward_apart_and_the_largest_is_named() -> None:
    (found,) = shifts(("a", "low", 0.3, 0.02), ("a", "high", -0.1, 0.02), ("b", "low", 0.4, 0.02), ("b", "high", 0.2, 0.02)).values()
    assert (found.up, found.down) == pytest.approx((0.5, 0.1))
    assert (found.largest, found.largest_shift, found.parameters) == ("b", 0.4, 2)
    assert found.widened(1.0, 2.0) == pytest.approx((math.exp(-0.1), 2 * math.exp(0.5)))


def test_the_size_that_decides_counts_and_an_effect_that_is_missing_leaves_no_interval() -> None:
    (found,) = shifts(("a", "low", 0.3, 0.02), ("a", "low", 0.1, 1.0), ("a", "high", 0.0, 0.02)).values()
    assert found.up == pytest.approx(0.1)
    assert shifts(("a", "low", 0.3, 0.02), ("a", "high", None, 0.02)) == {}


def test_a_value_that_the_screening_lacks_has_no_interval_of_the_largest_parameters_alone() -> None:
    screened, repeated = (
        [{**dict.fromkeys(SCHEMA), "name": name, "parameter": one, "log_shift": 0.1} for one in moved]
        for name, moved in (("M1", "ab"), ("M2", "a"))
    )
    assert [key.name for key in combined(pl.DataFrame([*screened, *repeated], schema=SCHEMA))] == ["M1"]


@pytest.mark.parametrize(
    ("low", "high", "shift", "verdict"),
    [
        (0.05, 0.06, 0.1, Verdict.CONFIRMED),
        (0.05, 0.06, 1.0, Verdict.UNDECIDED),
        (0.50, 0.60, 1.0, Verdict.CONTRADICTED),
        (0.50, 0.60, 2.0, Verdict.UNDECIDED),
        (0.05, 0.20, 0.1, Verdict.UNDECIDED),
    ],
)
def test_a_claim_is_decided_only_where_both_intervals_say_the_same(low: float, high: float, shift: float, verdict: Verdict) -> None:
    (claim,) = [one for one in load_claims().claims if one.id == "M1"]
    assert claim.bounds is not None
    case = CaseVerdict(
        case="FL",
        io_mode=IoMode.DIRECT,
        evidence=Evidence.EMULATED,
        estimate=math.sqrt(low * high),
        low=low,
        high=high,
        pairs=5,
        flagged=0,
        verdict=rules.by_interval(claim.bounds, Estimate(math.sqrt(low * high), low, high, 5)),
    )
    found = rules.with_model(claim, case, Shifts(shift, shift, "a", shift, 1))
    assert (found.verdict, found.by_replicates) == (verdict, case.verdict)
    if verdict is not case.verdict:
        assert rules.combine([found], 1, claim.bounds)[1] is Cause.MODEL
    assert rules.with_model(claim, case, None) == case, "without effects the replicates decide alone"


@pytest.fixture(scope="module")
def kept() -> Path:
    (manifest,) = (paths.home() / "tests" / "smoke").glob("*/manifest.json")
    return manifest.parent


def base(kept: Path) -> Base:
    verdicts = {one.id: one for one in judge_all(kept.parent, kept.name) if one.id == "M1"}
    own = values_in(kept, "index_placement", "source-m", verdicts)
    replayed = Replayed(kept, "index_placement", "source-m", verdicts)
    return Base(kept, "index_placement", "source-m", "replay", own, replayed.values)


def test_a_slower_ssd_takes_from_what_tables_on_it_gain_and_a_killed_screening_goes_on(
    kept: Path, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = base(kept)
    found = screening._every(compared, [LATENCY])
    tables = found.filter(kind="speedup", case="tables").row(0, named=True)
    assert math.log(0.5) < tables["log_shift"] < 0.0
    assert set(found.filter(name="M1")["log_shift"]) == {0.0}, "the disk's platter, which turns meanwhile, takes the time of the index"
    assert (tables["own"], tables["value"], tables["run_id"], tables["method"]) == ("0.1 ms", "0.2 ms", kept.name, "replay")
    monkeypatch.setattr(Base, "rows", lambda *_: pytest.fail("what is known is not computed again"))
    assert screening._every(compared, [LATENCY]).equals(found)


def test_what_ships_takes_the_place_of_the_same_study_pair_and_size_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "shipped", lambda: tmp_path / FILE)
    of = {"study": "toy", "pair": "toy", "kind": CLAIM, "parameter": "a", "end": "low", "log_shift": 0.1}
    for profile, shift in product(("smoke", "full"), (0.1, 0.2)):
        screening.ship(pl.DataFrame([of | {"profile": profile, "fraction": 1.0, "log_shift": shift}], schema=SCHEMA))
    assert read_whole(tmp_path / FILE, FILE).select("profile", "log_shift").rows() == [("full", 0.2), ("smoke", 0.2)]


@pytest.mark.soak
@pytest.mark.alone
def test_a_study_without_recorded_requests_is_measured_again_in_a_checkout_of_its_own(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screening, "shipped", lambda: tmp_path / FILE)
    monkeypatch.setattr(
        screening, "moves_of", lambda study, pair: [one for one in moves_of(study, pair) if one.parameter == "crucial-m4: flush_latency"]
    )
    screening.sensitivity(["ram_or_ssd"], run="", repeat="", seed=1)
    rows = read_whole(tmp_path / FILE, FILE)
    assert set(rows["end"]) == {"low", "high"}
    assert rows["log_shift"].abs().max() == 0.0, "nobody flushes a drive that is only read"
    assert not (tmp_path / screening.FOLDER / "ram_or_ssd" / screening.MOVED).exists()
    kept = [marker for marker in Path("/var/tmp").glob(f"*/{MARKER}") if str(tmp_path) in marker.read_text()]
    assert len(kept) == 1, "all moved runs have one work folder"
    chosen = "dataset_gib=8"
    assert load_manifest(screening.measured("ram_or_ssd", "smoke", 1, chosen, raw=tmp_path / "chosen")).chosen == {"ram_or_ssd": chosen}
    shutil.rmtree(kept[0].parent)


@pytest.mark.skipif(not SHIPPED.exists(), reason="no effect was computed for the reference run yet")
def test_the_shipped_effects_are_of_the_values_and_bands_of_this_checkout() -> None:
    rows = read_whole(SHIPPED, FILE)
    for study, pair in rows.select("study", "pair").unique().rows():
        known = {(move.parameter, move.end): shown(move.own, move.unit) for move in moves_of(study, pair)}
        own = rows.filter(study=study, pair=pair)
        assert {(one, end): value for one, end, value in own.select("parameter", "end", "own").rows()} == known
    assert SHIPPED.stat().st_size < 500_000


def band(known: Bands, study: str, parameter: str) -> Mapping[str, Any]:
    """Return what `known` does with a parameter of the shipped effects."""
    method = [one.model_dump(exclude={"studies", "reason"}) for one in known.method if one.name == parameter and study in one.studies]
    own = known.of(parameter.replace(": ", ".", 1))
    return {"method": method, "rule": known.rule.factors, "band": own and own.model_dump(exclude={"parameters", "reason"})}


@pytest.mark.skipif(not SHIPPED.exists() or not (paths.home() / ".git").exists(), reason="no effects, or no history")
def test_each_band_was_committed_before_its_effects_were_computed() -> None:
    now, of = load_bands(), ("code_version", "study", "parameter")
    for (version,), rows in read_whole(SHIPPED, FILE).select(of).unique().group_by("code_version"):
        commit = str(version).removesuffix("-dirty").rpartition("g")[2]
        shown = ["git", "show", f"{commit}:data/sensitivity/bands.toml"]
        text = subprocess.run(shown, cwd=paths.home(), capture_output=True, text=True, check=True).stdout
        then = Bands.model_validate(tomllib.loads(text))
        for _, study, parameter in rows.rows():
            assert band(then, study, parameter) == band(now, study, parameter), (study, parameter, version)
