"""The store of a campaign: objects by name, in a folder or in S3 object storage, each written in one call and read whole."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from tierwise.core.errors import InputError, TierwiseError, with_remedy
from tierwise.core.files import replacing
from tierwise.core.progress import say

S3: Final = "s3"
ENDPOINT: Final = "AWS_ENDPOINT_URL"
"""The variable that names an S3 server other than Amazon's. pyarrow reads the other usual variables and profiles, but not this one."""
PATIENCE_S: Final = 1800.0  # how long a refused write is tried again
LONGEST_PAUSE_S: Final = 30.0

Result = TypeVar("Result")


@dataclass(frozen=True)
class FolderStore:
    root: Path

    @property
    def url(self) -> str:
        return str(self.root)

    def write(self, name: str, content: bytes) -> None:
        with replacing(self.root / name) as part:
            part.write_bytes(content)

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the size in bytes of each object whose name begins with `prefix`/, by name."""
        files = (path for path in (self.root / prefix).rglob("*") if path.is_file() and not path.name.startswith("."))
        return {path.relative_to(self.root).as_posix(): path.stat().st_size for path in files}


@dataclass(frozen=True)
class S3Store:
    url: str
    root: str  # bucket/prefix
    files: Any  # pyarrow.fs.S3FileSystem

    def write(self, name: str, content: bytes) -> None:
        with self.files.open_output_stream(f"{self.root}/{name}") as stream:
            stream.write(content)

    def read(self, name: str) -> bytes:
        with self.files.open_input_stream(f"{self.root}/{name}") as stream:
            return bytes(stream.read())

    def sizes(self, prefix: str) -> dict[str, int]:
        from pyarrow.fs import FileSelector  # noqa: PLC0415

        found = self.files.get_file_info(FileSelector(f"{self.root}/{prefix}", recursive=True, allow_not_found=True))
        return {one.path.removeprefix(f"{self.root}/"): one.size for one in found if one.is_file}


Store = FolderStore | S3Store


def open_store(url: str) -> Store:
    """Open the store at `url`: ``s3://bucket/prefix``, or a folder. Keys come from AWS's usual variables and profiles."""
    parts = urlsplit(url)
    if not url or parts.scheme not in {"", S3}:
        raise InputError("STORE", value=url, rule="must be a folder or s3://bucket/prefix", remedy="make report STORE=FOLDER")
    if not parts.scheme:
        return FolderStore(Path(url).absolute())
    if "@" in parts.netloc or parts.query:
        where = f"{S3}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        rule = "must not contain keys or options, because others can read command lines"
        raise InputError("STORE", value=where, rule=rule, remedy="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
    root = f"{parts.netloc}{parts.path}".strip("/")
    if not parts.netloc:
        raise InputError("STORE", value=url, rule="names no bucket", remedy="write s3://bucket/prefix")
    return S3Store(f"{S3}://{root}", root, _s3())


def _s3() -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem  # noqa: PLC0415  loads the library of AWS, which takes half a second

    endpoint = urlsplit(os.environ.get(ENDPOINT, ""))
    named = {"endpoint_override": endpoint.netloc, "scheme": endpoint.scheme} if endpoint.netloc else {}
    few = AwsStandardS3RetryStrategy(max_attempts=3)  # `patiently` tries longer, and says so
    return S3FileSystem(connect_timeout=10, request_timeout=60, retry_strategy=few, **named)


def is_stored(name: str) -> bool:
    """Return whether `name` is the address of a run in a store, rather than the name of a run on this machine."""
    return name.startswith(f"{S3}://") or (Path(name) / CAMPAIGN).is_file()


CAMPAIGN: Final = "campaign.json"  # the object of a run that says what is to be measured


def patiently(request: Callable[[], Result], what: str, *, patience_s: float = PATIENCE_S, first_pause_s: float = 1.0) -> Result:
    """Call `request` again with longer and longer pauses while the store refuses, for `patience_s` in all."""
    deadline_s, pause_s = time.monotonic() + patience_s, first_pause_s
    while True:
        try:
            return request()
        except OSError as error:
            if time.monotonic() + pause_s > deadline_s:
                raise TierwiseError(with_remedy(f"the store refuses {what}: {error}")) from error
            say(f"the store refuses {what}, next try in {pause_s:.0f} s ({error})")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def write_patiently(store: Store, name: str, content: bytes, *, patience_s: float = PATIENCE_S) -> None:
    patiently(partial(store.write, name, content), f"to write {name}", patience_s=patience_s)
