"""What tells the replicates of a run apart: blocks, each with draws of its own, and the runs that a merged one is made of."""

from collections.abc import Sequence
from typing import Any, Final

RUN_BLOCKS: Final = 1000
"""Numbers of blocks that each run of a merged one has; also in ``timings.sql``."""
PREDICTIONS: Final = "predictions"
"""The fact of a study that holds what was predicted of its queries."""
BLOCKS: Final = "blocks"
BY_BLOCK: Final = (BLOCKS, "predicted_s", "devices_s")
"""Lists of a prediction, with an item for each block."""

Facts = dict[str, Any]


def run_number(block: int) -> int:
    """Return which of the runs of a merged one `block` is of, from 0; of any other run, 0."""
    return block // RUN_BLOCKS


def joined(before: Sequence[Facts], predictions: Sequence[Facts]) -> Facts:
    """Return the predictions of the blocks `before` with those of others, query by query; no fact where there are none."""
    known = {(one["trial"], one["step"]): one for one in before}
    for one in predictions:
        key = one["trial"], one["step"]
        known[key] = {**known[key], **{name: [*known[key][name], *one[name]] for name in BY_BLOCK}} if key in known else one
    return {PREDICTIONS: list(known.values())} if known else {}
