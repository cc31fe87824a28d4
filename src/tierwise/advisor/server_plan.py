"""The plan of an advice, as files that its reader runs: `plan.sql`, `plan.sh` and `rollback.sql`. tierwise never runs them."""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from psycopg import sql

from tierwise.advisor.server_advice import ServerAdvice
from tierwise.advisor.server_question import TEMPORARY, Question, unit_name
from tierwise.advisor.server_tiers import FAST
from tierwise.core.activity import Activity, RelationLoad
from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, write_whole
from tierwise.core.text_template import render

KINDS: Final = {"table": ("TABLE", "r"), "materialized view": ("MATERIALIZED VIEW", "m"), "index": ("INDEX", "i")}
BY_HAND: Final = re.compile(r"_timescaledb.*|.*[\x00-\x1f\x7f].*", re.DOTALL)
"""Schemas and names that no plan moves: chunks, which have their own function, and names that a file cannot show."""
TEMPLATES: Final = "advisor/plan_files"
TITLES: Final = {"plan.sql": "moves", "rollback.sql": "back", "plan.sh": "script"}


@dataclass(frozen=True)
class Move:
    """One step: a relation that goes from the tablespace `source` to `target`."""

    number: int
    schema: str
    name: str
    kind: str
    source: str
    target: str
    newest: bool = False  # the youngest partition that was written: its parent's new partitions follow it

    @property
    def qualified(self) -> str:
        return f"{identifier(self.schema)}.{identifier(self.name)}"

    @property
    def sql_kind(self) -> str:
        return KINDS[self.kind][0]

    @property
    def fields(self) -> dict[str, object]:
        """What the conditions of the plan look at."""
        return {**{name: getattr(self, name) for name in ("number", "schema", "name", "source", "target")}, "kind": KINDS[self.kind][1]}


def write_plan(advice: ServerAdvice, question: Question, folder: Path) -> None:
    """Write the files of a plan for what `advice` moves, if there is not a plan already. `plan.sh` ends with what moves by hand."""
    loads = {unit_name(load): load for load in question.activity.relations}
    members = {unit.name: unit.members or (unit.name,) for unit in question.units}
    named = (loads[name] for unit in advice.moved for name in members[unit])
    moved = sorted(named, key=lambda load: load.kind == "index")  # a rebuild reads the table
    planned = [load for load in moved if load.kind in KINDS and not any(map(BY_HAND.fullmatch, (load.schema_name, load.name)))]
    _check(question, moved, planned, folder)
    target = next(iter(question.tiers[FAST].tablespaces), "")
    written = (load for load in loads.values() if load.writes_per_s and load.writes_per_s.high)
    newest = {load.parent: load.relation for load in sorted(written, key=lambda load: load.relation)}
    steps = []
    for number, load in enumerate(planned, 1):
        follows = bool(load.parent) and newest.get(load.parent) == load.relation
        steps.append(Move(number, load.schema_name, load.name, load.kind, load.tablespace, target, follows))
    back = [replace(step, number=number, source=target, target=step.source) for number, step in enumerate(reversed(steps), 1)]
    names = {"place": identifier(target), "database": identifier(question.activity.database)}
    by_hand = [
        render(f"{TEMPLATES}/words.toml:{TEMPORARY if load.kind == TEMPORARY else 'by_hand'}", name=repr(unit_name(load)), **names)
        for load in moved
        if load not in planned
    ]
    make_folder(folder)
    for name, moves in (("plan.sql", steps), ("rollback.sql", back)):
        write_whole(folder / name, _sql(name, question.activity, moves))
    texts = {"title": _title("plan.sh"), "by_hand": by_hand}
    values = {"database": question.activity.database, "steps": steps, "back": back, "quoted": shlex.quote}
    write_whole(folder / "plan.sh", render(f"{TEMPLATES}/plan.sh", **texts, **values) + "\n")


def identifier(name: str) -> str:
    return sql.Identifier(name).as_string()


def _sql(file: str, watched: Activity, moves: Sequence[Move]) -> str:
    steps = {"steps": moves, "steps_json": json.dumps([move.fields for move in moves])}
    values = {"database": watched.database, "system": watched.system, **steps}
    return render(f"{TEMPLATES}/moves.sql", title=_title(file), identifier=identifier, literal=sql.quote, **values) + "\n"


def _title(file: str) -> str:
    return render(f"{TEMPLATES}/words.toml:titles.{TITLES[file]}")


def _check(question: Question, moved: Sequence[RelationLoad], planned: Sequence[RelationLoad], folder: Path) -> None:
    if question.activity.service:
        raise InputError("--plan", rule="needs a server with tablespaces of your own", remedy="change the volume: tierwise volumes")
    if not question.activity.superuser:
        rule, remedy = "needs the watch of a superuser, which shows that the server is your own", "watch again as a superuser"
        raise InputError("--plan", rule=rule, remedy=remedy)
    places = question.tiers[FAST].tablespaces
    if not places and any(load in planned or load.kind == TEMPORARY for load in moved):
        remedy = "create a tablespace there, and name it: tablespaces = [...]"
        raise InputError("--tiers", field=f"tiers.{FAST}.tablespaces", rule="must name the tablespace that a plan moves to", remedy=remedy)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("--plan", value=str(folder), rule="must be a new or empty folder", remedy="keep an old plan with its journal")
    if not moved:
        raise InputError("--plan", rule="needs advice that moves something", remedy="run the same command without --plan")
    names = (question.activity.database, *places[:1], *(load.tablespace for load in planned))
    if hidden := next((name for name in names if BY_HAND.fullmatch(name)), None):
        raise InputError("--plan", value=hidden, rule="must be a name without control characters")
