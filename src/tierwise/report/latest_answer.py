"""What ``tierwise`` alone prints, kept beside the verdicts and shipped with the reference run, so that nothing heavy is imported."""

from pathlib import Path
from typing import Final

from tierwise.analysis.runs import REFERENCE, find_run, newest_run
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.core.progress import say
from tierwise.core.toml import Strict
from tierwise.report import staleness
from tierwise.report.text_template import fill
from tierwise.timings.manifest import load_manifest

SHIPPED: Final = "answer.json"
"""File of the reference run with its lines (`ship_answer`); a test holds them against what the code makes of the run."""


class Kept(Strict):
    inputs: str
    lines: tuple[str, ...]


def newest_answer() -> str:
    """Return the five lines of the newest complete run, or where there is none of the reference run, and below them what to type next."""
    newest = newest_run(paths.raw())
    folder = find_run(newest or REFERENCE)
    profile = str(load_manifest(folder).profile.get("name")) if newest else ""
    commands = fill("next.txt", checkout=not paths.installed(), newest=bool(newest), profile=profile).rstrip()
    return "\n".join([*answer_lines(folder), "", commands])


def answer_lines(folder: Path) -> tuple[str, ...]:
    """Return five lines on the run in `folder`: those kept or shipped where their inputs are unchanged, else new ones."""
    if lines := _kept(folder / SHIPPED, staleness.given(folder)):
        return lines
    if paths.installed():
        return _lines(folder)  # nothing is written into the package
    place = paths.site().with_name("_build") / "answers" / f"{folder.name}.json"
    inputs = staleness.inputs(folder)
    if lines := _kept(place, inputs):
        return lines
    lines = _lines(folder)
    _keep(place, inputs, lines)
    return lines


def ship_answer(folder: Path) -> None:
    _keep(folder / SHIPPED, staleness.given(folder), _lines(folder))


def _kept(place: Path, inputs: str) -> tuple[str, ...]:
    if place.is_file() and (kept := Kept.model_validate_json(place.read_bytes())).inputs == inputs:
        return kept.lines
    return ()


def _keep(place: Path, inputs: str, lines: tuple[str, ...]) -> None:
    write_whole(place, Kept(inputs=inputs, lines=lines).model_dump_json(indent=1) + "\n")


def _lines(folder: Path) -> tuple[str, ...]:
    say(f"reading run {folder.name}")
    from tierwise.report.run import open_run  # noqa: PLC0415
    from tierwise.report.values.front import newest  # noqa: PLC0415  the heavy libraries load only where they are needed

    return newest(open_run(folder.name, folder.parent))
