"""Section on the reference run: how this run's medians and verdicts stand beside those of the run that ships."""

from statistics import median

from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count, listed, number
from tierwise.report.reference import Beside, stamped, valued
from tierwise.report.run import Run
from tierwise.report.words import marked


def told(run: Run, found: Beside | None) -> Sentence:
    """Return which runs are compared, and how alike they are."""
    if run.is_reference:
        return Sentence(
            f"This report shows the {run.name} itself. A report of a run of yours holds it here against this one, cell by cell and claim "
            "by claim; `tierwise diff reference latest` prints the same."
        )
    if found is None:
        return Sentence("No reference run ships with this checkout, so there is nothing to compare with.")
    alike = f"{count(len(found.claims) - len(found.differing))} of {count(len(found.claims))} claims have the verdict that they have there"
    return Sentence(
        f"Beside the {found.reference.name}, which ships with tierwise. {found.caution} {_ratios(found)} {alike}. "
        "The reference is one run on one machine, no truth: what differs asks for a reason."
    )


def cells(found: Beside | None) -> Table | Sentence:
    if found is None or found.cells.is_empty():
        return Sentence("")
    rows = [
        [
            f"`{row['pair']}`",
            f"{row['cell']} ({row['io_mode']})",
            valued(row["median"], row["unit"]),
            valued(row["median_reference"], row["unit"]),
            number(row["ratio"]),
            f"{count(row['n'])}, {count(row['n_reference'])}",
            ", ".join(f"**{word}**" for word in dict.fromkeys((row["evidence"], row["evidence_reference"]))),
        ]
        for row in found.cells.rows(named=True)
    ]
    caption = (
        f"Medians of unflagged observations in {found.run.name} and in the {found.reference.name}, cell by cell, "
        f"n = {count(len(rows))} cells that both have. Queries: the views `*_cells` of each study's `reading/rows.sql`."
    )
    return Table(["Pair", "Cell", "This run", "Reference", "Ratio", "n, n", "Evidence"], rows, caption, align="llrrrrl")


def verdicts(found: Beside | None) -> Table | Sentence:
    if found is None or not found.differing:
        return Sentence("")
    rows = [[one.ours.id, *(f"{marked(claim)}; {stamped(claim)}" for claim in (one.ours, one.theirs))] for one in found.differing]
    caption = (
        f"Claims with another verdict than in the reference, n = {count(len(rows))}, each estimate with its evidence. "
        f"{found.run.stamp}; {found.reference.name}."
    )
    return Table(["Claim", "This run", "Reference"], rows, caption)


def _ratios(found: Beside) -> str:
    if found.cells.is_empty():
        return "No cell was observed in both."
    ratios = {evidence: sorted(group["ratio"]) for (evidence,), group in found.cells.group_by("evidence", maintain_order=True)}
    told = listed(
        f"{number(median(values))} for {evidence} ones (from {number(values[0])} to {number(values[-1])}; {count(len(values))} cells)"
        for evidence, values in ratios.items()
    )
    return (
        f"Its medians over those of the reference (@tbl-beside-cells) are in the middle {told}. Where nothing is read (a hot cache) "
        "a time is the host's own, and speaks of the host alone."
    )
