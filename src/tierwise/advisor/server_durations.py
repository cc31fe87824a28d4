"""How long a step of a plan takes, from how fast its tiers read and write one page after another, and from the watched load."""

from collections.abc import Collection
from typing import Final

from tierwise.advisor.server_question import LOG, TEMPORARY, Question, Unit, unit_name
from tierwise.advisor.server_tiers import FAST, SLOW
from tierwise.core.units import PAGE_BYTES

COPY_PAGES: Final = 53  # of catalogs, which SET TABLESPACE reads beside the load (counted on 18, whose shared_buffers the load filled)
REBUILD_PAGES: Final = 270  # of catalogs, which a concurrent rebuild reads beside the load (counted likewise: 224 and 312)
SORT_BYTES_PER_S: Final = 40e6  # entries of an index that a server sorts and packs in a second (assumed)
TIMES_WRITTEN: Final = 2  # to files of the sort, which the plan puts on the faster tier, and to the index
TIMES_READ: Final = 3  # the files of the sort, and the index to validate and to hand over
SCANS: Final = 2  # a concurrent rebuild reads its table to build and to validate
WAITS: Final = 6  # of a concurrent rebuild for open transactions: the plan's own, and five phases of pg_stat_progress_create_index


def step_s(unit: Unit, moved: Collection[str], question: Question) -> float | None:
    """Return how long the statement that moves `unit` takes if nothing else uses the devices: a table is copied, an index built again.

    `moved`: what lies on the faster tier before or after this step, for a plan moves tables first.
    None: it moves by hand, or a rate or a size is unknown.
    """
    slow, fast = (question.tiers[name].sequential() for name in (SLOW, FAST))
    if slow is None or fast is None or unit.size_bytes is None or unit.kind in {LOG, TEMPORARY}:
        return None
    log = next((rates for name, rates in ((SLOW, slow), (FAST, fast)) if question.tiers[name].wal), None)
    reads_s = question.tiers[SLOW].latency()
    catalogs = REBUILD_PAGES if unit.kind == "index" else COPY_PAGES
    whole_s = catalogs * reads_s(1 + question.activity.depth) + (unit.size_bytes / log.write if log else 0.0)
    if unit.kind != "index":
        return whole_s + _dirty_pages(unit, question) * reads_s(1.0) + unit.size_bytes * (1 / slow.read + 1 / fast.write)
    loads = {unit_name(load): load for load in question.activity.relations}
    table = next((load for load in loads.values() if load.relation == loads[(unit.members or (unit.name,))[0]].owner), None)
    if table is None or table.size_bytes is None:
        return None
    place = fast if unit_name(table) in moved or question.placement[unit_name(table)] == FAST else slow
    index_s = unit.size_bytes * (1 / SORT_BYTES_PER_S + TIMES_WRITTEN / fast.write + TIMES_READ / fast.read)
    return whole_s + SCANS * table.size_bytes / place.read + index_s + WAITS * _last_ends_s(question)


def _dirty_pages(unit: Unit, question: Question) -> float:
    """Return how many changed pages SET TABLESPACE first writes from shared_buffers, which hold pages in proportion to their reads."""
    activity = question.activity
    if not unit.reads_per_s:
        return 0.0
    cached = activity.buffer_bytes / PAGE_BYTES * unit.reads_per_s / activity.reads_per_s
    changed = unit.writes_per_s * activity.watched_s / max(1, activity.checkpoints or 0)
    return min(cached * min(1.0, unit.writes_per_s / unit.reads_per_s), changed, (unit.size_bytes or 0.0) / PAGE_BYTES)


def _last_ends_s(question: Question) -> float:
    """Return until when all open transactions have ended, if their times are exponential (assumed)."""
    sessions = max(1, round(question.load.sessions))
    return (question.activity.transaction_s or 0.0) * sum(1 / number for number in range(1, sessions + 1))
