"""The hunt for the published scan, drawn: which way of reading gives the source's seconds."""

from statistics import fmean
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.figures.places import COLOURS, ROW_PX, log_range, simulated_ways
from tierwise.report.run import Run
from tierwise.studies.survey_arrays.reading.shown import ARRAYS, SCAN, SURVEY

NOT_HUNTED: Final = "The published size was simulated with too few seeds for an answer, or not at all, on the pair `{}`."


def hunted(run: Run, pair: str, query: str, form: str = "printed") -> list[dict[str, Any]]:
    """Return what was simulated of `query` in `form` at the published size, one entry a way."""
    return simulated_ways(run, pair, ARRAYS.study, query, form)


def hunted_seconds(run: Run, pair: str, query: str = SCAN) -> pl.DataFrame:
    """Return the published seconds of `query` on each subsystem and simulated ones of each way of reading, means over the seeds: row (the
    way), place, seconds, how, seeds.
    """
    simulated = [
        {"row": way["method"], "place": ARRAYS.places[tier], "seconds": fmean(values), "how": "simulated", "seeds": len(values)}
        for way in hunted(run, pair, query)
        for tier, values in way["seconds"].items()
    ]
    published = [
        {"row": "published", "place": ARRAYS.places[place], "seconds": seconds, "how": "published", "seeds": None}
        for (asked, place), seconds in ARRAYS.published_seconds().items()
        if asked == query
    ]
    return pl.DataFrame([*published, *simulated], infer_schema_length=None)


def hunt(run: Run, pair: str, points: pl.DataFrame) -> Figure | Sentence:
    """Return simulated seconds of a query on each subsystem, by way, beside the published ones; `points` as of `hunted_seconds`."""
    if set(points["how"]) <= {"published"}:
        return Sentence(NOT_HUNTED.format(pair))
    order = points["row"].unique(maintain_order=True).to_list()
    places = list(ARRAYS.places.values())
    width_px = parts.label_px(order)
    low, high = log_range(points["seconds"])
    chart = (
        alt.Chart(points, width=parts.PLOT_PX, height=ROW_PX * len(order))
        .mark_point(size=60, filled=True, opacity=0.9)
        .encode(
            x=alt.X(
                "seconds:Q",
                title="seconds",
                scale=alt.Scale(type="log", domain=[low, high], nice=False),
                axis=alt.Axis(values=parts.log_ticks(low, high), format="~g"),
            ),
            y=alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px)),
            color=alt.Color("place:N", title=None, scale=alt.Scale(domain=places, range=COLOURS)),
            shape=alt.Shape("place:N", title=None, scale=alt.Scale(domain=places, range=["circle", "diamond", "square", "triangle-up"])),
            tooltip=["row:N", "place:N", alt.Tooltip("seconds:Q", format=",.0f"), "how:N"],
        )
    ).properties(description="Seconds of the scan by way of reading, on four subsystems, simulated, beside the published ones.")
    caption = (
        "Seconds of the query on non-indexed columns at the published size: the devices **simulated** for each way of reading, means of "
        f"the seeds; in the first row the **published** ones, inferred from a chart (`{SURVEY}`). Each way changes one thing of the ideal "
        f"reading. {run.stamp}, pair `{pair}`, n = {len(points)} points; from the manifest's facts."
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, points)
