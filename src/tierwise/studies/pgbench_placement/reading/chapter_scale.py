"""Part of the chapter on the pgbench study: whether the size of the data matters, and what the gains are at the published size."""

from typing import Any, Final

from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count
from tierwise.report.prices import run_note
from tierwise.report.run import Run
from tierwise.report.scaling_table import FORM, Sizes, entries_of, ratios, sentence, table
from tierwise.studies.pgbench_placement.reading.figures import PLACEMENTS
from tierwise.studies.pgbench_placement.reading.figures_map import STUDY

MOVED: Final = ("index_ssd", "table_ssd")
VALUES: Final = "tps"


def carried(run: Run, pair: str) -> Sentence:
    """Return the gains at the published size, and how far the same line misses at the largest that was simulated."""
    entries = entries_of(run, STUDY, pair, VALUES)
    if not entries:
        return Sentence("This run simulated the data at one size; `make report PROFILE=full` does at three.")
    return Sentence(f"At the published size the gains would be, **{Evidence.SIMULATED}**: {sentence(_sizes(entries))}")


def sizes(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the gains at each size, at the published one, and the miss at the largest."""
    entries = entries_of(run, STUDY, pair, VALUES)
    if not entries:
        return Sentence("")
    return table(
        _sizes(entries),
        "Placement",
        "Gains over everything on HDD by pgbench's scale, with memory and stretch to match, and at the published scale. "
        f"{FORM.format(repeat='seed')} {run_note(run, Evidence.SIMULATED, len(MOVED) * len(entries), 'gains')} "
        f"Pair `{pair}`; from the run's manifest.",
    )


def _sizes(entries: list[dict[str, Any]]) -> Sizes:
    lines = {PLACEMENTS[name]: ratios(entries, VALUES, "scale", of=name, over="all_hdd") for name in MOVED}
    return Sizes(lines, float(entries[0]["published_scale"]), lambda scale: f"Scale {count(round(scale))}")
