"""``tierwise plan``: trials, minutes, disk and the intervals to be expected, for each study and pair of a report that was not begun."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from math import exp, sqrt
from typing import Any

from scipy.special import stdtrit

from tierwise.bench.inputs import Inputs
from tierwise.bench.live import is_counted, turns_of
from tierwise.bench.loop import gather_inputs
from tierwise.bench.rooms import load_study, pairs_of
from tierwise.bench.runs import Outlook, look_ahead
from tierwise.bench.simulation import LIVE, SimulatedStudy
from tierwise.bench.study import Cell
from tierwise.core import studies
from tierwise.core.pairs import Pair
from tierwise.core.quiet import REMEDY, Noise, Quiet, listen, reference_work, took_s
from tierwise.core.tables import table
from tierwise.core.units import GB
from tierwise.core.words import Substrate
from tierwise.plan.forecast import Forecast, Prospect, load_host

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Line:
    """One study on one pair; seconds, disk and widths are None where the study forecasts nothing.

    `host_s`: that the host is busy, at the recorded pace; `device_s`: that it waits for devices.

    `half_widths`: of the ratio's 95 % interval, in percent of the ratio, by the ratio's name.
    `rows_of`: the run that has its rows already, so that nothing is measured; `why`: why it is measured although an older run had it.
    """

    study: str
    pair: str
    substrate: str
    cells: int
    blocks: int
    trials: int
    host_s: float | None
    device_s: float | None
    disk_gb: float | None
    half_widths: Mapping[str, float]
    rows_of: str = ""
    why: str = ""

    def minutes(self, pace: float = 1.0, steal: float = 0.0) -> float | None:
        """Return the minutes at the recorded pace, or on a machine of this pace and steal."""
        if self.host_s is None or self.device_s is None:
            return None
        return took_s(self.host_s, self.device_s, pace=pace, steal=steal) / 60


@dataclass(frozen=True)
class Plan:
    """The plan of a report with one profile. `pace`: how much longer this machine takes, as it is busy now, than the one
    that the constants were recorded on; `noise`: how quiet it is now."""

    profile: str
    seed: int
    lines: tuple[Line, ...]
    report_s: float
    pace: float
    noise: Noise
    recorded: date

    @property
    def measured(self) -> list[Line]:
        """Return the lines whose rows are not there yet."""
        return [line for line in self.lines if not line.rows_of]

    @property
    def host_s(self) -> float:
        """Return the seconds that the host is busy with the whole report, as far as it is forecast, at the recorded pace."""
        return self.report_s + sum(line.host_s or 0.0 for line in self.measured)

    @property
    def device_s(self) -> float:
        """Return the seconds that the whole report waits for devices."""
        return sum(line.device_s or 0.0 for line in self.measured)

    @property
    def minutes(self) -> float:
        """Return the minutes of the whole report at the recorded pace."""
        return took_s(self.host_s, self.device_s, pace=1.0, steal=0.0) / 60

    @property
    def minutes_now(self) -> float:
        """Return the minutes of the whole report on this machine, as it is now."""
        return took_s(self.host_s, self.device_s, pace=self.pace, steal=self.noise.steal) / 60

    @property
    def disk_gb(self) -> float:
        """Return the most gigabytes of disk that are needed at once: a pair's data go before the next one's are loaded."""
        return max((line.disk_gb or 0.0 for line in self.measured), default=0.0)


def make_plan(*, profile: str, tiers: str, seed: int, **sources: str) -> Plan:
    """Make the plan of ``tierwise report`` with the same options, which measures what no run has yet. Nothing is measured but this
    machine's pace and quiet, for some seconds, and nothing is written.

    Raises:
        InputError: an unknown profile or pair, a file that cannot be read.
    """
    inputs = gather_inputs(profile=profile, tiers=tiers, seed=seed, **sources)
    return beside_runs(plan_of(inputs), look_ahead(inputs))


def plan_of(inputs: Inputs, names: Sequence[str] | None = None) -> Plan:
    """Return the same for inputs that were gathered already, as if no run were there: of the studies `names`, or of all."""
    host = load_host()
    pace = reference_work() / host.pace_s
    noise = listen()
    lines = [
        _line(name, pair, inputs, host.lab_s)
        for name in (studies.names() if names is None else names)
        for pair in pairs_of(load_study(name), inputs.pairs, inputs.reader_pair)
    ]
    return Plan(inputs.profile.name, inputs.seed, tuple(lines), host.report_s, pace, noise, host.recorded)


def beside_runs(plan: Plan, outlook: Outlook) -> Plan:
    """Return `plan` where some studies' rows are there, or were until something changed."""
    lines = (replace(line, rows_of=outlook.rows.get(line.study, ""), why=outlook.why.get(line.study, "")) for line in plan.lines)
    return replace(plan, lines=tuple(lines))


def _line(name: str, pair: Pair, inputs: Inputs, lab_s: float) -> Line:
    study = load_study(name)
    blocks = inputs.profile.blocks_of(name)
    if isinstance(study, SimulatedStudy):
        trials, waited, counted = study.trials(inputs.profile, pair), [], False
    else:
        turns = turns_of(study, pair, inputs, blocks)
        trials = tuple({turn.trial.key: turn.trial for turn in turns if not turn.trial.waited}.values())
        waited = [turn.trial for turn in turns if turn.trial.waited]
        counted = is_counted(study.trials(inputs.profile, pair), pair, inputs)
    prospect = Prospect(inputs.profile, pair, trials, inputs.sources, inputs.seed, counted, waited)
    found = _forecast(name, prospect)
    labs_s = 0.0 if isinstance(study, SimulatedStudy) or not trials else lab_s * (prospect.labs(blocks) - 1)
    models_alone = isinstance(study, SimulatedStudy) and all(trial.preparation != LIVE for trial in trials)
    return Line(
        study=name,
        pair=pair.name,
        substrate=str(Substrate.SIMULATED if models_alone else pair.substrate),
        cells=len(trials),
        blocks=blocks,
        trials=len(trials) * blocks + len(waited),
        host_s=None if found is None else found.host_s + labs_s,
        device_s=None if found is None else found.device_s,
        disk_gb=None if found is None else found.disk_bytes / GB,
        half_widths={} if found is None or blocks < 2 else {ratio: half_width(spread, blocks) for ratio, spread in found.spreads.items()},
    )


