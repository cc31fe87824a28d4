"""Fields of the lines of a text: where each begins and ends, its number, or what its word means. Millions of lines a second."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import Floats, Ints, compiled

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Places = NDArray[np.int32]

MOST_DIGITS: Final = 18


class Fields:
    """The lines of `text`, each cut into fields at commas, or at blanks; at most `most` are kept, and all are counted."""

    def __init__(self, text: Bytes, *, commas: bool, most: int):
        lines = int(np.count_nonzero(text == ord("\n"))) + 1
        self.text = text
        self.first, self.end = np.zeros((most, lines), np.int32), np.zeros((most, lines), np.int32)
        self.counts, self.lines = np.zeros(lines, np.int32), np.zeros(lines + 1, np.int32)
        _split(text, self.first, self.end, self.counts, self.lines, commas=commas)

    def __len__(self) -> int:
        return len(self.counts)

    def line(self, row: int) -> bytes:
        return self.text[self.lines[row] : self.lines[row + 1]].tobytes()

    def word(self, column: int, row: int, *, until: int | None = None) -> str:
        last = column if until is None else until
        return self.text[self.first[column, row] : self.end[last, row]].tobytes().decode("utf-8", "replace")

    def whole(self, column: int) -> tuple[Ints, Flags]:
        """Return the column's whole numbers, and which are ones of at most `MOST_DIGITS` digits."""
        return _whole(self.text, self.first[column], self.end[column])

    def decimals(self, column: int) -> Floats:
        """Return the column's numbers, which may have a point and an exponent; 0 where there is none."""
        return _decimals(self.text, self.first[column], self.end[column])

    def hashes(self, column: int, *, until: int | None = None) -> Ints:
        """Return a number for each word: equal for equal words, and for no others (64 bits, FNV-1a)."""
        return _hashes(self.text, self.first[column], self.end[column if until is None else until])

    def meanings(self, column: int, meaning: Callable[[str], int], *, until: int | None = None) -> Ints:
        """Return what `meaning`, called once for each different word, makes of the column, or of the columns until that one."""
        numbers = Numbering().of(self.hashes(column, until=until))
        _, rows = np.unique(numbers, return_index=True)
        return np.array([meaning(self.word(column, int(row), until=until)) for row in rows], np.int64)[numbers]


class Numbering:
    """Numbers for 64-bit keys, from 0 in the order of first sight."""

    def __init__(self) -> None:
        self.count = 0
        self._keys, self._numbers = np.zeros(2**12, np.int64), np.full(2**12, -1, np.int32)

    def of(self, keys: Ints) -> NDArray[np.int32]:
        found, at = np.empty(len(keys), np.int32), 0
        while at < len(keys):
            if 2 * self.count >= len(self._keys):
                self._grow()
            at, self.count = _number(keys, found, self._keys, self._numbers, at=at, count=self.count)
        return found

    def _grow(self) -> None:
        held = self._numbers >= 0
        keys, numbers = self._keys[held], self._numbers[held]
        self._keys, self._numbers = np.zeros(4 * len(self._keys), np.int64), np.full(4 * len(self._keys), -1, np.int32)
        in_order = np.empty_like(keys)
        in_order[numbers] = keys
        _number(in_order, np.empty(len(keys), np.int32), self._keys, self._numbers, at=0, count=0)


@compiled
def _split(text: Bytes, first: Places, end: Places, counts: Places, lines: Places, *, commas: bool) -> None:
    most, size, at = len(first), len(text), 0
    for line in range(len(counts)):
        lines[line] = at
        fields, begun, last = 0, -1, -1
        while True:
            letter = text[at] if at < size else 10
            blank = letter == 32 or (letter != 10 and 9 <= letter <= 13)
            if letter == 10 or (letter == 44 if commas else blank):
                if begun >= 0 or (commas and (letter == 44 or fields)):
                    if fields < most:
                        first[fields, line], end[fields, line] = (begun, last + 1) if begun >= 0 else (at, at)
                    fields += 1
                begun = -1
                at += 1
                if letter == 10:
                    break
                continue
            if not blank:
                begun, last = at if begun < 0 else begun, at
            at += 1
        counts[line] = fields
    lines[len(counts)] = min(at, size)


@compiled
def _whole(text: Bytes, first: Places, end: Places) -> tuple[Ints, Flags]:
    values, good = np.zeros(len(first), np.int64), np.zeros(len(first), np.bool_)
    for row in range(len(first)):
        number, begin, after = np.int64(0), first[row], end[row]
        fine = 0 < after - begin <= MOST_DIGITS
        for at in range(begin, after if fine else begin):
            fine = fine and 48 <= text[at] <= 57
            number = number * 10 + np.int64(text[at] - 48)
        values[row], good[row] = number if fine else 0, fine
    return values, good


@compiled
def _decimals(text: Bytes, first: Places, end: Places) -> Floats:
    values = np.zeros(len(first))
    for row in range(len(first)):
        number, scale, power, sign, part = 0.0, 1.0, np.int64(0), 1, 0  # part: whole, after the point, exponent
        for at in range(first[row], end[row]):
            letter = text[at]
            if 48 <= letter <= 57 and part == 2:
                power = 10 * power + np.int64(letter - 48)
            elif 48 <= letter <= 57:
                number = number * 10 + np.int64(letter - 48)
                scale *= 10.0 if part == 1 else 1.0
            elif letter == 45:
                sign = -1
            else:
                part = 1 if letter == 46 else 2
        values[row] = number / scale * 10.0 ** (sign * power)
    return values


@compiled
def _hashes(text: Bytes, first: Places, end: Places) -> Ints:
    values = np.empty(len(first), np.uint64)
    for row in range(len(first)):
        mixed = np.uint64(14695981039346656037)
        for at in range(first[row], end[row]):
            mixed = (mixed ^ np.uint64(text[at])) * np.uint64(1099511628211)
        values[row] = mixed
    return values.view(np.int64)


@compiled
def _number(keys: Ints, found: Places, table: Ints, numbers: Places, *, at: int, count: int) -> tuple[int, int]:
    """Give `keys` numbers from `at` on, until the table is half full; returns where it ended, and how many keys have numbers."""
    mask = len(table) - 1
    while at < len(keys) and 2 * count < len(table):
        mixed = np.uint64(keys[at]) * np.uint64(11400714819323198485)
        place = np.int64(mixed >> np.uint64(20)) & mask
        while numbers[place] >= 0 and table[place] != keys[at]:
            place = (place + 1) & mask
        if numbers[place] < 0:
            table[place], numbers[place] = keys[at], count
            count += 1
        found[at] = numbers[place]
        at += 1
    return at, count
