"""The command line, thin: each command reads its options, calls one function and prints."""

import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tierwise.advisor.cli import advise, move_plan
from tierwise.core import data_sets, paths
from tierwise.core.answers import Format, FormatOption
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.progress import say
from tierwise.costs.cli import cost, volumes
from tierwise.report.site import PDFS
from tierwise.simulate.cli import predict_scan, simulating, validating

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(validating, name="validate")
app.add_typer(simulating, name="simulate")


def sourced(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with an option for each data set that a reader may have from elsewhere; it is given them together, as `sources`."""
    asked = inspect.signature(command).parameters
    own = [parameter for name, parameter in asked.items() if name != "sources"]
    sets = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=data_sets.SYNTHETIC,
            annotation=Annotated[str, typer.Option(help=told, envvar=name.upper())],
        )
        for name, told in data_sets.options().items()
    ]

    def with_sources(**given: Any) -> None:
        command(sources={each.name: given.pop(each.name) for each in sets}, **given)

    first = [parameter for parameter in own if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    with_sources.__name__, with_sources.__doc__ = command.__name__, command.__doc__
    with_sources.__signature__ = inspect.Signature([*first, *sets, *(each for each in own if each not in first)])  # type: ignore[attr-defined]
    return with_sources


@app.callback()
def tierwise() -> None:
    """Which tables, indexes and logs belong on which storage, and what does each I/O cost there?"""


@app.command()
@sourced
def report(
    profile: Annotated[str, typer.Option(help="how much is measured: smoke, quick or full", envvar="PROFILE")] = "quick",
    tiers: Annotated[str, typer.Option(help="your own pair, data/tiers/NAME.toml, beside the sources' pairs", envvar="TIERS")] = "",
    seed: Annotated[int, typer.Option(help="of data, order and devices", envvar="SEED")] = 1,
    *,
    sources: dict[str, str],
    fresh: Annotated[bool, typer.Option("--fresh", help="measure anew", envvar="FRESH")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="add whole blocks, once, for what was rejected", envvar="RETRY")] = False,
    engine: Annotated[str, typer.Option(help="auto, quarto or plain", envvar="ENGINE")] = "auto",
    run: Annotated[str, typer.Option(help="render this complete run (reference: the one that ships), measure nothing", envvar="RUN")] = "",
) -> None:
    """Measure what is missing and build the report."""
    from tierwise.pipeline import Asked, make_report  # noqa: PLC0415  the heavy libraries load only where they are needed

    asked = Asked(profile=profile, tiers=tiers, seed=seed, sources=sources, fresh=fresh, retry=retry)
    site = make_report(asked, engine=engine, run_id=run)
    say(f"report: {site / 'index.html'}")
    for name, file in PDFS.items():
        say(f"{name}:  {site / file}")


@app.command("run")
@sourced
def run_study(
    study: Annotated[str, typer.Argument(help="a folder of src/tierwise/studies")],
    profile: Annotated[str, typer.Option(help="smoke, quick or full", envvar="PROFILE")] = "quick",
    tiers: Annotated[str, typer.Option(help="your own pair, data/tiers/NAME.toml", envvar="TIERS")] = "",
    seed: Annotated[int, typer.Option(help="of data, order and devices", envvar="SEED")] = 1,
    *,
    sources: dict[str, str],
    trials: Annotated[
        str, typer.Option(help="parts of a trial's key, as 'wal=ssd clients=8': these alone, in a run that stays partial")
    ] = "",
) -> None:
    """Measure one study by its notebooks; a later report of the same inputs goes on with its run, unless it is one of chosen trials."""
    from tierwise.pipeline import Asked, run_one  # noqa: PLC0415

    asked = Asked(profile=profile, tiers=tiers, seed=seed, sources=sources)
    run = run_one(asked, study, trials)
    has = ", ".join(sorted({record.name for record in run.studies}))
    say(f"run {run.run_id} is {run.status}; it has {has}")


@app.command()
@sourced
def plan(
    profile: Annotated[str, typer.Option(help="smoke, quick or full", envvar="PROFILE")] = "quick",
    tiers: Annotated[str, typer.Option(help="your own pair, data/tiers/NAME.toml", envvar="TIERS")] = "",
    seed: Annotated[int, typer.Option(help="of data, order and devices", envvar="SEED")] = 1,
    *,
    sources: dict[str, str],
    form: FormatOption = Format.TABLE,
) -> None:
    """Say what a report would measure, how long that takes, what disk it needs and how wide its intervals will be."""
    from tierwise.plan.estimate import as_json, as_text, make_plan  # noqa: PLC0415

    planned = make_plan(profile=profile, tiers=tiers, seed=seed, **sources)
    print(json.dumps(as_json(planned), indent=2) if form is Format.JSON else as_text(planned))


@app.command()
def claims(
    run: Annotated[str, typer.Option(help="run id; the newest complete one by default")] = "",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say of each published claim whether it holds here."""
    from tierwise.analysis.verdicts import as_json, as_text  # noqa: PLC0415
    from tierwise.report.rooms import judge_all  # noqa: PLC0415

    verdicts = judge_all(paths.raw(), run or None)
    print(json.dumps(as_json(verdicts), indent=2) if form is Format.JSON else as_text(verdicts))


app.command()(cost)
app.command()(volumes)
app.command()(advise)
app.command("move-plan")(move_plan)
app.command("predict-scan")(predict_scan)


@app.command()
def diff(before: str, after: Annotated[str, typer.Argument()] = "latest", form: FormatOption = Format.TABLE) -> None:
    """Say what differs between two versions of the report (a part of a version's name that is its own, or latest), and why.

    With `reference` for the first, the run of the second (or a run id) is held against the run that ships, cell by cell, claim by claim.
    """
    from tierwise.report.changes import Changes  # noqa: PLC0415
    from tierwise.report.reference import REFERENCE, Beside, compare  # noqa: PLC0415
    from tierwise.report.versions import differing  # noqa: PLC0415

    found: Changes | Beside = compare(after) if before == REFERENCE else differing(before, after)
    print(json.dumps(found.as_json(), indent=2) if form is Format.JSON else found.as_text())


@app.command()
def publish(
    to: Annotated[Path | None, typer.Argument(help="a new or an empty folder", envvar="TO")] = None,
    version: Annotated[str, typer.Option(help="latest, or a part of a version's name that is its own")] = "latest",
    one: Annotated[Path | None, typer.Option(help="in place of the folder, one file .html that opens from a disk", envvar="ONE")] = None,
) -> None:
    """Write a built report with its rows, manifest and checksums into a folder to give away, or its page alone into one file."""
    from tierwise.report.one import write_one  # noqa: PLC0415
    from tierwise.report.publish import publish as write  # noqa: PLC0415

    if one:
        say(f"published one file: {write_one(one, version)}")
        return
    if to is None:
        raise InputError("TO", rule="names no folder to publish into", remedy="make publish TO=dir, or ONE=report.html for one file")
    made = write(to, version)
    say(f"published {made.facts.version}: {made.files} files in {to}")
    if made.dirty:
        say("the code had uncommitted changes when this was built: no commit has exactly it (the folder's README.md says so)")


@app.command()
def reference(fresh: Annotated[bool, typer.Option("--fresh", help="measure anew", envvar="FRESH")] = False) -> None:
    """Measure the run that ships with the checkout, unless it is measured, and put it into data/reference in place of the one there."""
    from tierwise.pipeline import make_reference  # noqa: PLC0415

    say(f"reference: {make_reference(fresh=fresh)}")


@app.command()
def export(run: str, folder: Path) -> None:
    """Copy a complete run into FOLDER, small enough for git: many rows become a sample, which gives no verdict."""
    from tierwise.timings.export import export as copy  # noqa: PLC0415

    say(f"exported: {copy(paths.raw() / run, folder)}")


@app.command()
def doctor() -> None:
    """List what is there, what is missing, what that costs and the remedy."""
    from tierwise import doctor as examination  # noqa: PLC0415

    raise typer.Exit(examination.main())


@app.command()
def emulate(device: str, backing: Path, mountpoint: Path) -> None:
    """Mount BACKING at MOUNTPOINT so that it behaves like DEVICE, until unmounted or ended."""
    from tierwise.tiers.emulated import emulate as mount  # noqa: PLC0415

    mount(device, backing, mountpoint)


@app.command()
def trace(
    seconds: Annotated[float, typer.Option(help="how long; it ends by itself")],
    cluster: Annotated[Path | None, typer.Option(help="data folder of a running server")] = None,
    pid: Annotated[int | None, typer.Option(help="one process of a server, in place of all")] = None,
    out: Annotated[Path | None, typer.Option(help="Parquet file for the single reads")] = None,
    recorder: Annotated[str, typer.Option(help="auto, bpftrace or strace")] = "auto",
) -> None:
    """Record every read of a running PostgreSQL for a while and show its time by tablespace; changes nothing."""
    from tierwise.recorders.command import trace as record  # noqa: PLC0415

    print(record(cluster=cluster, pid=pid, seconds=seconds, out=out, recorder=recorder))


@app.command()
def clean() -> None:
    """End and unmount what a killed run left, and remove the work folder; measured rows and reports stay."""
    from tierwise.bench.workspace import remove_workspace  # noqa: PLC0415

    remove_workspace()


def main() -> None:
    """Entry point: an error that the reader can mend is one message, not a traceback (``TIERWISE_DEBUG=1`` shows it); 2: bad input."""
    try:
        app()
    except TierwiseError as error:
        if os.environ.get("TIERWISE_DEBUG"):
            raise
        print(f"tierwise: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
