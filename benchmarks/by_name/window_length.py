"""Do short counted windows of pgbench say what long ones say?  ``python benchmarks/by_name/window_length.py [BLOCKS]``, about ten minutes.

Each placement of the profile `quick` is measured in windows of its own length and in windows five times as long, alternating, each with a
whole checkpoint inside. What is compared is the gain over everything on disks: its geometric mean over the blocks, short over long, with
a 95 % interval. Short windows do where that interval lies within 10 % of 1.
"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psutil

from tierwise.analysis.statistics import geometric_estimate
from tierwise.bench.lab import Lab
from tierwise.bench.live import open_lab
from tierwise.bench.loop import gather_inputs
from tierwise.bench.recording import Recorder
from tierwise.bench.rooms import load_study
from tierwise.bench.study import Cell, Study, Trial
from tierwise.bench.workspace import exclusive_workspace
from tierwise.core.profiles import Profile

NAME: Final = "pgbench_placement"
LONGER: Final = 5
BOUND: Final = 0.10


def with_window(profile: Profile, window_s: float) -> Profile:
    """`profile` with windows of another length."""
    return profile.model_copy(update={"studies": {**profile.studies, NAME: {**profile.studies[NAME], "window_s": window_s}}})


def tps(study: Study[Any, Any], trial: Trial[Cell], lab: Lab, state: Any, window_s: float) -> float:
    """Transactions a counted second in one window."""
    study.prepare(trial, lab, state)
    lab.profile = with_window(lab.profile, window_s)
    rows = study.measure(trial, lab, state, Recorder()).timings
    return sum(row.result_rows or 0 for row in rows) / sum(row.elapsed_s for row in rows)


def main() -> None:
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    inputs = gather_inputs(profile="quick", tiers="", seed=2, census="synthetic")
    study = load_study(NAME)
    assert isinstance(study, Study)
    pair = next(pair for pair in inputs.pairs if pair.source == study.source)
    trials = {trial.placed: trial for trial in study.trials(inputs.profile, pair)}
    short_s = float(inputs.profile.studies[NAME]["window_s"])
    lengths_s = (short_s, LONGER * short_s)
    found: dict[tuple[str, float], list[float]] = {(name, length_s): [] for name in trials for length_s in lengths_s}
    before = psutil.cpu_times()
    with ExitStack() as held:
        work = Path(held.enter_context(TemporaryDirectory(prefix="bench-windows-", dir=held.enter_context(exclusive_workspace()))))
        work.chmod(0o755)  # the server's account must pass
        lab, state = held.enter_context(open_lab(study, pair, inputs, work / "lab"))
        for block in range(blocks):
            for place, (name, trial) in enumerate(trials.items()):
                for length_s in lengths_s[:: 1 if (block + place) % 2 else -1]:
                    lab.origin_s = float(block)
                    lab.seed = inputs.seed + 100 * block
                    found[name, length_s].append(tps(study, trial, lab, state, length_s))
                    print(f"block {block + 1}, {name}, {length_s:.0f} s: {found[name, length_s][-1]:.1f} tps", flush=True)
    after = psutil.cpu_times()
    steal = (after.steal - before.steal) / (sum(after) - sum(before))
    print(f"\n{blocks} blocks, windows of {short_s:.0f} and {LONGER * short_s:.0f} counted seconds, steal {steal:.1%}")
    told = {}
    for name in trials:
        if name == "all_hdd":
            continue
        gains = {
            length_s: [one / base for one, base in zip(found[name, length_s], found["all_hdd", length_s], strict=True)]
            for length_s in lengths_s
        }
        estimate = geometric_estimate([short / long for short, long in zip(*gains.values(), strict=True)])
        low, high = estimate.interval or (float("nan"), float("nan"))
        within = low > 1 - BOUND and high < 1 + BOUND
        told[name] = {"ratio": estimate.value, "low": low, "high": high, "within": within}
        verdict = "within the bound" if within else "NOT within the bound"
        print(f"{name}: gain in short windows over long ones {estimate.value:.3f} ({low:.3f} to {high:.3f}), {verdict}")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
