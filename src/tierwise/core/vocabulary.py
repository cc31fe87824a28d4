"""The study's vocabulary: how a number came to be, how the cache stood, how I/O was done."""

from enum import StrEnum


class Evidence(StrEnum):
    """How a number came to be. A ratio across two kinds of evidence is ``MIXED`` and never gives a verdict."""

    MEASURED = "measured"
    EMULATED = "emulated"
    SIMULATED = "simulated"
    PUBLISHED = "published"
    MIXED = "mixed"

    @staticmethod
    def of(parts: "set[Evidence]") -> "Evidence":
        if not parts:
            raise ValueError("a result rests on at least one evidence, got none")
        return next(iter(parts)) if len(parts) == 1 else Evidence.MIXED


class ClockKind(StrEnum):
    """The clock that the time of a row, and the devices of emulated tiers, went by."""

    REAL = "real"  # real time: every request waits as long as its device would have taken
    VIRTUAL_ONE = "virtual-one"
    """Counted, for one session with one request at a time: its processor time, and the service times of its requests."""
    VIRTUAL_SEVERAL = "virtual-several"
    """Counted, for any number of sessions: their processor time on the assumed processors, and jumps while all of them are blocked."""


class Cache(StrEnum):
    COLD = "cold"
    HOT = "hot"
    CROSS = "cross"
    NONE = "none"


class IoMode(StrEnum):
    DIRECT = "direct"  # the session itself reads past the page cache, one request at a time
    BUFFERED = "buffered"  # reads pass through the kernel's page cache, which reads ahead of the session
    ASYNCHRONOUS = "asynchronous"  # where a plan reads ahead, workers of the server read past the page cache, several requests at a time

    @property
    def cached(self) -> bool:
        return self is IoMode.BUFFERED


class RelationClass(StrEnum):
    TABLE = "table"
    INDEX = "index"
    WAL = "wal"


class Layout(StrEnum):
    """Where the popular rows of a skewed load lie; without skew all layouts are one."""

    STREWN = "strewn"  # all over the table, in the order of the index: pgbench, whose popular accounts are permuted
    RECENT = "recent"  # side by side in both: a table that grows by time, with a key that does
    RANDOM_KEYS = "random-keys"  # side by side in the table, all over the index: a table that grows by time, with a key drawn at random


class Goal(StrEnum):
    QUICKEST = "quickest"
    CHEAPEST = "cheapest"


class Way(StrEnum):
    SERVER = "server"  # ``ALTER TABLE ... SET TABLESPACE`` past a page cache: 32 pages are read, one by one, then written, one by one
    BANDWIDTH = "bandwidth"  # reading and writing at once, in large requests: the slower of both
