"""The command line, thin: each command reads its options, calls one function and prints."""

import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from tierwise import __version__
from tierwise.advisor.cli import RunOption, advise, move_plan
from tierwise.core import completion, paths, studies
from tierwise.core.confirmation import YesOption, confirming
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.errors import InputError, TierwiseError, one_line, with_remedy
from tierwise.core.output_format import Format, FormatOption
from tierwise.core.progress import say
from tierwise.costs.cli import cost, volumes
from tierwise.report.site import PDFS
from tierwise.scans.cli import predict_scan
from tierwise.simulate.cli import simulating, validating

app = typer.Typer(pretty_exceptions_enable=False)
app.add_typer(validating, name="validate")
app.add_typer(simulating, name="simulate")


ProfileOption = Annotated[
    str, typer.Option(help="how much is measured: smoke, quick or full", envvar="PROFILE", autocompletion=completion.profiles)
]
TiersOption = Annotated[
    str,
    typer.Option(help="your own pair, data/tiers/NAME.toml, beside the sources' pairs", envvar="TIERS", autocompletion=completion.pairs),
]
SeedOption = Annotated[int, typer.Option(help="of data, order and devices", envvar="SEED")]
CensusOption = Annotated[
    str, typer.Option(help="source of the 1990 census: synthetic, download, or file:PATH of the raw file", envvar="CENSUS")
]
SkyOption = Annotated[
    str, typer.Option(help="source of the 2MASS point sources: synthetic, download, download:WHAT, or file:PATH", envvar="SKY")
]


def _version(wanted: bool) -> None:
    if wanted:
        from tierwise.report.site import UNVERSIONED, code_version  # noqa: PLC0415  the heavy libraries load only where they are needed

        commit = code_version()
        print(f"tierwise {__version__}" + ("" if commit == UNVERSIONED else f" ({commit})"))
        raise typer.Exit


NEED_CHECKOUT = ("report", "run", "plan", "reference", "publish", "merge", "diff", "clean")
"""Commands on notebooks, runs and built reports; the others work where a wheel was installed, those on a run with the one that ships."""


@app.callback(invoke_without_command=True)
def tierwise(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="print version and commit")] = False,  # noqa: ARG001
) -> None:
    """Which tables, indexes and logs belong on which storage, and what does each I/O cost there?

    Without a command: the newest answer, and what to type next.
    """
    if context.invoked_subcommand is None:
        from tierwise.report.latest_answer import newest_answer  # noqa: PLC0415

        print(newest_answer())
    if context.invoked_subcommand in NEED_CHECKOUT:
        paths.need_checkout(f"tierwise {context.invoked_subcommand}")


@app.command()
def report(
    profile: ProfileOption = "quick",
    tiers: TiersOption = "",
    seed: SeedOption = 1,
    *,
    census: CensusOption = SYNTHETIC,
    sky: SkyOption = SYNTHETIC,
    fresh: Annotated[bool, typer.Option("--fresh", help="measure anew", envvar="FRESH")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="add whole replicates, once, for what was rejected", envvar="RETRY")] = False,
    engine: Annotated[str, typer.Option(help="auto, quarto or plain", envvar="ENGINE", autocompletion=completion.engines)] = "auto",
    run: Annotated[
        str,
        typer.Option(
            help="render this complete run (latest, reference: the one that ships, or a run id), measure nothing",
            envvar="RUN",
            autocompletion=completion.runs,
        ),
    ] = "",
    yes: YesOption = False,
) -> None:
    """Measure what is missing and build the report. On a terminal it asks before it measures."""
    from tierwise.pipeline import ReportRequest, make_report  # noqa: PLC0415

    sources = {"census": census, "sky": sky}
    request = ReportRequest(profile=profile, tiers=tiers, seed=seed, sources=sources, fresh=fresh, retry=retry, agree=confirming(yes=yes))
    site = make_report(request, engine=engine, run_id=run)
    say(f"report: {site / 'index.html'}")
    for name, file in PDFS.items():
        say(f"{name}:  {site / file}")


