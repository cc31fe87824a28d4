"""What a server's sessions wait for, from its shared memory: no session takes part, and no clock but the reader's is needed.

Each process of a server has a pointer to the number of its wait event, `my_wait_event_info`, which is a symbol of the program.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct, unpack_from
from types import MappingProxyType
from typing import Final

from tierwise.core.errors import MissingError
from tierwise.postgres.processes import postmaster
from tierwise.postgres.settings import Connection

POINTER: Final = b"my_wait_event_info"
SESSIONS: Final = "SELECT pid FROM pg_stat_get_activity(NULL) WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
MAJOR: Final = 18  # the version that the numbers below are of: another one counts its wait events anew
PROCESSOR: Final = "processor"
ROW_LOCKS: Final = "row locks"
KERNEL_LOCKS: Final = "kernel locks"
OTHER_LOCKS: Final = "other locks"
WAL: Final = "WAL"
READS: Final = "reads"
WRITES: Final = "writes"
CLIENT: Final = "client"
QUEUE: Final = "processor queue"
UNNAMED: Final = "unnamed"

LIGHT, LOCK, PIN, FROM_CLIENT, IPC, TIMEOUT, FILES = (kind << 24 for kind in (0x01, 0x03, 0x04, 0x06, 0x08, 0x09, 0x0A))
_NUMBERS: Final = (  # what is waited for, class and numbers of events
    (READS, FILES, (0, 20, 21)),  # AioIoCompletion, DataFilePrefetch, DataFileRead
    (READS, IPC, (8,)),  # BufferIO: another session reads the page
    (WRITES, FILES, (17, 18, 19, 22, 23, 24)),  # DataFileExtend, DataFileFlush, DataFileImmediateSync, ...Sync, ...Truncate, ...Write
    (WAL, FILES, (73, 74, 78, 80)),  # WalInitSync, WalInitWrite, WalSync, WalWrite
    (WAL, LIGHT, (7, 8, 61)),  # WALBufMapping, WALWrite, WALInsert
    (ROW_LOCKS, LOCK, (4, 5)),  # tuple, transactionid
    (OTHER_LOCKS, IPC, (41, 56)),  # ProcArrayGroupUpdate, XactGroupUpdate
    (OTHER_LOCKS, TIMEOUT, (6,)),  # SpinDelay
)
EVENTS: Final = MappingProxyType({kind | number: what for what, kind, numbers in _NUMBERS for number in numbers})
KINDS: Final[Mapping[int, str]] = MappingProxyType({LIGHT: OTHER_LOCKS, LOCK: OTHER_LOCKS, PIN: OTHER_LOCKS, FROM_CLIENT: CLIENT})
"""The rest of a class."""

_HEADER: Final = Struct("<16xH22xQ10xHH")  # of an ELF file: type, where its sections are described, bytes of a description, how many
_SECTION: Final = Struct("<4xI16xQQI20x")  # type, offset, size, linked section
_SYMBOL: Final = Struct("<I4xQ8x")  # name, value
_SYMBOLS: Final = 11
_POSITION_INDEPENDENT: Final = 3


@dataclass(frozen=True)
class WaitEvents:
    """Where the number of each session's wait event lies in the file `memory`, by process, in bytes."""

    memory: Path
    places: Mapping[int, int]


def find_wait_events(connection: Connection, data: Path) -> WaitEvents:
    """Find the wait events of all sessions of the server of `data` but that of `connection`; `MissingError` where there are none."""
    if (version := connection.info.server_version // 10_000) != MAJOR:
        raise _missing(f"the server is PostgreSQL {version}", f"PostgreSQL {MAJOR}")
    server, pids = postmaster(data), [pid for (pid,) in connection.execute(SESSIONS).fetchall()]
    if server is None or not pids:
        raise _missing("the server has no other session", "connect the clients first")
    program, maps = Path(f"/proc/{server.pid}/exe"), _maps(server.pid)
    base = min(start for start, _, _, name in maps if name == str(program.readlink()))
    at = _symbol(program, base)
    addresses = {pid: _pointer(pid, at) for pid in pids}
    for start, end, offset, _ in maps:
        if all(start <= address < end for address in addresses.values()):
            memory = Path(f"/proc/{server.pid}/map_files/{start:x}-{end:x}")
            return WaitEvents(memory, {pid: address - start + offset for pid, address in addresses.items()})
    raise _missing("no shared memory of the server holds them", "shared_memory_type = mmap")


def resource(event: int, tier: str, function: str) -> str:
    """Return what a session waits for: by its wait event, the tier that has its request, and the function of the kernel that it is in."""
    known = EVENTS.get(event) or KINDS.get(event & 0xFF000000)
    if function.startswith("fuse_"):  # and the tiers have no request of it
        return KERNEL_LOCKS
    if known in {READS, WRITES} and tier:
        return f"{known} {tier}"
    if known:
        return known
    if event == 0 and function == "0":
        return QUEUE
    if event == 0 and ("nanosleep" in function or "seccomp" in function):
        return WAL  # a server sleeps without a wait event only in `commit_delay`
    return f"{UNNAMED} {event:#010x} {tier or function}"


def _missing(why: str, remedy: str) -> MissingError:
    return MissingError("a record of the sessions' wait events", why=why, remedy=remedy)


def _maps(pid: int) -> list[tuple[int, int, int, str]]:
    lines = re.findall(r"^(\w+)-(\w+) \S+ (\w+) \S+ \d+ *(.*)$", Path(f"/proc/{pid}/maps").read_text(encoding="utf-8"), re.MULTILINE)
    return [(int(start, 16), int(end, 16), int(offset, 16), name) for start, end, offset, name in lines]


def _symbol(program: Path, base: int) -> int:
    text = program.read_bytes()
    kind, where, size, count = _HEADER.unpack_from(text)
    sections = [_SECTION.unpack_from(text, where + number * size) for number in range(count)]
    for section, offset, length, linked in sections:
        if section == _SYMBOLS:
            names = sections[linked][1]
            for name, value in _SYMBOL.iter_unpack(text[offset : offset + length]):
                if text.startswith(POINTER + b"\0", names + name):
                    return int(value) + (base if kind == _POSITION_INDEPENDENT else 0)
    raise _missing(f"{program.readlink()} has no symbol {POINTER.decode()}", "a server that is built as usual")


def _pointer(pid: int, at: int) -> int:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(at)
        return int(unpack_from("<Q", memory.read(8))[0])
