"""Keyed pseudonyms for names of relations, databases, roles and paths. The key, with what it hides, stays with the user."""

import hashlib
import hmac
import json
import secrets
from pathlib import Path

from tierwise.core.errors import InputError
from tierwise.core.files import write_whole


class Mask:
    """Without a file, names stay as they are."""

    def __init__(self, path: Path | None):
        self._path, self._names = path, dict[str, str]()
        self._key = b""
        self._kept = -1
        if path is not None:
            self._open(path)

    def __call__(self, kind: str, name: str) -> str:
        """Return the pseudonym of a `kind` (table, index, database, path); the same name has the same one under the same key."""
        if self._path is None or not name:
            return name
        digest = hmac.new(self._key, f"{kind}\0{name}".encode(), hashlib.sha256).hexdigest()[:10]
        self._names[f"{kind}_{digest}"] = name
        return f"{kind}_{digest}"

    @property
    def digest(self) -> str:
        """A mark of the key, which does not reveal it; empty without a mask."""
        return hashlib.sha256(b"tierwise" + self._key).hexdigest()[:16] if self._key else ""

    def keep(self) -> None:
        """Write the key and the names that it hides, readable by its owner alone."""
        if self._path is None or len(self._names) == self._kept:
            return
        write_whole(self._path, json.dumps({"key": self._key.hex(), "names": self._names}, indent=1, sort_keys=True) + "\n")
        self._path.chmod(0o600)
        self._kept = len(self._names)

    def _open(self, path: Path) -> None:
        if not path.exists():
            self._key = secrets.token_bytes(32)
            return
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            self._key, self._names = bytes.fromhex(kept["key"]), dict(kept["names"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            remedy = "name a file that --mask made, or a new one"
            raise InputError("--mask", value=str(path), rule="must be a key file of tierwise", remedy=remedy) from error
        self._kept = len(self._names)
