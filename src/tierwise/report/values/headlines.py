"""The ratios of the first page, by replicate, and what beside them is not known of devices."""

from collections.abc import Iterator, Mapping
from typing import Final

from tierwise.advisor.ranking import SPEEDUP, gains_of, headline
from tierwise.analysis.model_interval import Key, shifts_of
from tierwise.analysis.statistics import Estimate
from tierwise.report.formats import interval
from tierwise.report.run import Run
from tierwise.report.study_registry import named
from tierwise.report.values.front import LOG
from tierwise.report.values.workloads import named_workloads

MODEL: Final = "; model "  # what stands between an estimate and its model interval


def headlines_of(run: Run, study: str, pair: str) -> Iterator[tuple[Key, Mapping[int, float]]]:
    """Yield the speed-ups of each placement of the workloads of `study` on `pair`, and of moving the log."""
    only = pair if pair in run.manifest.todays_pairs else None
    for _, workload in named_workloads(run, only):
        if (workload.study, workload.pair) == (study, pair):
            for gain in gains_of(workload):
                ratios = {replicate: 1 / ratio for replicate, ratio in gain.ratios.items()}
                yield headline(workload, gain.placement), ratios
    for name, module in named("log_moves"):
        if name == study:
            for (moved, on, io_mode), rows in module.moved(run, only).group_by("workload", "pair", "io_mode", maintain_order=True):
                if on == pair:
                    yield Key(pair, SPEEDUP, str(moved), LOG, "", str(io_mode)), dict(rows.select("replicate", "ratio").rows())


def every_headline(run: Run) -> Iterator[tuple[Key, Mapping[int, float]]]:
    for record in run.manifest.studies:
        yield from headlines_of(run, record.name, record.pair)


def beside(key: Key, estimate: Estimate) -> str:
    """Return ``; model 0.9 to 1.4``, to stand behind an estimate; empty where no model interval was computed."""
    shifts = shifts_of(key)
    if shifts is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{MODEL}{interval(*shifts.widened(estimate.low, estimate.high))}"