def _forecast(name: str, prospect: Prospect[Cell]) -> Forecast | None:
    module = f"tierwise.studies.{name}.measuring.forecast"
    if find_spec(module) is None:
        return None
    found = import_module(module).forecast(prospect)
    assert isinstance(found, Forecast), f"{module}.forecast gave a {type(found).__name__}"
    return found


def half_width(spread: float, blocks: int) -> float:
    """Return the percentage by which the upper end of the 95 % interval lies above the ratio, for `blocks` (two at least) whose log ratios
    spread so."""
    return 100 * (exp(float(stdtrit(blocks - 1, (1 + CONFIDENCE) / 2)) * spread / sqrt(blocks)) - 1)


def as_json(plan: Plan) -> dict[str, Any]:
    """Return everything that a plan says, for programs. Minutes, disk and widths are simulated: none of them was measured in this run."""
    lines = [{**asdict(line), "minutes": line.minutes(), "minutes_now": line.minutes(plan.pace, plan.noise.steal)} for line in plan.lines]
    return {
        **asdict(plan),
        "lines": lines,
        "minutes": plan.minutes,
        "minutes_now": plan.minutes_now,
        "noise": {**asdict(plan.noise), "word": plan.noise.word, "meaning": plan.noise.meaning},
        "disk_gb": plan.disk_gb,
        "recorded": str(plan.recorded),
        "stamp": str(Substrate.SIMULATED),
    }


def sentence(plan: Plan) -> str:
    """Return the plan in one line."""
    unknown = [line.study for line in plan.measured if line.host_s is None]
    rest = f", without {', '.join(sorted(set(unknown)))}" if unknown else ""
    trials = sum(line.trials for line in plan.measured)
    return (
        f"plan: {trials} trials, about {plan.minutes_now:.1f} minutes as this machine is now ({plan.minutes:.1f} at the recorded pace) and "
        f"{plan.disk_gb:.2g} GB of disk{rest} (tierwise plan tells more)\n{noise_sentence(plan.noise)}"
    )


def noise_sentence(noise: Noise) -> str:
    """Return how quiet the machine is, and what that means for this run."""
    remedy = "" if noise.word is Quiet.QUIET else f"\n({REMEDY})"
    return f"This machine is {noise.word}: {noise.measured}:\n{noise.meaning}{remedy}"


HEADER = ("study", "pair", "substrate", "cells", "blocks", "trials", "minutes", "now", "disk GB", "95 % interval, at most")


def as_text(plan: Plan) -> str:
    """Return the plan for a terminal."""
    rows = [_cells(line, plan) for line in plan.lines]
    report_now_s = took_s(plan.report_s, 0.0, pace=plan.pace, steal=plan.noise.steal)
    rows.append(("notebooks, rendering", "", "", "", "", "", f"{plan.report_s / 60:.1f}", f"{report_now_s / 60:.1f}", "", ""))
    trials = sum(line.trials for line in plan.measured)
    together = (f"{plan.minutes:.1f}", f"{plan.minutes_now:.1f}", f"{plan.disk_gb:.2g}")
    rows.append(("together", "", "", "", "", str(trials), *together, ""))
    told = (
        f"profile {plan.profile}, seed {plan.seed}. Minutes, disk and intervals are simulated: device models, and constants of\n"
        f"{plan.recorded} (data/plan). minutes: at the pace of data/plan/host.toml, {plan.minutes:.1f} in all;\n"
        f"now: as this machine is now, {plan.minutes_now:.1f} in all: the same work takes it {plan.pace:.2f} times as long, and "
        f"{100 * plan.noise.steal:.1f} % of its\n"
        f"time is stolen. {noise_sentence(plan.noise)}"
    )
    return "\n".join([table(HEADER, rows, numbers=range(3, 9)), *_beside(plan), told])


def _beside(plan: Plan) -> list[str]:
    """Tell whose rows are taken, and what is measured anew and why, a line for each study."""
    rows = {line.study: line.rows_of for line in plan.lines if line.rows_of}
    why = {line.study: line.why for line in plan.lines if line.why}
    taken = [f"{study}: nothing is measured, its rows are those of run {run_id}" for study, run_id in rows.items()]
    return [*taken, *(f"{study}: measured anew, because {reason}" for study, reason in why.items())]


def _cells(line: Line, plan: Plan) -> tuple[str, ...]:
    minutes, now = line.minutes(), line.minutes(plan.pace, plan.noise.steal)
    widest = max(line.half_widths.items(), key=lambda item: item[1], default=None)
    return (
        line.study,
        line.pair,
        line.substrate,
        str(line.cells),
        str(line.blocks),
        str(line.trials),
        *_told_minutes(line, minutes, now),
        "" if line.disk_gb is None else f"{line.disk_gb:.2g}",
        "" if widest is None else f"-+ {widest[1]:.3g} % ({widest[0]})",
    )


def _told_minutes(line: Line, minutes: float | None, now: float | None) -> tuple[str, str]:
    """Minutes of `line` at the recorded pace and now, or that its rows are there."""
    if line.rows_of:
        return "there", ""
    return "no forecast" if minutes is None else f"{minutes:.1f}", "" if now is None else f"{now:.1f}"
