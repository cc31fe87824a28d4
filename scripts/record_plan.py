"""Print a profile's part of ``data/plan/recorded.toml`` from a complete run, at the recorded pace and without what the host stole.

    python scripts/record_plan.py RUN_FOLDER REPORT_SECONDS DISK_GB_BY_STUDY...     (index_placement=0.3 ...)

REPORT_SECONDS is what acquiring, chapters and rendering took on that machine, from the last lines of `make report`.
"""

import sys
from pathlib import Path

from tierwise.timings.manifest import RETRIED, load_manifest
from tierwise.timings.parts import read_rows


def main(folder: str, report_s: str, *disk: str) -> None:
    run = load_manifest(Path(folder))
    stages = [stage for stage in run.stages if not stage.name.startswith(RETRIED)]
    executions = read_rows(Path(folder)).select("study", "pair", "trial", "replicate").unique()
    trials = dict(executions.group_by("study").len().sort("study").iter_rows())
    # One pace for the whole run: that of a stage is known from two pieces of work of 0.05 s.
    mean_pace = sum(stage.took_s for stage in stages) / sum(stage.took_s / stage.pace for stage in stages)
    own_s = [(stage.name, stage.took_s * (1 - stage.steal) / mean_pace) for stage in stages]
    seconds = {name: sum(taken_s for stage, taken_s in own_s if stage == f"run-{name}") for name in trials}
    disk_gb = dict(item.split("=") for item in disk)
    name = run.profile["name"]
    print(f'[profiles.{name}]\nsource = "run {run.run_id}"\nrecorded = {run.started_at:%Y-%m-%d}')
    print(f"report_s = {float(report_s) / mean_pace:.0f}")
    for study, count in trials.items():
        print(f"studies.{study} = {{ seconds = {seconds[study]:.0f}, trials = {count}, disk_gb = {disk_gb.get(study, 0)} }}")


if __name__ == "__main__":
    main(*sys.argv[1:])
