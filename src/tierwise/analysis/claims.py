"""The published claims as data: what each says, how certain its figure is, and which rows it is judged on."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

import polars as pl
from pydantic import Field, model_validator

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.text_files import read_text
from tierwise.core.toml import Strict, read_toml
from tierwise.core.vocabulary import IoMode

CLAIM_ID: Final = "[A-Z][1-9][0-9]*"  # the letter of a source and a number, as a regular expression

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]  # an identifier of a study or of a column of its view
Expression = Annotated[str, Field(pattern=r"^[a-z0-9_ /*.+()]+$")]  # a column of a study's view, or arithmetic on some


class Kind(StrEnum):
    """What a claim asserts, and so by which rule it is judged."""

    RATIO = "ratio"  # a ratio of paired times lies within bounds, in every case
    ABSOLUTE = "absolute"  # a value with a unit lies within bounds, in every case
    SHARE = "share"  # a share of what was counted lies within bounds, in every case
    ORDER = "order"  # one case's value is greater than another's
    PRESENCE = "presence"  # something is seen: a value of 1 in a replicate, 0 where it is not
    COST = "cost"  # a sum of money or a break-even; judged over the price band, by costs
    SHAPE = "shape"  # what a text shows without a number to test: reported with the evidence


class Bounds(Strict):
    """Where the text says that a value lies; an absent side is open."""

    lower: float | None = Field(default=None, gt=0)
    upper: float | None = Field(default=None, gt=0)
    strict: bool = Field(default=False, description="the bounds themselves are outside: more than, less than")
    apart: float = Field(default=1.0, ge=1, description="factor on both sides of a bound within which nothing counts as inside or outside")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lower is None and self.upper is None:
            raise ValueError("bounds need a lower or an upper side")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(f"lower must be below upper, got {self.lower} and {self.upper}")
        return self

    def contain(self, low: float, high: float) -> bool:
        low, high = low / self.apart, high * self.apart
        if self.strict:
            return (self.lower is None or low > self.lower) and (self.upper is None or high < self.upper)
        return (self.lower is None or low >= self.lower) and (self.upper is None or high <= self.upper)

    def exclude(self, low: float, high: float) -> bool:
        """Return whether the whole interval from `low` to `high` lies outside the bounds, on one side."""
        below, above = self.outer
        return (below is not None and high < below) or (above is not None and low > above)

    @property
    def outer(self) -> tuple[float | None, float | None]:
        """Return what an interval must lie below, or above, to be outside."""
        return self.lower and self.lower / self.apart, self.upper and self.upper * self.apart

    def __str__(self) -> str:
        lower, upper = (None if side is None else _short(side) for side in (self.lower, self.upper))
        if lower and upper:
            return f"{lower} to {upper}"
        if lower:
            return f"{'more than' if self.strict else 'at least'} {lower}"
        return f"{'less than' if self.strict else 'at most'} {upper}"


def _short(value: float) -> str:
    """Three significant digits, never an exponent: ``4.2275`` -> ``'4.23'``, ``2e6`` -> ``'2,000,000'``."""
    return f"{float(f'{value:.3g}'):,.9f}".rstrip("0").rstrip(".")


class Case(Strict):
    """One of the cases that a claim speaks of: the rows of a study's view, and the column that holds the value."""

    name: str = Field(min_length=1)
    study: Name
    select: dict[Name, str] = Field(min_length=1, description="column of the study's view -> the word that must stand there")
    value: Expression = "ratio"
    note: Name | None = Field(default=None, description="column that says what a value was found under, or why its row is flagged")


class Order(Strict):
    """One ratio that an order needs within its bounds, else above 1, by the names of its cases."""

    greater: str
    than: str


class Fitted(Strict):
    """What a claim rests on that was fitted, and so what its verdict can still say."""

    parameter: str = Field(min_length=1, description="with its value")
    on: str = Field(min_length=1, description="the figure that it was fitted on")
    left: str = Field(min_length=1, description="what the fit leaves open, so that a run can contradict it")


class Facts(Strict):
    """What a reported claim can show: one entry of a study's facts in the manifest."""

    study: Name
    key: str


class LeftOpen(Strict):
    """What the text does not state and the value of its claim hangs on: a fact of a study that has the value at each setting, by seed."""

    axes: tuple[Name, ...] = Field(min_length=1, description="of an entry of the fact: its coordinates")
    study: Name
    key: str
    value: Name = Field(description="of an entry: name -> a value for each seed")
    greater: str = Field(description="the claim's value is this name's value")
    than: str = Field(description="over this one's, of the same seed")


