"""What a shell offers for an option while it is typed; light, because it runs at every key."""

from collections.abc import Callable
from pathlib import Path

from tierwise.core import paths


def runs() -> list[str]:
    return _stems(paths.raw(), "[!.]*/manifest.json")


def versions() -> list[str]:
    return _stems(paths.site(), "[!.]*/build.json")


def _stems(folder: Path, pattern: str) -> list[str]:
    return ["latest", "reference", *sorted({path.parent.name for path in folder.glob(pattern) if not path.parent.is_symlink()})]


def _files(folder: str) -> Callable[[], list[str]]:
    return lambda: sorted(path.stem for path in (paths.data() / folder).glob("*.toml"))


def _words(*words: str) -> Callable[[], list[str]]:
    return lambda: list(words)


devices, pairs, profiles = map(_files, ("devices", "tiers", "profiles"))
goals, engines = _words("time", "cost"), _words("auto", "quarto", "plain")
policies = _words("lru", "clock", "two-list", "mapped", "postgresql")
