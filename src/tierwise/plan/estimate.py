"""``tierwise plan``: trials, minutes and disk of a report, study by study, from recorded times and this machine's pace."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from pydantic import Field

from tierwise.bench.inputs import Inputs
from tierwise.bench.live import is_virtual, turns_of
from tierwise.bench.runs import Outlook
from tierwise.bench.simulation import LIVE, SimulatedStudy
from tierwise.bench.study_registry import load_study, pairs_of
from tierwise.core import paths, studies
from tierwise.core.pace import Pace, calibrate
from tierwise.core.pairs import Pair
from tierwise.core.text_template import render
from tierwise.core.toml import Strict, read_toml
from tierwise.core.vocabulary import Evidence


class StudyTime(Strict):
    seconds: float = Field(gt=0, description="of its notebook, with servers, loading and predictions, at the recorded pace")
    trials: int = Field(gt=0, description="executions in it, on all pairs")
    disk_gb: float = Field(ge=0, description="the most that its data take at once")


class RunTime(Strict):
    source: str
    recorded: date
    report_s: float = Field(ge=0, description="acquiring data, chapters and rendering, at the recorded pace")
    studies: Mapping[str, StudyTime]


class Recorded(Strict):
    """Recorded runs by profile, and the pace of the machine that all seconds are of."""

    piece_s: float = Field(gt=0, description="processor time of `core.pace.piece_s`")
    busy_processors: float = Field(gt=0, description="processors that a run keeps busy on average")
    tests_s: float = Field(gt=0, description="of ``make test``")
    profiles: Mapping[str, RunTime]

    @property
    def pace(self) -> Pace:
        return Pace(self.piece_s, self.busy_processors)


def load_recorded() -> Recorded:
    return read_toml(paths.data() / "plan" / "recorded.toml", Recorded)


@dataclass(frozen=True)
class Line:
    """One study on one pair: `minutes` and `disk_gb` are None without a record; `rows_of` is the run that has its rows."""

    study: str
    pair: str
    evidence: str
    cells: int
    replicates: int
    trials: int
    minutes: float | None
    disk_gb: float | None
    rows_of: str = ""
    why: str = ""


@dataclass(frozen=True)
class Plan:
    """What a report with one profile would measure on a machine of this `pace`, `slowdown` times as long as recorded."""

    profile: str
    seed: int
    lines: tuple[Line, ...]
    report_minutes: float
    pace: Pace
    slowdown: float
    source: str

    @property
    def measured(self) -> list[Line]:
        return [line for line in self.lines if not line.rows_of]

    @property
    def rows_of(self) -> dict[str, str]:
        return {line.study: line.rows_of for line in self.lines if line.rows_of}

    @property
    def why(self) -> dict[str, str]:
        return {line.study: line.why for line in self.lines if line.why}

    @property
    def minutes(self) -> float:
        return self.report_minutes + sum(line.minutes or 0.0 for line in self.measured)

    @property
    def trials(self) -> int:
        return sum(line.trials for line in self.measured)

    @property
    def unknown(self) -> list[str]:
        """Return the studies of which the profile has no recorded times."""
        return sorted({line.study for line in self.measured if line.minutes is None})

    def seconds_of(self, study: str) -> float:
        return 60 * sum(line.minutes or 0.0 for line in self.measured if line.study == study)

    @property
    def disk_gb(self) -> float:
        """Return the most disk that is needed at once: one pair's data are removed before the next one's are loaded."""
        return max((line.disk_gb or 0.0 for line in self.measured), default=0.0)


def plan_of(inputs: Inputs, names: Sequence[str] | None = None, pace: Pace | None = None) -> Plan:
    """Plan the studies `names` (None: all) as if there were no runs; `pace` is that of this machine unless it is given."""
    recorded, pace = load_recorded(), pace or calibrate()
    run = recorded.profiles.get(inputs.profile.name)
    slowdown = pace.slowdown(recorded.pace)
    lines = [
        _line(name, pair, inputs, run, slowdown)
        for name in (studies.names() if names is None else names)
        for pair in pairs_of(load_study(name), inputs.pairs, inputs.reader_pair)
    ]
    report_minutes = run.report_s * slowdown / 60 if run else 0.0
    return Plan(inputs.profile.name, inputs.seed, tuple(lines), report_minutes, pace, slowdown, run.source if run else "")


def beside_runs(plan: Plan, outlook: Outlook) -> Plan:
    lines = (replace(line, rows_of=outlook.rows.get(line.study, ""), why=outlook.why.get(line.study, "")) for line in plan.lines)
    return replace(plan, lines=tuple(lines))


def _line(name: str, pair: Pair, inputs: Inputs, run: RunTime | None, slowdown: float) -> Line:
    study, replicates = load_study(name), inputs.profile.replicates_of(name)
    if isinstance(study, SimulatedStudy):
        keys = {trial.key for trial in study.trials(inputs.profile, pair)}
        executions = len(keys) * replicates
        models_alone = all(trial.preparation != LIVE for trial in study.trials(inputs.profile, pair))
    else:
        turns = turns_of(study, pair, inputs, replicates)
        keys = {turn.trial.key for turn in turns if not turn.trial.real_time or not is_virtual([turn.trial], pair, inputs)}
        executions, models_alone = len(turns), False
    known = run.studies.get(name) if run else None
    return Line(
        study=name,
        pair=pair.name,
        evidence=str(Evidence.SIMULATED if models_alone else pair.evidence),
        cells=len(keys),
        replicates=replicates,
        trials=executions,
        minutes=executions * known.seconds / known.trials * slowdown / 60 if known else None,
        disk_gb=known.disk_gb if known else None,
    )


def as_json(plan: Plan) -> dict[str, Any]:
    return {**asdict(plan), "minutes": plan.minutes, "disk_gb": plan.disk_gb, "stamp": str(Evidence.SIMULATED)}


def sentence(plan: Plan) -> str:
    return render("plan/text/sentence.txt", plan=plan, unknown=plan.unknown)


def as_text(plan: Plan) -> str:
    return render("plan/text/plan.txt", plan=plan, unknown=plan.unknown)
