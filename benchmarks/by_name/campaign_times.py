"""How long campaigns take on one machine: simulated trials in two processes, and a quick report by one and by three workers.

Run by name on an idle machine with two processors, after ``make cluster``; it takes two hours. Bounds: two processes take at most 0.65
of the time of one, without their start (median of five alternated pairs); three workers in turn take at most 15 % longer than one.
"""

import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tierwise.bench.loop import gather_inputs
from tierwise.bench.simulation import LIVE, SimulatedStudy
from tierwise.bench.study_registry import load_study
from tierwise.core import paths, studies
from tierwise.core.tasks import in_tasks, processors

PAIRS: Final = 5
PORT: Final = 8791
WORKERS_START_S: Final = 20.0


def simulated_s(processes: int) -> tuple[float, float]:
    """Return the seconds until `processes` have started, and the seconds of every simulated trial of a full run on them."""
    inputs, tasks = gather_inputs(profile="full", tiers="", seed=1), []
    for study in map(load_study, studies.names()):
        if isinstance(study, SimulatedStudy):
            for pair in (one for one in inputs.pairs if one.source == study.source):
                trials = [trial for trial in study.trials(inputs.profile, pair) if trial.preparation != LIVE]
                tasks += [(study.name, trial, pair, seed) for trial in trials for seed in range(5)]
    begun_s = time.perf_counter()
    with processors(processes):
        list(in_tasks(loaded, [(name,) for name in studies.names()]))
        started_s = time.perf_counter()
        list(in_tasks(rows_of, tasks))
        return started_s - begun_s, time.perf_counter() - started_s


def loaded(name: str) -> str:
    return load_study(name).name


def rows_of(name: str, trial: object, pair: object, seed: int) -> int:
    study = load_study(name)
    assert isinstance(study, SimulatedStudy)
    return len(list(study.simulate(trial, pair, seed)))  # type: ignore[arg-type]


def campaign_s(workers: int) -> float:
    """Return the seconds of a quick report that `workers` on this machine measure in turn."""
    address, dask = f"tcp://127.0.0.1:{PORT}", {"DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False"}
    with TemporaryDirectory(prefix="tierwise-campaign-", dir="/var/tmp") as name, ExitStack() as started:
        folder = Path(name)
        folder.chmod(0o755)
        scheduler = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(PORT), "--no-dashboard"]
        commands = {"scheduler": [*scheduler, "--dashboard-address", "127.0.0.1:0"]}
        commands |= {f"work{number}": ["-m", "tierwise", "worker", "--scheduler", address] for number in range(workers)}
        for work, command in commands.items():
            environment = {**os.environ, **dask, "TIERWISE_WORK": str(folder / work)}
            process = subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, cwd=paths.home())
            started.callback(process.wait)
            started.callback(process.terminate)
        time.sleep(WORKERS_START_S)
        begun_s = time.perf_counter()
        report = ["-m", "tierwise", "report", "--profile", "quick", "--fresh", "--yes"]
        options = ["--scheduler", address, "--store", str(folder / "store")]
        subprocess.run([sys.executable, *report, *options], check=True, cwd=paths.home())
        return time.perf_counter() - begun_s


def main() -> None:
    """Print each pair, the median, and the times by one and by three workers."""
    shares = []
    for _ in range(PAIRS):
        (_, one_s), (start_s, two_s) = simulated_s(1), simulated_s(2)
        shares.append(two_s / one_s)
        print(f"one process {one_s:.0f} s, two processes {two_s:.0f} s after {start_s:.1f} s to start them", flush=True)
    print(f"two processes take {statistics.median(shares):.2f} of the time of one (bound 0.65)")
    one_s, three_s = campaign_s(1), campaign_s(3)
    print(f"quick report: one worker {one_s:.0f} s, three workers {three_s:.0f} s, {three_s / one_s - 1:+.0%} (bound +15 %)")


if __name__ == "__main__":
    main()
