"""A file of the network's, whole or absent: fetched piece by piece where the connection breaks, believed for its digest alone.

What a server says of length, type or ranges is used to go on where an earlier attempt stopped, never as evidence. Where nobody recorded a
file's digest, a gzip file is believed for the check sum that it ends with.
"""

import gzip
import http.client
import re
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from tierwise.core.errors import InputError
from tierwise.core.files import replacing
from tierwise.core.progress import Progress, say
from tierwise.core.toml import Strict
from tierwise.core.units import KIB, human_bytes
from tierwise.datasets.dataset import sha256_of
from tierwise.datasets.partial import Partial, open_partial

ZIP_BEGINS: Final = b"PK\x03\x04"
GZIP_BEGINS: Final = b"\x1f\x8b"
_PIECE_BYTES: Final = 256 * KIB
_BEGIN_BYTES: Final = 60
PASSING: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
"""Refusals that may pass."""
_USER_AGENT: Final = "tierwise (a reproducible study of storage)"


class Remote(Strict):
    """A zip archive, or a gzip file (``.gz``), at `address`, and what is known of it (``data/datasets/*.toml``)."""

    address: str = Field(pattern=r"^https?://")
    size_bytes: int = Field(gt=0)
    sha256: str | None = Field(pattern=r"^[0-9a-f]{64}$", description="of a gzip file it may be unknown")
    rows: int | None = Field(default=None, gt=0, description="of the table that the file holds")
    recorded: date = Field(description="when size and digest were taken")
    source: str
    licence: str

    @property
    def name(self) -> str:
        """Return the file's name on the server."""
        return self.address.rpartition("/")[2]

    @property
    def gzipped(self) -> bool:
        """Return whether the file is gzip's; else it is a zip archive."""
        return self.name.endswith(".gz")

    def other(self, path: Path) -> str | None:
        """Return the digest of `path`, or what is wrong with it, if it is not this file; None if it is."""
        if self.sha256 is None:
            return broken_gzip(path)
        digest = sha256_of(path)
        return None if digest == self.sha256 else digest


@dataclass(frozen=True)
class Patience:
    """`silence_s` without a byte end an attempt; `pauses_s` are waited after attempts that brought nothing new, one after the other."""

    silence_s: float = 30.0
    pauses_s: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0)


class _BrokenError(Exception):
    """An attempt that ended early, for a reason that may pass."""


def broken_gzip(path: Path) -> str | None:
    """Return what is wrong with a gzip file: cut off, damaged, not one at all."""
    try:
        with gzip.open(path) as content:
            while content.read(_PIECE_BYTES):
                pass
    except (OSError, EOFError, zlib.error) as error:
        return str(error)
    return None


