"""How long a step of a plan takes, from how fast its tiers read and write one page after another."""

from collections.abc import Sequence
from typing import Final

from tierwise.advisor.server_question import LOG, TEMPORARY, Question, Unit, unit_name
from tierwise.advisor.server_tiers import FAST, SLOW

OVERHEAD_S: Final = 1.0  # of each step, for what looks at the server before and after (assumed)
SORT_BYTES_PER_S: Final = 40e6  # entries of an index that a server sorts and packs in a second (assumed)
TIMES_WRITTEN: Final = 2  # to files of the sort, which the plan puts on the faster tier, and to the index; both are read once
SCANS: Final = 2  # a concurrent rebuild reads its table to build and to validate


def step_s(unit: Unit, moved: Sequence[str], question: Question) -> float | None:
    """Return how long `unit` takes to move after `moved` if nothing else uses the devices: a table is copied, an index built again.

    None: it moves by hand, or a rate or a size is unknown.
    """
    slow, fast = (question.tiers[name].sequential() for name in (SLOW, FAST))
    if slow is None or fast is None or unit.size_bytes is None or unit.kind in {LOG, TEMPORARY}:
        return None
    if unit.kind != "index":
        return OVERHEAD_S + unit.size_bytes * (1 / slow.read + 1 / fast.write)
    loads = {unit_name(load): load for load in question.activity.relations}
    table = next((load for load in loads.values() if load.relation == loads[(unit.members or (unit.name,))[0]].owner), None)
    if table is None or table.size_bytes is None:
        return None
    place = fast if unit_name(table) in moved or question.placement[unit_name(table)] == FAST else slow
    index_s = unit.size_bytes * (1 / SORT_BYTES_PER_S + TIMES_WRITTEN * (1 / fast.write + 1 / fast.read))
    return OVERHEAD_S + SCANS * table.size_bytes / place.read + index_s
