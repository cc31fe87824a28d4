"""Errors that name the thing, its value, the rule that it breaks and the remedy."""

from typing import Final

MOST: Final = 400
"""Characters of a value, or of what a library says of it, that a message shows at most."""


class TierwiseError(Exception):
    """Anything that the reader can mend; the command line prints it as one message, without a traceback."""


class InputError(TierwiseError):
    """A file, an option or a value that breaks a rule.

    `where` is what a person would look for (``data/tiers/x.toml``, ``census.tsv line 7``), `value` what stands there.
    """

    def __init__(self, where: str, *, field: str | None = None, value: object = None, rule: str, remedy: str | None = None):
        self.where, self.field, self.value, self.rule, self.remedy = where, field, value, rule, remedy
        subject = where if field is None else f"{where}: {field}"
        got = "" if value is None else f" is {one_line(repr(value))}"
        super().__init__(f"{one_line(subject)}{got}: {one_line(rule)}" + (f". Remedy: {remedy}" if remedy else ""))


class MissingError(TierwiseError):
    """Something that the work needs and that is not there."""

    def __init__(self, what: str, *, why: str, remedy: str):
        self.what, self.why, self.remedy = what, why, remedy
        super().__init__(f"{what} is missing: {why}. Remedy: {remedy}")


class EvidenceError(TierwiseError):
    """A label that the evidence does not carry: a cold run that was not cold, a plan that is another plan."""


def one_line(text: str) -> str:
    """Return `text` on one line, cut where it is longer than `MOST` characters."""
    line = " ".join(text.split())
    return line if len(line) <= MOST else f"{line[: MOST - 4]} ..."