@app.command("run")
def run_study(
    study: Annotated[str, typer.Argument(help="a folder of src/tierwise/studies", autocompletion=studies.names)],
    profile: ProfileOption = "quick",
    tiers: TiersOption = "",
    seed: SeedOption = 1,
    *,
    census: CensusOption = SYNTHETIC,
    sky: SkyOption = SYNTHETIC,
    trials: Annotated[
        str, typer.Option(help="parts of a trial's key, as 'wal=ssd clients=8': these alone, in a run that stays partial")
    ] = "",
    yes: YesOption = False,
) -> None:
    """Measure one study by its notebooks; a later report of the same inputs goes on with its run, unless it is one of chosen trials.

    On a terminal it asks before it measures.
    """
    from tierwise.pipeline import ReportRequest, run_one_study  # noqa: PLC0415

    request = ReportRequest(profile=profile, tiers=tiers, seed=seed, sources={"census": census, "sky": sky}, agree=confirming(yes=yes))
    run = run_one_study(request, study, trials)
    has = ", ".join(sorted({record.name for record in run.studies}))
    say(f"run {run.run_id} is {run.status}; it has {has}")


@app.command()
def plan(
    profile: ProfileOption = "quick",
    tiers: TiersOption = "",
    seed: SeedOption = 1,
    *,
    census: CensusOption = SYNTHETIC,
    sky: SkyOption = SYNTHETIC,
    form: FormatOption = Format.TABLE,
) -> None:
    """Say what a report would measure, how long that takes, what disk it needs and how wide its intervals will be."""
    from tierwise.plan.estimate import as_json, as_text, make_plan  # noqa: PLC0415

    planned = make_plan(profile=profile, tiers=tiers, seed=seed, census=census, sky=sky)
    print(json.dumps(as_json(planned), indent=2) if form is Format.JSON else as_text(planned))


@app.command()
def claims(run: RunOption = "", form: FormatOption = Format.TABLE) -> None:
    """Say of each published claim whether it holds here."""
    from tierwise.analysis.runs import find_run  # noqa: PLC0415
    from tierwise.analysis.verdicts import as_json, as_text  # noqa: PLC0415
    from tierwise.report.study_registry import judge_all  # noqa: PLC0415

    folder = find_run(run) if run else None
    verdicts = judge_all(folder.parent, folder.name) if folder else judge_all(paths.raw())
    print(json.dumps(as_json(verdicts), indent=2) if form is Format.JSON else as_text(verdicts))


