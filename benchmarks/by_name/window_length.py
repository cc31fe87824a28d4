"""Do short virtual-time windows of pgbench say what long ones say?  ``python benchmarks/by_name/window_length.py [REPLICATES]``, a minute
each.

Each placement of the profile `quick` is measured in windows of its own length and in windows five times as long, alternating, each with a
whole checkpoint inside. What is compared is the gain over everything on disks: its geometric mean over the replicates, short over long,
with a 95 % interval. Short windows do where that interval lies within 10 % of 1.
"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psutil

from tierwise.analysis.statistics import geometric_estimate
from tierwise.bench.live import open_testbed
from tierwise.bench.loop import gather_inputs
from tierwise.bench.recording import Recorder
from tierwise.bench.study import Cell, Study, Trial
from tierwise.bench.study_registry import load_study
from tierwise.bench.testbed import Testbed
from tierwise.bench.workspace import exclusive_workspace
from tierwise.core.profiles import Profile

NAME: Final = "pgbench_placement"
LONGER: Final = 5
BOUND: Final = 0.10


def lengthened(profile: Profile, factor: int) -> Profile:
    """`profile` with windows `factor` times as long."""
    grid = profile.studies[NAME]
    window_s = {tier: factor * length_s for tier, length_s in grid["window_s"].items()}
    return profile.model_copy(update={"studies": {**profile.studies, NAME: {**grid, "window_s": window_s}}})


def tps(study: Study[Any, Any], trial: Trial[Cell], testbed: Testbed, study_state: Any, profile: Profile) -> float:
    """Transactions a virtual second in one window."""
    study.prepare(trial, testbed, study_state)
    testbed.profile = profile
    rows = study.measure(trial, testbed, study_state, Recorder()).timings
    return sum(row.result_rows or 0 for row in rows) / sum(row.elapsed_s for row in rows)


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    inputs = gather_inputs(profile="quick", tiers="", seed=2, census="synthetic")
    study = load_study(NAME)
    assert isinstance(study, Study)
    pair = next(pair for pair in inputs.pairs if pair.source == study.source)
    trials = {trial.placed: trial for trial in study.trials(inputs.profile, pair) if not trial.real_time}
    profiles = {factor: lengthened(inputs.profile, factor) for factor in (1, LONGER)}
    found: dict[tuple[str, int], list[float]] = {(name, factor): [] for name in trials for factor in profiles}
    before = psutil.cpu_times()
    with ExitStack() as held:
        work = Path(held.enter_context(TemporaryDirectory(prefix="bench-windows-", dir=held.enter_context(exclusive_workspace()))))
        work.chmod(0o755)  # the server's account must pass
        testbed, study_state = held.enter_context(open_testbed(study, pair, inputs, work / "testbed", seed=inputs.seed))
        for replicate in range(replicates):
            for place, (name, trial) in enumerate(trials.items()):
                for factor in list(profiles)[:: 1 if (replicate + place) % 2 else -1]:
                    testbed.origin_s = float(replicate)
                    testbed.seed = inputs.seed + 100 * replicate
                    found[name, factor].append(tps(study, trial, testbed, study_state, profiles[factor]))
                    print(f"replicate {replicate + 1}, {name}, {factor} times: {found[name, factor][-1]:.1f} tps", flush=True)
    after = psutil.cpu_times()
    steal = (after.steal - before.steal) / (sum(after) - sum(before))
    window_s = inputs.profile.studies[NAME]["window_s"]
    print(f"\n{replicates} replicates, windows of {window_s} virtual seconds and {LONGER} times as long, steal {steal:.1%}")
    ratios_by_name = {}
    for name in trials:
        if name == "all_hdd":
            continue
        short, long = ([one / base for one, base in zip(found[name, factor], found["all_hdd", factor], strict=True)] for factor in profiles)
        estimate = geometric_estimate([one / other for one, other in zip(short, long, strict=True)])
        low, high = estimate.interval or (float("nan"), float("nan"))
        within = low > 1 - BOUND and high < 1 + BOUND
        ratios_by_name[name] = {"ratio": estimate.value, "low": low, "high": high, "within": within}
        print(f"{name}: gain in short windows over long ones {estimate.value:.3f} ({low:.3f} to {high:.3f}), within the bound: {within}")
    print(json.dumps(ratios_by_name))


if __name__ == "__main__":
    main()
