"""The marked folder that everything bulky lives in, and the account that the server runs as."""

import hashlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError, TierwiseError
from tierwise.core.files import write_whole
from tierwise.core.private_folders import closed_folder

MARKER: Final = ".tierwise-workspace"


class CommandError(TierwiseError):
    """A PostgreSQL program failed; the message holds its output."""


@dataclass(frozen=True)
class Account:
    """The account that runs the server: PostgreSQL refuses to run as root."""

    name: str
    uid: int
    gid: int

    @property
    def ids(self) -> tuple[int, int]:
        return self.uid, self.gid

    def run(self, command: Sequence[str | Path], *, folder: Path) -> str:
        done = self._run(command, folder=folder)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-20:]
            raise CommandError("\n".join([f"{Path(command[0]).name} as {self.name} ended with status {done.returncode}:", *said]))
        return done.stdout

    def can_enter(self, folder: Path) -> bool:
        there = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
        return self._run(["test", "-x", there], folder=Path("/")).returncode == 0

    def own(self, path: Path) -> None:
        """Give `path` to this account (only root can, and only root needs to)."""
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def _run(self, command: Sequence[str | Path], *, folder: Path) -> subprocess.CompletedProcess[str]:
        bare = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": "/"}
        become = self._become() if os.geteuid() == 0 else ()
        return subprocess.run([*become, *command], cwd=folder, env=bare, umask=0o077, capture_output=True, text=True, check=False)

    def _become(self) -> tuple[str, ...]:
        """Return the prefix that runs root's command as this account: setpriv saves the 15 ms in which Python copies its page tables."""
        if not shutil.which("setpriv"):
            raise MissingError("setpriv", why="root starts servers as another account", remedy="apt-get install util-linux")
        return "setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"


def server_account() -> Account:
    """Return the account that runs servers: for root `postgres`, or else `nobody`; otherwise the current user."""
    if os.geteuid() != 0:
        try:
            return Account(pwd.getpwuid(os.geteuid()).pw_name, os.geteuid(), os.getegid())
        except KeyError:
            why, remedy = "PostgreSQL starts only for users who have a name on this system", "run as a user in /etc/passwd, or as root"
            raise MissingError(f"an account with the id {os.geteuid()}", why=why, remedy=remedy) from None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(name, entry.pw_uid, entry.pw_gid)
    why = "PostgreSQL refuses to run as root, and this system has neither an account postgres nor nobody"
    raise MissingError("an unprivileged account", why=why, remedy="useradd --system postgres")


def open_workspace() -> Path:
    """Return the marked folder, made where absent: ``$TIERWISE_WORK``, else ``data/work``, else one below ``/var/tmp``."""
    account, inside = server_account(), paths.data() / "work"
    if named := os.environ.get("TIERWISE_WORK"):
        folder = Path(named).resolve()
    elif not paths.installed() and account.can_enter(inside):
        folder = inside
    else:
        folder = Path("/var/tmp") / f"tierwise-{hashlib.sha256(str(paths.home()).encode()).hexdigest()[:8]}"  # noqa: S108 - owned
    _claim(folder)
    if not account.can_enter(folder):
        rule = f"the server's account {account.name} must be able to enter it and each of its parents"
        raise InputError("work folder", value=str(folder), rule=rule, remedy="name another folder: TIERWISE_WORK=/path/to/folder")
    return folder


def _claim(folder: Path) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        closed_folder(parent, mode=0o755)  # whatever the umask says, the server's account must pass
    marker, home = folder / MARKER, str(paths.home())
    remedy = "remove it or name another folder: TIERWISE_WORK=/path/to/folder"
    if {folder.lstat().st_uid, folder.stat().st_uid} != {os.geteuid()}:
        raise InputError("work folder", value=str(folder), rule="it must belong to the user who runs this", remedy=remedy)
    if marker.exists():
        if marker.read_text(encoding="utf-8").strip() != home:
            raise InputError("work folder", value=str(folder), rule="it is marked as another checkout's", remedy=remedy)
    elif any(folder.iterdir()):
        raise InputError("work folder", value=str(folder), rule=f"it is not empty and has no marker {MARKER}", remedy=remedy)
    else:
        write_whole(marker, home + "\n")
