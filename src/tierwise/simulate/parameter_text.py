"""The notation of DiskSim's parameter files: named blocks of ``name = value`` with lists, ``#`` to the end of a line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tierwise.core.errors import InputError
from tierwise.core.paths import short

_PIECE = re.compile(r"[{}\[\]=,]|[^{}\[\]=,\n]+")


@dataclass
class Block:
    """``kind { name = value, ... }``; names are compared without regard to case and spacing."""

    kind: str
    fields: dict[str, "Value"] = field(default_factory=dict)
    where: str = ""

    def walk(self) -> Iterator["Block"]:
        yield self
        for value in self.fields.values():
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, Block):
                    yield from inner.walk()

    def number(self, name: str, default: float | None = None) -> float:
        value = self.fields.get(key(name))
        if value is None and default is not None:
            return default
        try:
            found = float(value) if isinstance(value, str) else None
        except ValueError:
            found = None
        if found is None or not abs(found) < float("inf"):
            rule = "must be a number" if value is not None else f"a {self.kind or 'file'} block must say it"
            raise InputError(self.where, field=name, value=value, rule=rule)
        return found

    def whole(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        number = self.number(name, default)
        if number % 1 or number < least:
            raise InputError(self.where, field=name, value=number, rule=f"must be a whole number of at least {least}")
        return int(number)

    def text(self, name: str, default: str) -> str:
        value = self.fields.get(key(name), default)
        return value if isinstance(value, str) else default

    def items(self, name: str) -> list["Value"]:
        value = self.fields.get(key(name), [])
        return value if isinstance(value, list) else [value]


Value = str | Block | list["Value"]


def read_blocks(path: Path) -> Block:
    """Return the file as one block without a kind."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(short(path), rule=f"cannot be read: {error.strerror}") from None
    bare = "\n".join(line.partition("#")[0] for line in text.splitlines())
    pieces = [piece for part in _PIECE.findall(bare) if (piece := part.strip())]
    try:
        return _Parser(pieces, short(path)).block("", closing=None)
    except RecursionError:
        raise InputError(short(path), rule="brackets stand too deep in brackets") from None


class _Parser:
    def __init__(self, pieces: list[str], where: str):
        self._pieces, self._at, self._where = pieces, 0, where

    def _next(self, closing: str | None) -> str | None:
        piece = self._pieces[self._at] if self._at < len(self._pieces) else None
        self._at += 1
        if piece == closing:
            return None
        if piece is None or piece in {"}", "]"}:
            raise InputError(self._where, value=piece, rule=f"a bracket does not match: expected {closing or 'the end of the file'!r}")
        return piece

    def _opens(self) -> bool:
        return self._at < len(self._pieces) and self._pieces[self._at] == "{"

    def block(self, kind: str, closing: str | None) -> Block:
        found, name = Block(kind, where=self._where), ""
        while (piece := self._next(closing)) is not None:
            if piece == "=":
                value = self._value(self._next(closing), name)
                found.fields[key(name)] = value
            elif piece == "[":  # a statement's list of names
                self._items()
            elif piece == "{":
                found.fields[key(name)] = self.block(name, "}")
            elif piece != ",":
                name = piece
        return found

    def _value(self, piece: str | None, name: str) -> Value:
        if piece is None:
            raise InputError(self._where, field=name, rule="nothing follows the equals sign")
        if piece == "[":
            return self._items()
        if self._opens():
            self._at += 1
            return self.block(piece, "}")
        return piece

    def _items(self) -> list[Value]:
        found: list[Value] = []
        while (piece := self._next("]")) is not None:
            if piece != ",":
                found.append(self._value(piece, "a list"))
        return found


def key(name: str) -> str:
    return " ".join(name.lower().split())
