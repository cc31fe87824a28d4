"""What a shell offers for an option while it is typed; light, because it runs at every key."""

from pathlib import Path
from typing import Final

from tierwise.core import paths

DEVICE: Final = "Name of a device in data/devices, such as aws-gp3, or the part of the name after the first hyphen, such as gp3."
"""The help of what names a device."""


def runs() -> list[str]:
    return ["latest", "reference", *_stems(paths.raw(), "[!.]*/manifest.json")]


def versions() -> list[str]:
    return ["latest", "reference", *_stems(paths.site(), "[!.]*/build.json")]


def devices() -> list[str]:
    return _files("devices")


def pairs() -> list[str]:
    return _files("tiers")


def profiles() -> list[str]:
    return _files("profiles")


def goals() -> list[str]:
    return ["time", "cost"]


def policies() -> list[str]:
    return ["lru", "clock", "two-list", "mapped", "postgresql"]


def engines() -> list[str]:
    return ["auto", "quarto", "plain"]


def _files(folder: str) -> list[str]:
    return sorted(path.stem for path in (paths.data() / folder).glob("*.toml"))


def _stems(folder: Path, pattern: str) -> list[str]:
    return sorted({path.parent.name for path in folder.glob(pattern) if not path.parent.is_symlink()})
