"""Which recorded page sequences advice rests on: a run that is made small keeps these, so that its advice is the whole run's."""

from pathlib import Path

from tierwise.advisor.workload import recorded_as, requested
from tierwise.analysis import heat
from tierwise.analysis.views import open_views
from tierwise.core.errors import MissingError


def behind_advice(run_folder: Path) -> list[tuple[str, str, str]]:
    """Return study, pair and trial of what was recorded in `run_folder` and its advice rests on, each once.

    First come those whose requests the workloads are made of (`workload.workload_of`), then those of their other placements, which are
    replayed where a reader asks for other devices. Some of them were perhaps never recorded; a workload without enough clean replicates has
    none.
    """
    made_of: dict[tuple[str, str, str], None] = {}
    replayed: dict[tuple[str, str, str], None] = {}
    with open_views(run_folder.parent, run_folder.name) as connection:
        for study in heat.placeable():
            for pair in heat.pairs_of(connection, study):
                for _, rows in heat.heat_of(connection, study, pair).group_by("workload", maintain_order=True):
                    for _, mode in rows.group_by("io_mode", maintain_order=True):
                        try:
                            _, by_query = requested(mode)
                        except MissingError:
                            continue
                        made_of |= {(study, pair, recorded_as(part)[0]): None for part in by_query.values()}
                        replayed |= {(study, pair, trial): None for trial in mode["trial"].unique(maintain_order=True)}
    return list(made_of | replayed)
