"""The numbers of the text on source X."""

from typing import Final

from tierwise.report.run import Run
from tierwise.report.text_template import Value

PAIR: Final = "toy-x"


def values(run: Run, pair: str = PAIR) -> dict[str, Value]:
    """Return what the run found of claim X1: its verdict, and the estimate with the interval that the verdict rests on.

    The first page calls the values of every study without a pair, so `pair` needs a default. The number `answered`, which has a page show
    the reference run where there is no answer, is left out: the reference run did not measure this study.
    """
    claim = run.verdict("X1")
    return {
        "measured": run.record("toy_x", pair) is not None,
        "verdict": claim.verdict.mark if claim else None,
        "ratio": claim.estimate if claim else None,
        "low": claim.low if claim else None,
        "high": claim.high if claim else None,
    }
