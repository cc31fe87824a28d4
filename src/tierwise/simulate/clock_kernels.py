"""First in, first out, with a second chance: a ring of frames, and of each page whether it is resident and was used since."""

from tierwise.core.compiled import inlined
from tierwise.simulate.cache_table import CAPACITY, FILE_PAGES, FIRST, HEAD, RESIDENT, Table

ABSENT, TAKEN_IN, USED = 0, 1, 2


@inlined
def use(table: Table, page: int) -> None:
    table[HEAD + page] = USED


@inlined
def insert(table: Table, page: int) -> None:
    frames, at = HEAD + table[FILE_PAGES], table[RESIDENT]
    if at < table[CAPACITY]:
        table[RESIDENT] = at + 1
    else:
        at = table[FIRST]
        while table[HEAD + table[frames + at]] == USED:
            table[HEAD + table[frames + at]] = TAKEN_IN
            at = _next(table, at)
        table[HEAD + table[frames + at]] = ABSENT
        table[FIRST] = _next(table, at)
    table[frames + at] = page
    table[HEAD + page] = TAKEN_IN


@inlined
def _next(table: Table, at: int) -> int:
    return at + 1 if at + 1 < table[CAPACITY] else 0