class Claim(Strict):
    """One published statement, in our words."""

    id: str = Field(pattern=rf"^{CLAIM_ID}$")
    statement: str = Field(min_length=1)
    kind: Kind
    how: Literal["stated", "histogram", "chart", "inferred"]
    where: str = Field(min_length=1, description="passage of the source")
    quotation: str = Field(pattern=r"^[^|]{1,250}$", description="the text, word for word but for white space and what ` … ` leaves out")
    unjudged: str | None = Field(default=None, description="why it is reported and not judged")
    fitted: Fitted | None = None
    certain: str | None = Field(default=None, min_length=1, description="why our result was certain before any run")
    bounds: Bounds | None = None
    bounds_how: Literal["stated", "assumed"] | None = Field(default=None, description="assumed: the text says about, or almost")
    placement: str | None = Field(default=None, min_length=1, description="as its study's heat names it; absent: none is in question")
    pair: str | None = Field(default=None, description="of tiers whose rows judge it; absent: that of its source")
    cases: tuple[Case, ...] = ()
    orders: tuple[Order, ...] = ()
    facts: Facts | None = None
    left_open: LeftOpen | None = None
    settings: tuple[dict[Name, str], ...] = Field(default=(), description="of its cases that the text leaves open; first those of `cases`")
    counts: str | None = Field(default=None, min_length=1, description="counted instead of timed: no width is needed, no flag rejects it")

    @property
    def source(self) -> str:
        return self.id[0]

    @property
    def open_axes(self) -> tuple[str, ...]:
        """Return the names of what its text leaves open, where that can be varied."""
        return self.left_open.axes if self.left_open else tuple(self.settings[0]) if self.settings else ()

    def at(self, setting: Mapping[str, str]) -> Self:
        cases = [case.model_copy(update={"select": {**case.select, **setting}}) for case in self.cases]
        return self.model_copy(update={"cases": tuple(cases)})

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        bounded = self.kind in {Kind.RATIO, Kind.ABSOLUTE, Kind.SHARE}
        rules = {
            "bounds": bounded or (self.kind in {Kind.COST, Kind.ORDER} and self.bounds is not None),
            "bounds_how": self.bounds is not None,
            "cases": bounded or self.kind in {Kind.ORDER, Kind.PRESENCE},
            "orders": self.kind is Kind.ORDER,
            "unjudged": self.kind is Kind.SHAPE,
            "facts": self.kind is Kind.SHAPE and self.facts is not None,
            "left_open": self.kind is Kind.RATIO and self.left_open is not None,
        }
        for field, needed in rules.items():
            if bool(getattr(self, field)) != needed:
                raise ValueError(f"a claim of kind {self.kind} {'needs' if needed else 'has no'} {field}")
        names = [case.name for case in self.cases]
        if len(set(names)) != len(names):
            raise ValueError(f"cases must have different names, got {names}")
        unknown = {name for order in self.orders for name in (order.greater, order.than)} - set(names)
        if unknown:
            raise ValueError(f"orders name cases that the claim has not: {sorted(unknown)}")
        return self


class Deciding(Strict):
    """The variant and the I/O mode of a study whose rows decide, in every profile."""

    variant: str = Field(min_length=1)
    io_mode: IoMode | None = Field(default=None, description="absent: the study has no I/O modes")
    why: str = Field(min_length=1, description="what the source ran, and where the text says so; what it leaves out is assumed")


class Source(Strict):
    """One of the texts whose statements are judged."""

    name: str = Field(description="what readers call it, as the glossary has it")
    title: str
    author: str
    system: str = Field(description="what it was measured on")
    pair: str = Field(description="name of the file in data/tiers that stands for it")
    own: bool = Field(default=False, description="the reader's study: its statements are judged and shown, but are not published ones")


class Claims(Strict):
    """All statements and their sources, as the file ``data/published/claims.toml`` has them: the published ones, and the reader's own."""

    deciding: dict[str, Deciding] = Field(description="study -> whose rows decide")
    sources: dict[str, Source]
    every: tuple[Claim, ...] = Field(min_length=1, alias="claims")

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Return the published statements alone, which the report counts and lists."""
        return tuple(claim for claim in self.every if not self.sources[claim.source].own)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [claim.id for claim in self.every]
        if len(set(ids)) != len(ids):
            raise ValueError(f"ids must be unique, got {ids}")
        unknown = sorted({claim.source for claim in self.every} - self.sources.keys())
        if unknown:
            raise ValueError(f"claims of sources that are not described: {unknown}")
        undecided = sorted({case.study for claim in self.every for case in claim.cases} - self.deciding.keys())
        if undecided:
            raise ValueError(f"claims are judged on studies that `deciding` does not name: {undecided}")
        return self


def load_claims() -> Claims:
    return read_toml(paths.data() / "published" / "claims.toml", Claims)


def published_series(file: str) -> pl.DataFrame:
    """Return the rows of `file`, a path in the checkout, as it is cited."""
    path = paths.home() / file
    try:
        return pl.read_csv(read_text(path).encode(), comment_prefix="#")
    except pl.exceptions.PolarsError as error:
        raise InputError(short(path), rule=f"not valid CSV: {error}") from error
