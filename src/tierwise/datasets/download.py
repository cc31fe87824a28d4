"""A file of the network's, fetched by pooch: whole or absent, and believed for its digest, or for the check sum of a gzip file."""

import gzip
import zlib
from collections.abc import Callable
from datetime import date
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import MIB
from tierwise.datasets.dataset import sha256_of

PASSING: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
"""Refusals that may pass, as every one of the server's own faults may."""
RETRIES: Final = 3  # attempts after the first, each from the beginning; pooch waits a second longer before each
SILENCE_S: Final = 30.0  # seconds without a byte that end an attempt
_HEADERS: Final = {"User-Agent": "tierwise (a reproducible study of storage)", "Accept-Encoding": "identity"}


class RemoteFile(Strict):
    """A zip archive, or a gzip file (``.gz``), at `address`, and what is known of it (``data/datasets/*.toml``)."""

    address: str = Field(pattern=r"^https?://")
    size_bytes: int | None = Field(default=None, gt=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$", description="of a gzip file it may be unknown")
    rows: int | None = Field(default=None, gt=0, description="of the table that the file holds")
    recorded: date = Field(description="when size and digest were taken")
    source: str
    licence: str

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]

    def other(self, path: Path) -> str | None:
        """Return the digest of `path`, or what is wrong with it, if it is not this file; None if it is."""
        if self.sha256 is None:
            return _broken_gzip(path)
        digest = sha256_of(path)
        return None if digest == self.sha256 else digest


def _broken_gzip(path: Path) -> str | None:
    try:
        with gzip.open(path) as content:
            while content.read(MIB):
                pass
    except (OSError, EOFError, zlib.error) as error:
        return str(error)
    return None


def is_permanent_refusal(status: int | None) -> bool:
    """Return whether a server that answers with `status` is expected to do so again a moment later."""
    return status is not None and 400 <= status < 500 and status not in PASSING


def fetch(remote: RemoteFile, path: Path, *, remedy: str) -> Path:
    """Fetch the file of `remote` to `path`, unless it is there and whole; what goes wrong is an `InputError` that names `remedy`."""
    if path.exists() and not remote.other(path):
        return path
    import pooch  # noqa: PLC0415  it takes a tenth of a second, and few need it
    from requests import RequestException  # noqa: PLC0415

    pooch.get_logger().setLevel("WARNING")  # it would name the reader's folders in a notebook that is kept
    make_folder(path.parent)
    with scratch_folder(".download-", within=path.parent) as folder:  # what a killed download left there goes
        store = pooch.Pooch(folder, "", registry={path.name: None}, urls={path.name: remote.address}, retry_if_failed=RETRIES)
        try:
            put(Path(store.fetch(path.name, downloader=_downloader(remote, remedy))), path)
        except RequestException as error:
            raise _failed(remote, remedy, f"no whole file came: {error}") from error
    return path


def _downloader(remote: RemoteFile, remedy: str) -> Callable[..., None]:
    """Return what pooch calls for each attempt; what another attempt cannot mend is an `InputError`, after which it makes none."""
    from pooch import HTTPDownloader  # noqa: PLC0415
    from requests import HTTPError  # noqa: PLC0415

    def download(address: str, part: str, store: Any) -> None:
        bar = _Bar(remote, Path(part), remedy)
        try:
            HTTPDownloader(progressbar=bar, chunk_size=MIB, timeout=SILENCE_S, headers=_HEADERS)(address, part, store)
        except HTTPError as error:
            if error.response is None or not is_permanent_refusal(error.response.status_code):
                raise
            raise _failed(remote, remedy, f"the server answers {error.response.status_code}") from error
        if wrong := remote.other(Path(part)):
            rule = f"{remote.sha256 or 'a whole gzip file'} is needed (recorded {remote.recorded})"
            raise _failed(remote, remedy, rule, "sha256" if remote.sha256 else "content", wrong)

    return download


class _Bar(Progress):
    """A progress bar as pooch wants one, which ends a download that is longer than the recorded file."""

    def __init__(self, remote: RemoteFile, part: Path, remedy: str):
        super().__init__(f"download {remote.name}", 0)
        self._remote, self._part, self._remedy = remote, part, remedy

    def update(self, _: float) -> None:
        """Note what is on disk: the length of the last piece is not the one that pooch gives."""
        size_bytes = self._part.stat().st_size
        self.total = self._remote.size_bytes or self.total  # pooch sets what the server announces
        if self._remote.size_bytes and size_bytes > self._remote.size_bytes:
            rule = f"{self._remote.size_bytes} bytes are needed (recorded {self._remote.recorded})"
            raise _failed(self._remote, self._remedy, rule, "size", "longer")
        self.step(size_bytes - self.done)

    def reset(self) -> None:
        """Do nothing, as at the end: the bar is full, and its lines stay."""

    close = reset


def _failed(remote: RemoteFile, remedy: str, rule: str, field: str | None = None, value: str | None = None) -> InputError:
    return InputError(f"download {remote.address}", field=field, value=value, rule=rule, remedy=remedy)