app.command()(cost)
app.command()(volumes)
app.command()(advise)
app.command("move-plan")(move_plan)
app.command("predict-scan")(predict_scan)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(autocompletion=completion.versions)],
    after: Annotated[str, typer.Argument(autocompletion=completion.versions)] = "latest",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say what differs between two versions of the report (a part of a version's name that is its own, or latest), and why.

    With `reference` for one of them, the other, a run (latest, or its id) or the run of a version, is held against the run that ships,
    cell by cell, claim by claim.
    """
    from tierwise.analysis.runs import REFERENCE  # noqa: PLC0415
    from tierwise.report.changes import Changes  # noqa: PLC0415
    from tierwise.report.reference import Beside, compare  # noqa: PLC0415
    from tierwise.report.versions import differing  # noqa: PLC0415

    if REFERENCE in {before, after}:
        found: Changes | Beside = compare(after if before == REFERENCE else before)
    else:
        found = differing(before, after)
    print(json.dumps(found.as_json(), indent=2) if form is Format.JSON else found.as_text())


@app.command()
def publish(
    to: Annotated[Path | None, typer.Argument(help="a new or an empty folder", envvar="TO")] = None,
    version: Annotated[
        str,
        typer.Option(help="latest, reference, or a part of a version's name that is its own", autocompletion=completion.versions),
    ] = "latest",
    one: Annotated[Path | None, typer.Option(help="in place of the folder, one file .html that opens from a disk", envvar="ONE")] = None,
) -> None:
    """Write a built report with its rows, manifest and checksums into a folder to give away, or its page alone into one file."""
    from tierwise.report.publish import publish as write  # noqa: PLC0415
    from tierwise.report.single_file import write_one  # noqa: PLC0415

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
def reference(
    profile: ProfileOption = "smoke",
    fresh: Annotated[bool, typer.Option("--fresh", help="measure anew", envvar="FRESH")] = False,
    run: Annotated[
        str,
        typer.Option(help="take this complete run (latest or a run id), measure nothing", envvar="RUN", autocompletion=completion.runs),
    ] = "",
    yes: YesOption = False,
) -> None:
    """Measure the run that ships with the checkout, unless it is measured, and put it into data/reference in place of the one there."""
    from tierwise.pipeline import ReportRequest, make_reference  # noqa: PLC0415

    say(f"reference: {make_reference(ReportRequest(profile, fresh=fresh, agree=confirming(yes=yes)), run_id=run)}")


@app.command()
def export(
    run: Annotated[str, typer.Argument(help="latest, reference, or a run id", autocompletion=completion.runs)],
    folder: Path,
) -> None:
    """Copy a complete run into FOLDER, small enough for git: its rows whole, of single reads, transactions and page sequences a sample."""
    from tierwise.advisor.advice_traces import behind_advice  # noqa: PLC0415
    from tierwise.analysis.runs import find_run  # noqa: PLC0415
    from tierwise.timings.export import export as copy  # noqa: PLC0415

    found = find_run(run)
    say(f"exported: {copy(found, folder, needed=behind_advice(found))}")


@app.command()
def merge(runs: Annotated[list[str], typer.Argument(help="ids, latest, reference, or folders of runs, also from other machines")]) -> None:
    """Make one run of several that measured the same with other seeds: from three on, verdicts speak of runs in general."""
    from tierwise.analysis.runs import find_run  # noqa: PLC0415
    from tierwise.bench.study_registry import summary_of  # noqa: PLC0415
    from tierwise.timings.merging import merge_runs  # noqa: PLC0415
    from tierwise.timings.references import MANIFEST  # noqa: PLC0415

    folders = [Path(name) if (Path(name) / MANIFEST).is_file() else find_run(name) for name in runs]
    merged = merge_runs(folders, paths.raw(), summary_of)
    say(f"merged: {merged.run_id} has the rows of {len(folders)} runs (tierwise claims {merged.run_id})")


@app.command()
def doctor() -> None:
    """List what is there, what is missing, what that costs and the remedy."""
    from tierwise import doctor as examination  # noqa: PLC0415

    raise typer.Exit(examination.main())


@app.command()
def emulate(
    device: Annotated[str, typer.Argument(help="name of a file in data/devices", autocompletion=completion.devices)],
    backing: Path,
    mountpoint: Path,
    yes: YesOption = False,
) -> None:
    """Mount BACKING at MOUNTPOINT so that it behaves like DEVICE, until unmounted or ended.

    On a terminal it asks before where a running PostgreSQL has files on the disk of BACKING, or MOUNTPOINT holds files, which are not seen
    meanwhile.
    """
    from tierwise.postgres.processes import servers_on  # noqa: PLC0415
    from tierwise.tiers.emulated import emulate as mount  # noqa: PLC0415

    held = False
    with suppress(OSError):  # a mount whose daemon is gone
        held = mountpoint.is_dir() and any(mountpoint.iterdir())
    if held:
        confirming(yes=yes)(f"{mountpoint} holds files, which nobody sees while it is mounted; go on?")
    servers = servers_on(backing) if backing.is_dir() else []
    if servers:
        confirming(yes=yes)(f"a running PostgreSQL has files on the disk of {backing} ({', '.join(map(str, servers))}); go on beside it?")
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
    from tierwise.recorders.trace_command import trace as record  # noqa: PLC0415

    print(record(cluster=cluster, pid=pid, seconds=seconds, out=out, recorder=recorder))


@app.command()
def clean() -> None:
    """End and unmount what a killed run left, and remove the work folder; measured rows and reports stay."""
    from tierwise.bench.workspace import remove_workspace  # noqa: PLC0415

    remove_workspace()


def main() -> None:
    """Run the command that was typed. An error that the reader can mend is one line; a traceback needs ``TIERWISE_DEBUG=1``."""
    try:
        sys.exit(app(prog_name="tierwise", standalone_mode=False))
    except TyperException as error:  # an option; without a message it was answered by the help
        if message := one_line(error.format_message()):
            print(f"tierwise: {message} (--help says what there is)", file=sys.stderr)
        sys.exit(2)
    except typer.Abort:  # the reader's answer was no
        sys.exit(1)
    except TierwiseError as error:
        if os.environ.get("TIERWISE_DEBUG"):
            raise
        print(f"tierwise: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except (OSError, MemoryError) as error:  # the machine's: a disk that is full, read-only or broken, a mount that is gone
        if os.environ.get("TIERWISE_DEBUG"):
            raise
        print(f"tierwise: {with_remedy(_said(error) or 'out of memory')}", file=sys.stderr)
        sys.exit(1)


def _said(error: OSError | MemoryError) -> str:
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        (_, _, why), *_ = error.args[0]
        return str(why)
    return str(error)
