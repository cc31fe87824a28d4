"""A machine without FUSE: the placements are simulated from recorded page sequences, and every number says so."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tierwise.analysis.rules import Verdict
from tierwise.bench.loop import gather_inputs, measure_study, possible_pairs
from tierwise.bench.runs import begin_run, complete
from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.recorders import strace
from tierwise.report.run import open_run
from tierwise.report.study_registry import judge_all
from tierwise.studies.index_placement.reading.values import errors
from tierwise.tiers import mounting
from tierwise.timings.manifest import Manifest
from tierwise.timings.parts import read_rows
from tierwise.timings.trial_files import TrialKey, read_trace

REPLICATES = 1
TRIALS = 18
HIDE = "mount --bind /dev/null /dev/fuse && exec "


@dataclass(frozen=True)
class Simulated:
    """A run of a machine without FUSE."""

    raw: Path
    manifest: Manifest
    rows: pl.DataFrame

    def cold(self, table: str, index: str) -> pl.DataFrame:
        return self.rows.filter(pl.col("cache") == "cold", pl.col("trial").str.contains(f"index={index}/.*table={table}/variant=published"))


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounting, "DEVICE", tmp_path / "fuse")


@pytest.fixture(scope="module")
def run(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    """Provide a real server, really traced, on a two-hundredth of the rows."""
    if said := strace.obstacle():
        pytest.skip(said)
    raw = tmp_path_factory.mktemp("without-fuse") / "raw"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_WORK", str(workspace))
        patch.setenv("TIERWISE_RAW", str(raw))
        patch.setattr(mounting, "DEVICE", raw / "fuse")
        small = load_profile("smoke").model_copy(update={"replicates": REPLICATES, "fraction": 0.005})
        patch.setattr("tierwise.bench.loop.load_profile", lambda _: small)
        requested = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")
        begun = begin_run(requested, fresh=True)
        measure_study("index_placement", requested, raw / begun.run_id)
        yield Simulated(raw, complete(begun.run_id), read_rows(raw / begun.run_id))


def test_every_row_and_every_tier_of_it_is_simulated(run: Simulated) -> None:
    assert len(run.rows) == TRIALS * REPLICATES * 3
    assert run.rows["evidence"].unique().to_list() == ["simulated"]
    tiers = run.rows["tier_io"].explode().struct.unnest()
    assert tiers["evidence"].unique().to_list() == ["simulated"]
    assert set(tiers["device"]) == {"sata-7k2-x6", "mtron-3025"}
    assert tiers["intended_s"].equals(tiers["actual_s"])
    flagged = run.rows.filter(pl.col("flags").list.len() > 0)
    assert len(flagged) <= 4, "with so few shared buffers another page may leave them"
    assert flagged.filter(cache="cold").is_empty()
    assert {tier["kind"] for tier in run.manifest.pairs["source-m"]["tiers"].values()} == {"simulated"}


def test_cold_is_still_proved_and_the_models_see_what_the_server_missed(run: Simulated) -> None:
    for text, relations, tiers in run.rows.filter(cache="cold").select("proof", "relation_io", "tier_io").iter_rows():
        proof = json.loads(text)
        assert proof["server_was_down"]
        assert set(proof["resident_pages"].values()) == {0}
        assert proof["misses"] == proof["expected"]
        for tier in tiers:
            assert tier["reads"] == sum(io["reads"] for io in relations if io["tier"] == tier["tier"])


def test_the_time_is_the_models_and_the_hosts(run: Simulated) -> None:
    for text, elapsed_s, relations, tiers in run.rows.select("proof", "elapsed_s", "relation_io", "tier_io").iter_rows():
        measured = json.loads(text)["replayed"]
        host_s = max(0.0, measured["measured_elapsed_s"] - measured["measured_storage_s"])
        assert elapsed_s == pytest.approx(host_s + sum(tier["intended_s"] for tier in tiers))
        for tier in tiers:
            assert tier["intended_s"] == pytest.approx(sum(io["io_s"] for io in relations if io["tier"] == tier["tier"]))
    hdd, ssd = (run.cold(tier, tier)["elapsed_s"].sum() for tier in ("hdd", "ssd"))
    assert hdd > 3 * ssd
    assert run.cold("hdd", "hdd")["elapsed_s"].n_unique() == 3 * REPLICATES


def test_the_sequence_is_kept_once_for_each_trial(run: Simulated) -> None:
    (study,) = run.manifest.studies
    assert study.facts["traces"] == {"recorded": TRIALS, "missing": 0, "why": None}
    assert not study.facts.get("predictions")
    trace = read_trace(run.raw / run.manifest.run_id, TrialKey("index_placement", "source-m", study.trials[0]))
    assert trace is not None
    assert trace.filter(pl.col("cache") == "cold")["relation"].head(1).is_in(["census", "census_pkey", "pob"]).all()
    assert trace["actual_s"].null_count() == len(trace), "what strace disturbs is not kept"


def test_claims_are_judged_and_the_report_says_simulated(run: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = {claim.id: claim for claim in judge_all(run.raw, run.manifest.run_id) if claim.source == "M"}
    assert {
        claim.evidence for claim in verdicts.values() if claim.verdict is not Verdict.NOT_MEASURED and (claim.facts or not claim.unjudged)
    } == {Evidence.SIMULATED}
    assert verdicts["M1"].pairs == REPLICATES
    assert verdicts["M1"].verdict is Verdict.UNDECIDED, "one replicate is too few for any verdict"
    assert verdicts["M6"].verdict is Verdict.REPORTED
    monkeypatch.setenv("TIERWISE_RAW", str(run.raw))
    shown = open_run(run.manifest.run_id)
    assert shown.facts()["evidence"] == "simulated (pair source-m)"
    assert errors(shown, "source-m") == []


def test_a_pair_keeps_its_devices_and_its_real_disks(hidden: None) -> None:
    if said := strace.obstacle():
        pytest.skip(said)
    (local,) = possible_pairs([load_pair("local")])
    assert {name: tier.evidence for name, tier in local.tiers.items()} == {"hdd": Evidence.SIMULATED, "ssd": Evidence.MEASURED}
    assert local.evidence is Evidence.MIXED


def test_the_page_cache_is_not_simulated(hidden: None, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if said := strace.obstacle():
        pytest.skip(said)
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))
    assert gather_inputs(profile="full", tiers="", seed=1, census="synthetic").profile.io_modes == (IoMode.DIRECT,)


def test_without_strace_either_nothing_can_be_done_and_the_remedy_is_named(
    hidden: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=r"FUSE, and strace in its place, is missing: .*fuse is missing.*Remedy: apt-get install strace"):
        possible_pairs([load_pair("source-m")])


def test_with_the_device_really_hidden_the_doctor_says_what_is_done_instead(workspace: Path) -> None:
    command = ["unshare", "--mount", "sh", "-c", f"{HIDE} {sys.executable} -m tierwise doctor"]
    if not shutil.which("unshare") or subprocess.run([*command[:4], f"{HIDE} true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespace can be made here: /dev/fuse cannot be hidden")
    if said := strace.obstacle():
        pytest.skip(said)
    environment = {**os.environ, "TIERWISE_WORK": str(workspace), "PYTHONPATH": str(paths.home() / "src"), "PROFILE": "smoke"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if " FUSE " in line)
    assert line.startswith("optional-missing")
    assert "simulated from recorded page sequences" in done.stdout
