"""The content of a file: unpacked by its first bytes, without a byte-order mark, text as UTF-8. Whoever wrote it chose the suffix."""

import bz2
import gzip
import io
import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.units import MIB

HEAD_BYTES: Final = MIB  # what `Content.head` returns at most
WHOLE: Final = "name a file that is complete"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_ZIP: Final = b"PK\x03\x04"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = b"\x2a\x4d\x18"  # the end of the magic number of a frame that zstd leaves out, which may come first
_PACKED: Final[dict[bytes, Callable[[Any], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    _ZSTD: lambda raw: pa.CompressedInputStream(raw, "zstd"),
}
DAMAGED: Final = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException)


class Content(io.BufferedReader):
    """The unpacked bytes; `position` is how far the file itself was read."""

    def __init__(self, inner: Any, file: BinaryIO, *, packed: bool):
        super().__init__(_Filled(inner), HEAD_BYTES)
        self._file, self._packed = file, packed
        self.packed: Content | None = None
        if self.peek(3).startswith(_UTF8_MARK):
            self.read(3)

    @property
    def position(self) -> int:
        return self._file.tell()

    def head(self) -> bytes:
        """Return the first bytes, all of a short file, and leave them to be read."""
        return self.peek(HEAD_BYTES)

    @contextmanager
    def seekable_file(self) -> Iterator[BinaryIO]:
        """Yield the bytes as a file in which a reader may jump, at its beginning."""
        if not self._packed:
            self._file.seek(0)
            yield self._file
            return
        with tempfile.NamedTemporaryFile() as whole:
            shutil.copyfileobj(self, whole, MIB)
            whole.flush()
            with Path(whole.name).open("rb") as read_only:
                yield read_only


class _Filled(io.RawIOBase):
    """`inner`, whose reads fill the whole buffer until it ends."""

    def __init__(self, inner: Any):
        self._inner = inner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, done = memoryview(buffer), 0
        try:
            while done < len(view) and (part := self._inner.read(len(view) - done)):
                view[done : done + len(part)] = part
                done += len(part)
        except DAMAGED as error:
            raise OSError(f"cut short or damaged ({error})") from error
        return done


@contextmanager
def opened(path: Path, member: str = "") -> Iterator[Content]:
    """Open the content of `path`; of an archive the file called `member`, or its only one."""
    try:
        with path.open("rb") as raw:
            begins = raw.read(6)
            raw.seek(0)
            if begins.startswith(_ZIP):
                with zipfile.ZipFile(raw) as archive, archive.open(_place(archive, path, member)) as inner:
                    yield _as_utf8(inner, raw, packed=True)
                return
            begins = _ZSTD if begins[1:4] == _SKIPPABLE else begins
            unpack = next((unpack for magic, unpack in _PACKED.items() if begins.startswith(magic)), None)
            yield _as_utf8(unpack(raw) if unpack else raw, raw, packed=unpack is not None)
    except zipfile.BadZipFile as error:
        raise OSError(str(error)) from error


def _as_utf8(inner: Any, raw: BinaryIO, *, packed: bool) -> Content:
    content = Content(inner, raw, packed=packed)
    if content.peek(2)[:2] not in _UTF16:
        return content
    whole = content.read()
    with suppress(UnicodeDecodeError):  # binary that begins so
        whole = whole.decode("utf-16").encode()
    recoded = Content(io.BytesIO(whole), raw, packed=True)
    recoded.packed = content  # Arrow closes the file once nobody holds its stream
    return recoded


def _place(archive: zipfile.ZipFile, source: Path, member: str) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
    if found := [name for name in names if Path(name).name == member]:
        return found[0]
    if len(names) == 1:
        return names[0]
    raise InputError(short(source), field="members", value=names[:5], rule=f"an archive must hold {member or 'one file'}")