def announced_bytes(address: str, *, remedy: str, patience: Patience | None = None) -> int:
    """Return the length that the server announces for the file at `address`.

    Raises:
        InputError: it announces none, or cannot be reached.
    """
    asked = urllib.request.Request(address, method="HEAD", headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"})  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=(patience or Patience()).silence_s) as answer:  # noqa: S310
            return int(answer.headers["Content-Length"])
    except (OSError, http.client.HTTPException, TypeError, ValueError) as error:
        rule = f"the server announces no length: {_reason(error)}"
        raise InputError("download", field="address", value=address, rule=rule, remedy=remedy) from error


def fetch(remote: Remote, path: Path, *, remedy: str, patience: Patience | None = None) -> Path:
    """Fetch the file of `remote` to `path`, unless it is there and whole; what a broken attempt brought is kept and continued.

    Raises:
        InputError: it cannot be had, or is another file; says how much is kept, and names `remedy`.
        TierwiseError: another process fetches it.
    """
    with open_partial(path, f"{remote.address} {remote.sha256}") as partial:
        if not path.exists() or remote.other(path):
            path.unlink(missing_ok=True)
            _complete(remote, partial, remedy, patience or Patience())
            with replacing(path) as whole:
                partial.path.rename(whole)
    return path


def _complete(remote: Remote, partial: Partial, remedy: str, patience: Patience) -> None:
    """Attempts until the digest is right. What is wrong and was pieced together is fetched anew, once: it may have changed in between."""
    pauses, furthest, anew = list(patience.pauses_s), partial.size_bytes, True
    while True:
        reason = _attempt(remote, partial, remedy, patience.silence_s)
        if partial.size_bytes == remote.size_bytes:
            digest = remote.other(partial.path)
            if digest is None:
                return
            once_more = partial.pieced and anew
            partial.clear()
            if not once_more:
                rule = f"{remote.sha256 or 'a whole gzip file'} is needed (recorded {remote.recorded})"
                raise _other_file(remote, "sha256" if remote.sha256 else "content", digest, rule, remedy)
            furthest, anew, reason = -1, False, "the file changed between two attempts"
        if partial.size_bytes > furthest:
            furthest, pauses = partial.size_bytes, list(patience.pauses_s)
        here = f"{human_bytes(partial.size_bytes)} of {human_bytes(remote.size_bytes)} are here"
        if not pauses:
            rule = f"{reason}; {here}, and the next attempt goes on from there"
            raise InputError("download", field="address", value=remote.address, rule=rule, remedy=remedy)
        say(f"download: {reason}; {here}, trying again")
        time.sleep(pauses.pop(0))


def _attempt(remote: Remote, partial: Partial, remedy: str, silence_s: float) -> str:
    """One request for what is still missing, if anything is; why it ended."""
    try:
        if partial.size_bytes < remote.size_bytes:
            _request(remote, partial, remedy, silence_s)
    except _BrokenError as error:
        return str(error)
    return "the server ends the file early"


def _request(remote: Remote, partial: Partial, remedy: str, silence_s: float) -> None:
    headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"}
    if partial.size_bytes:
        headers["Range"] = f"bytes={partial.size_bytes}-"
        if partial.validator:
            headers["If-Range"] = partial.validator
    request = urllib.request.Request(remote.address, headers=headers)  # noqa: S310  http(s) only: `Remote`
    try:
        response = urllib.request.urlopen(request, timeout=silence_s)  # noqa: S310
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(remote, partial, error.code, remedy) from error
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(f"cannot be reached: {_reason(error)}") from error
    with response:
        if _continues(response, partial):
            partial.pieced = True
        else:
            partial.restart(_validator(response))
        _receive(remote, response, partial, remedy)


def _refusal(remote: Remote, partial: Partial, status: int, remedy: str) -> Exception:
    if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:  # what is here is longer than the file of today
        partial.clear()
    elif status not in PASSING and status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return InputError("download", field="address", value=remote.address, rule=f"the server answers {status}", remedy=remedy)
    return _BrokenError(f"the server answers {status}")


def _continues(response: Any, partial: Partial) -> bool:
    """Whether the answer is what was asked for: the rest of the same file. A server may send the whole of it instead."""
    begin = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    same = partial.validator in (None, _validator(response))
    return response.status == HTTPStatus.PARTIAL_CONTENT and begin is not None and int(begin[1]) == partial.size_bytes and same


def _validator(response: Any) -> str | None:
    """What `If-Range` may name: a strong entity tag, or a date."""
    tag: str | None = response.headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _receive(remote: Remote, response: Any, partial: Partial, remedy: str) -> None:
    if response.status == HTTPStatus.PARTIAL_CONTENT and not partial.size_bytes:
        raise _BrokenError("the server sends another part than the one that was asked for")
    progress = Progress(f"download {remote.name}", remote.size_bytes, already=partial.size_bytes)
    for piece in _pieces(response):
        if not partial.size_bytes and not piece.startswith(GZIP_BEGINS if remote.gzipped else ZIP_BEGINS):
            rule = f"a {'gzip file' if remote.gzipped else 'zip archive'} is needed (a web page in its place often asks for a login)"
            raise _other_file(remote, "begin", piece.decode(errors="replace"), rule, remedy)
        partial.append(piece)
        progress.step(len(piece))
        if partial.size_bytes > remote.size_bytes:
            partial.clear()
            raise _other_file(remote, "size", "longer", f"{remote.size_bytes} bytes are needed (recorded {remote.recorded})", remedy)


def _pieces(response: Any) -> Iterator[bytes]:
    """The pieces of a download as they come, the first one long enough to be judged."""
    try:
        first = response.read(_BEGIN_BYTES)
        yield from filter(None, [first])
        while piece := response.read1(_PIECE_BYTES):
            yield piece
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(f"the connection breaks: {_reason(error)}") from error


def _reason(error: Exception) -> object:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error) or type(error).__name__


def _other_file(remote: Remote, field: str, value: object, rule: str, remedy: str) -> InputError:
    return InputError(f"download {remote.address}", field=field, value=value, rule=rule, remedy=remedy)
