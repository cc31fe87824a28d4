"""The code that a study's numbers come from, found from imports: comments, layout and docstrings aside, since no number hangs on them."""

import ast
import hashlib
import json
import tomllib
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from tierwise.core import paths

PACKAGE: Final = "tierwise"
REGISTRIES: Final = frozenset({"tierwise.devices.model", "tierwise.devices.spec"})
"""The modules that import every kind of device, of which a pair names a few."""
_KINDS: Final = ("array", "cache_policy", "controller", "hdd", "instances", "ssd", "ssd_cache", "volume", "writeback")
OF_A_KIND: Final = frozenset(f"tierwise.devices.{name}" for name in _KINDS)
"""What they import of one kind alone: it counts where a device of that kind is built. A kind that is not named here counts everywhere."""
READ: Final = frozenset({".bt", ".csv", ".json", ".sql", ".toml"})
"""Names that end so are files, where there is one: beside the module that names it, or an input in ``data``."""
DIGITS: Final = 12  # the length of a digest in hexadecimal digits: enough to tell versions of one file apart


class Module(NamedTuple):
    digest: str
    imports: frozenset[str]  # names that may be our modules: imported anywhere, unless for types alone, or started by name
    files: frozenset[str]  # names that may be files


def code_of(roots: Iterable[str]) -> dict[str, str]:
    """Return module, or file that one of them reads (from the checkout on) -> digest: all that the modules `roots` come to by imports.

    A string that is a module's name counts as its import, because a process is started so. What the registries of devices import of one
    kind is left out, unless `roots` has it.
    """
    package = Path(str(resources.files(PACKAGE)))
    places = {_name(path, package): path for path in package.rglob("*.py")}
    inputs = [folder for folder in paths.data().iterdir() if folder.is_dir()]
    found: dict[str, str] = {}
    waiting = [name for root in roots for name in _with_parents(root)]
    while waiting:
        name = waiting.pop()
        if name in found or name not in places:
            continue
        module = _read(name, places[name], _stamp(places[name]))
        found[name] = module.digest
        imported = {one for each in module.imports for one in _with_parents(each)}
        waiting += imported - OF_A_KIND if name in REGISTRIES else imported
        found |= {shown: _digest(_said(path)) for shown, path in _files(module.files, places[name].parent, package, inputs)}
    return dict(sorted(found.items()))


def data_sets_in(code: Collection[str], names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if f"{PACKAGE}.datasets.{name}" in code)


def meaning(tree: ast.Module) -> str:
    """Return the text of a module as its syntax tree says it, without docstrings, which are taken out of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def _name(path: Path, package: Path) -> str:
    return ".".join((PACKAGE, *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2048)
def _read(name: str, path: Path, stamp: tuple[int, int]) -> Module:  # noqa: ARG001  another stamp is another text
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    executed = list(_executed(tree))
    words = {node.value for node in executed if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    imports = {one for node in executed for one in _imported(node, package) if one.startswith(PACKAGE)}
    started = {word for word in words if word.startswith(f"{PACKAGE}.")}
    files = {word for word in words if Path(word).suffix in READ}
    return Module(_digest(meaning(tree)), frozenset(imports | started), frozenset(files))


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if _is_text(node):
            continue
        yield node
        only_types = isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"
        waiting += node.orelse if only_types and isinstance(node, ast.If) else ast.iter_child_nodes(node)


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        around = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*around, *([node.module] if node.module else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _files(names: Iterable[str], beside: Path, package: Path, inputs: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    for name in names:
        if Path(name).is_absolute():
            continue
        own = beside / name
        if own.is_file():
            yield f"{PACKAGE}/{own.relative_to(package)}" if own.is_relative_to(package) else name, own
        for place in (paths.home() / name, *(folder / name for folder in inputs)):
            if place.is_file():
                yield str(place.relative_to(paths.home())), place


def _said(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return json.dumps(tomllib.loads(text), sort_keys=True, default=str)
    return json.dumps(json.loads(text), sort_keys=True) if path.suffix == ".json" else text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
