"""Machines as a factor: intervals cover what lies between machines, and a machine that differs is named."""

import random
from collections.abc import Sequence

import duckdb
import pytest

from tierwise.analysis.quality import machine_effects
from tierwise.analysis.statistics import geometric_estimate
from tierwise.core.host import fingerprint
from tierwise.timings.manifest import UsedAttempt

NAMES = ("a", "b", "c")


def attempts(machines: Sequence[str], replicates: int) -> list[UsedAttempt]:
    host = fingerprint()
    return [
        UsedAttempt(study="s", replicate=number, attempt=str(number), machine=machines[number % len(machines)], host=host, prices="")
        for number in range(replicates)
    ]


def store(used: Sequence[UsedAttempt], slow: float) -> duckdb.DuckDBPyConnection:
    draw, connection = random.Random(1), duckdb.connect()
    connection.execute("create table timings (study text, pair text, io_mode text, trial text, step int, replicate int)")
    connection.execute("alter table timings add column elapsed_s double; alter table timings add column flags text[]")
    connection.execute("alter table timings add column evidence text")
    for one in used:
        for trial, base_s in (("x", 1.0), ("y", 50.0)):
            elapsed_s = base_s * draw.lognormvariate(0.0, 0.01) * (slow if one.machine == "c" else 1.0)
            row = ["s", "p", "direct", trial, 0, one.replicate, elapsed_s, [], "emulated"]
            connection.execute("insert into timings values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    return connection


@pytest.mark.parametrize(("slow", "differing"), [(1.0, set[str]()), (1.2, {"c"})])
def test_a_machine_that_differs_is_named_with_its_factor(slow: float, differing: set[str]) -> None:
    used = attempts(NAMES, 30)
    found = {one.machine: one for one in machine_effects(store(used, slow), used)}
    assert [one.replicates for one in found.values()] == [10, 10, 10]
    assert {name for name, one in found.items() if one.differs and (one.factor or 0) > 1} == differing
    assert (found["c"].low or 0) < slow < (found["c"].high or 0)


def test_one_machine_has_no_effect_and_few_replicates_have_no_factor() -> None:
    used = attempts(("a",), 10)
    assert machine_effects(store(used, 1.0), used) == []
    used = attempts(NAMES, 6)
    assert [one.factor for one in machine_effects(store(used, 1.0), used)] == [None] * 3


def test_intervals_cover_the_variation_between_three_machines_or_more() -> None:
    draw = random.Random(2)
    shift = {name: draw.gauss(0.0, 0.1) for name in NAMES}
    machines = {number: NAMES[number % 3] for number in range(9)}
    values = {number: draw.lognormvariate(shift[name], 0.01) for number, name in machines.items()}
    alone, by_machine = geometric_estimate(values), geometric_estimate(values, machines=machines)
    assert by_machine.value == alone.value
    assert by_machine.freedom == 2
    assert (by_machine.high or 0) > (alone.high or 0) > (by_machine.value or 0)
    two = geometric_estimate(values, machines={number: "ab"[number % 2] for number in range(9)})
    assert two == alone
