"""What need not be made again, by digests of all inputs; light, so that an unchanged report is found before heavy imports."""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.report import site
from tierwise.timings.references import MANIFEST, taken

CODE: Final = (".py", ".sql", ".toml", ".md", ".html", ".bib", ".txt", ".json")
OUTPUTS: Final = ("work", "raw", "external", "reference", "_site", "_build", "__pycache__")
CHECKS: Final = "validation"
KEYS: Final = ".keys"


def stale(notebooks: Sequence[Path], run: Path, executed: Path) -> list[Path]:
    """Choose the `notebooks` whose copy in `executed` is not there, or was made of other inputs."""
    now = inputs(run).encode()
    there = (path for path in notebooks if (executed / path.name).is_file())
    fresh = {path for path in there if _kept(executed, path.stem) == _digest([now, _content(path)])}
    return [path for path in notebooks if path not in fresh]


def keep(notebook: Path, run: Path, executed: Path) -> None:
    _keep(executed, notebook.stem, _digest([inputs(run).encode(), _content(notebook)]))


def built(run: Path, engine: str) -> Path | None:
    """Return the version of `run` that is ``latest`` and would come out the same if it were built now by `engine`."""
    latest = paths.site() / site.LATEST
    version = latest.readlink().name if latest.is_symlink() else ""
    made = paths.site() / version
    current = made.is_dir() and version.removesuffix(site.QUARTO) == site.version_of(run.name)
    return made if current and _kept(paths.site(), version) == _version_digest(run, engine) else None


def keep_built(made: Path, run: Path, engine: str) -> None:
    _keep(paths.site(), made.name, _version_digest(run, engine))


def _version_digest(run: Path, engine: str) -> str:
    sources = [_content(path) for folder in ("report", "notebooks") for path in _files(paths.home() / folder)]
    return _digest([inputs(run).encode(), engine.encode(), str(site.quarto_program()).encode(), *sources])


def inputs(run: Path) -> str:
    """Return a digest of rows and manifest of `run`, the reference run, our code, the study's inputs, the pins and this Python."""
    folders = [run, *sorted({held.folder for held in taken(run)})]
    there = [path for folder in folders for path in sorted(folder.glob("*.parquet"))]
    rows = [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}".encode() for path in there]
    code = [_content(path) for path in _files(Path(str(files("tierwise")))) if path.suffix in CODE]
    shipped = [path.read_bytes() for path in sorted(paths.reference().glob(f"*/{MANIFEST}"))]
    pins = [path.read_bytes() for path in paths.home().glob("requirements.txt")]  # a wheel has none
    checks = [_content(path) for path in _files(paths.data()) if _of_a_check(path)]
    return _digest([given(run).encode(), *rows, *shipped, *code, *checks, *pins, sys.version.encode()])


def given(run: Path) -> str:
    """Return a digest of the manifest of `run` and of the study's inputs, without results of checks, which decide nothing."""
    files_of = [path for path in _files(paths.data()) if not _of_a_check(path)] + sorted(paths.reference().glob("*.parquet"))
    return _digest([(run / MANIFEST).read_bytes(), *map(_content, files_of)])


def _of_a_check(path: Path) -> bool:
    return path.parent == paths.data() / CHECKS


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in OUTPUTS and not path.name.startswith("."):
            yield from _files(path)
        elif path.is_file():
            yield path


def _content(path: Path) -> bytes:
    return path.name.encode() + b"\0" + path.read_bytes()


def _kept(folder: Path, name: str) -> str:
    path = folder / KEYS / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _keep(folder: Path, name: str, digest: str) -> None:
    write_whole(folder / KEYS / name, digest)


def _digest(parts: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()
