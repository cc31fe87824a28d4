"""The notation of DiskSim's parameter files: named blocks of ``name = value`` with lists, ``#`` to the end of a line."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
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
        with suppress(ValueError):
            if isinstance(value, str) and isfinite(float(value)):
                return float(value)
        rule = "must be a number" if value is not None else f"a {self.kind or 'file'} block must say it"
        raise InputError(self.where, field=name, value=value, rule=rule)

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


def bare_lines(path: Path) -> list[str]:
    """Return the lines of `path`, whatever its encoding, without what follows a ``#``."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(short(path), rule=f"cannot be read: {error.strerror}") from None
    return [line.partition("#")[0] for line in text.splitlines()]


def read_blocks(path: Path) -> Block:
    """Return the file as one block without a kind."""
    pieces = [piece for part in _PIECE.findall("\n".join(bare_lines(path))) if (piece := part.strip())]
    try:
        return _Parser(pieces[::-1], short(path)).block("", closing=None)
    except RecursionError:
        raise InputError(short(path), rule="brackets stand too deep in brackets") from None


@dataclass
class _Parser:
    left: list[str]  # pieces of the text, the next one last
    where: str

    def block(self, kind: str, closing: str | None) -> Block:
        found, name = Block(kind, where=self.where), ""
        pieces = self._until(closing)
        for piece in pieces:
            if piece == "=":
                value = next(pieces, None)
                if value is None:
                    raise InputError(self.where, field=name, rule="nothing follows the equals sign")
                found.fields[key(name)] = self._value(value)
            elif piece == "[":  # a statement's list of names
                self._items()
            elif piece == "{":
                found.fields[key(name)] = self.block(name, "}")
            elif piece != ",":
                name = piece
        return found

    def _until(self, closing: str | None) -> Iterator[str]:
        while (piece := self.left.pop() if self.left else None) != closing:
            if piece is None or piece in {"}", "]"}:
                raise InputError(self.where, value=piece, rule=f"a bracket does not match: expected {closing or 'the end of the file'!r}")
            yield piece

    def _value(self, piece: str) -> Value:
        if piece == "[":
            return self._items()
        if self.left[-1:] == ["{"]:
            self.left.pop()
            return self.block(piece, "}")
        return piece

    def _items(self) -> list[Value]:
        return [self._value(piece) for piece in self._until("]") if piece != ","]


def key(name: str) -> str:
    return " ".join(name.lower().split())
