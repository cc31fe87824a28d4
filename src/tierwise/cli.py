"""The command line, thin: each command reads its options, calls one function and prints."""

import json
import os
import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tierwise.core import paths
from tierwise.core.errors import TierwiseError
from tierwise.core.progress import say

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
validating = typer.Typer(no_args_is_help=True, help="Hold a model against measurements.")
simulating = typer.Typer(no_args_is_help=True, help="Run a model alone.")
app.add_typer(validating, name="validate")
app.add_typer(simulating, name="simulate")


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"


class Rating(StrEnum):
    """Where a device's IOPS come from."""

    SIMULATED = "simulated"
    PUBLISHED = "published"


class Goal(StrEnum):
    """What an advised placement has least of."""

    QUICKEST = "quickest"
    CHEAPEST = "cheapest"


class Way(StrEnum):
    """How a relation is copied."""

    SERVER = "server"
    BANDWIDTH = "bandwidth"


FormatOption = Annotated[Format, typer.Option("--format", help="for people, or for programs")]
RunOption = Annotated[str, typer.Option(help="run id; the newest complete one by default")]
StudyOption = Annotated[str, typer.Option(help="whose requests count; the first that the run has")]
PairOption = Annotated[str, typer.Option(help="of tiers; the first that the run has")]
WorkloadOption = Annotated[str, typer.Option(help="of the study; the first that the run has")]
HddOption = Annotated[str, typer.Option(help="device of data/devices in place of the run's hdd")]
SsdOption = Annotated[str, typer.Option(help="device of data/devices in place of the run's ssd")]


@app.callback()
def tierwise() -> None:
    """Which tables, indexes and logs belong on which storage, and what does each I/O cost there?"""


@app.command()
def report(  # noqa: PLR0917  each is an option with a name
    profile: Annotated[str, typer.Option(help="how much is measured: smoke, quick or full", envvar="PROFILE")] = "quick",
    tiers: Annotated[str, typer.Option(help="your own pair, data/tiers/NAME.toml, beside the sources' pairs", envvar="TIERS")] = "",
    seed: Annotated[int, typer.Option(help="of data, order and devices", envvar="SEED")] = 1,
    census: Annotated[str, typer.Option(help="synthetic, download, or file:PATH of the raw file", envvar="CENSUS")] = "synthetic",
    sky: Annotated[
        str, typer.Option(help="2MASS point sources: synthetic, download, download:WHAT, or file:PATH", envvar="SKY")
    ] = "synthetic",
    fresh: Annotated[bool, typer.Option("--fresh", help="measure anew", envvar="FRESH")] = False,
    engine: Annotated[str, typer.Option(help="auto, quarto or plain", envvar="ENGINE")] = "auto",
    run: Annotated[str, typer.Option(help="render this complete run (reference: the one that ships), measure nothing", envvar="RUN")] = "",
) -> None:
    """Measure what is missing and build the report."""
    from tierwise.pipeline import make_report  # noqa: PLC0415  the heavy libraries load only where they are needed

    site = make_report(profile=profile, tiers=tiers, seed=seed, census=census, sky=sky, fresh=fresh, engine=engine, run_id=run)
    say(f"report: {site / 'index.html'}")
    say(f"pdf:    {site / 'tierwise.pdf'}")


@app.command()
def plan(  # noqa: PLR0917  each is an option with a name
    profile: Annotated[str, typer.Option(help="smoke, quick or full", envvar="PROFILE")] = "quick",
    tiers: Annotated[str, typer.Option(help="your own pair, data/tiers/NAME.toml", envvar="TIERS")] = "",
    seed: Annotated[int, typer.Option(help="of data, order and devices", envvar="SEED")] = 1,
    census: Annotated[str, typer.Option(help="synthetic, download, or file:PATH", envvar="CENSUS")] = "synthetic",
    sky: Annotated[
        str, typer.Option(help="2MASS point sources: synthetic, download, download:WHAT, or file:PATH", envvar="SKY")
    ] = "synthetic",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say what a report would measure, how long that takes, what disk it needs and how wide its intervals will be."""
    from tierwise.plan.estimate import as_json, as_text, make_plan  # noqa: PLC0415

    planned = make_plan(profile=profile, tiers=tiers, seed=seed, census=census, sky=sky)
    print(json.dumps(as_json(planned), indent=2) if form is Format.JSON else as_text(planned))


@app.command()
def claims(
    run: Annotated[str, typer.Option(help="run id; the newest complete one by default")] = "",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say of each published claim whether it holds here."""
    from tierwise.advisor.claims import judge_all  # noqa: PLC0415
    from tierwise.analysis.verdicts import as_json, as_text  # noqa: PLC0415

    verdicts = judge_all(paths.raw(), run or None)
    print(json.dumps(as_json(verdicts), indent=2) if form is Format.JSON else as_text(verdicts))


@app.command()
def cost(  # noqa: PLR0917  each is an option with a name
    on: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="prices as they stood on this day; today by default")] = None,
    price: Annotated[list[str] | None, typer.Option(metavar="ITEM=VALUE", help="another price, in the unit that the answer shows")] = None,
    device: Annotated[list[str] | None, typer.Option(help="only this device of data/devices; may be repeated")] = None,
    data_gib: Annotated[float | None, typer.Option(help="of the load; source R's by default")] = None,
    ram_gib: Annotated[float | None, typer.Option(help="memory that caches them")] = None,
    reads_per_s: Annotated[float | None, typer.Option(help="what the application asks")] = None,
    misses_per_read: Annotated[float | None, typer.Option(help="reads of a device for each read of the application")] = None,
    life_years: Annotated[float | None, typer.Option(help="of what is bought")] = None,
    iops: Annotated[Rating, typer.Option(help="of the devices' models, or of their data sheets")] = Rating.SIMULATED,
    currency: Annotated[str, typer.Option(help="of the answer")] = "USD",
    region: Annotated[str, typer.Option(help="whose prices come first")] = "US",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say what devices, a served load and an I/O cost, the break-evens, and how far each price may move before that changes."""
    from tierwise.costs.answer_text import as_text  # noqa: PLC0415
    from tierwise.costs.command import cost_answer  # noqa: PLC0415

    found = cost_answer(
        on=(on or datetime.now()).date(),  # noqa: DTZ005  the reader's day
        prices=price or [],
        devices=device or [],
        load={"data_gib": data_gib, "ram_gib": ram_gib, "reads_per_s": reads_per_s, "misses_per_read": misses_per_read},
        life_years=life_years,
        iops=iops.value,
        currency=currency,
        region=region,
    )
    print(found.model_dump_json(indent=2) if form is Format.JSON else as_text(found))


@app.command()
def advise(  # noqa: PLR0917  each is an option with a name
    ssd_gib: Annotated[float, typer.Option(help="room on the ssd")],
    budget: Annotated[float | None, typer.Option(help="most money a year for the shares of both devices")] = None,
    goal: Annotated[Goal, typer.Option(help="what the placement has least of: time, or money")] = Goal.QUICKEST,
    jobs_per_hour: Annotated[float, typer.Option(help="how often a job comes, which takes a share of a device's time")] = 0.0,
    run: RunOption = "",
    study: StudyOption = "",
    pair: PairOption = "",
    workload: WorkloadOption = "",
    hdd: HddOption = "",
    ssd: SsdOption = "",
    on: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="prices as they stood on this day; today by default")] = None,
    currency: Annotated[str, typer.Option(help="of the answer")] = "USD",
    region: Annotated[str, typer.Option(help="whose prices come first")] = "US",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say which relations belong on the ssd, by what a run asked of each, and how much worse other placements are."""
    from tierwise.advisor import command  # noqa: PLC0415
    from tierwise.advisor.advice_text import as_text  # noqa: PLC0415

    found = command.advice(
        ssd_gib=ssd_gib,
        budget=budget,
        goal=goal,
        jobs_per_hour=jobs_per_hour,
        run=run,
        study=study,
        pair=pair,
        workload=workload,
        hdd=hdd,
        ssd=ssd,
        on=(on or datetime.now()).date(),  # noqa: DTZ005  the reader's day
        currency=currency,
        region=region,
    )
    print(found.model_dump_json(indent=2) if form is Format.JSON else as_text(found))


@app.command("move-plan")
def move_plan(  # noqa: PLR0917  each is an option with a name
    relation: Annotated[list[str] | None, typer.Option(help="to be moved; may be repeated; all by default")] = None,
    size_gib: Annotated[float | None, typer.Option(help="of data that no run knows: then --hdd, --ssd, --before-s and --after-s")] = None,
    jobs: Annotated[int, typer.Option(help="for which the data would stay on the ssd")] = 1,
    way: Annotated[Way, typer.Option(help="of copying: page by page as the server does, or at the devices' bandwidth")] = Way.SERVER,
    predict: Annotated[bool, typer.Option("--predict", help="a job's times too, so that all is simulated and there is a verdict")] = False,
    before_s: Annotated[float | None, typer.Option(help="a job's seconds before the move, in place of the run's")] = None,
    after_s: Annotated[float | None, typer.Option(help="and after it")] = None,
    run: RunOption = "",
    study: StudyOption = "",
    pair: PairOption = "",
    workload: WorkloadOption = "",
    hdd: HddOption = "",
    ssd: SsdOption = "",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say after how many jobs it pays to copy relations to the ssd and back."""
    from tierwise.advisor import command  # noqa: PLC0415
    from tierwise.advisor.moving_text import as_text  # noqa: PLC0415

    found = command.move_plan(
        relations=relation or [],
        size_gib=size_gib,
        jobs=jobs,
        way=way,
        predict=predict,
        job_s=(before_s, after_s),
        run=run,
        study=study,
        pair=pair,
        workload=workload,
        hdd=hdd,
        ssd=ssd,
    )
    print(found.model_dump_json(indent=2) if form is Format.JSON else as_text(found))


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
    to: Annotated[Path, typer.Argument(help="a new or an empty folder", envvar="TO")],
    version: Annotated[str, typer.Option(help="latest, or a part of a version's name that is its own")] = "latest",
) -> None:
    """Write a built report with its rows, manifest and checksums into a folder to give away."""
    from tierwise.report.publish import publish as write  # noqa: PLC0415

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


@validating.command("device")
def validate_device(
    trace: Annotated[Path, typer.Option(help="requests with measured service times")],
    model: Annotated[Path, typer.Option(help="the drive's extracted parameters")],
    seek: Annotated[Path, typer.Option(help="the drive's seek curve")],
    form: FormatOption = Format.TABLE,
) -> None:
    """Predict the service times of a real drive's trace, and say how far they are from the measured ones."""
    from tierwise.simulate.device_validation import as_text, validate  # noqa: PLC0415

    found = validate(trace, model, seek)
    print(found.model_dump_json(indent=2) if form is Format.JSON else as_text(found))


@simulating.command("trace")
def simulate_trace(
    file: Path,
    pages: Annotated[int, typer.Option(help="size of the cache")],
    policy: Annotated[str, typer.Option(help="lru, clock, two-list or mapped")] = "lru",
    form: FormatOption = Format.TABLE,
) -> None:
    """Replay a page trace (lines of: start blocks x request) through a cache."""
    from tierwise.simulate import page_trace  # noqa: PLC0415

    found = page_trace.simulate_trace(file, pages, policy)
    text = f"{found['requests']:,} requests, {found['misses']:,} misses, hit ratio {found['hit_ratio']:.2%}"
    print(json.dumps(found, indent=2) if form is Format.JSON else text)


@simulating.command("zipf")
def simulate_zipf(  # noqa: PLR0917  each is an option with a name
    device: Annotated[str, typer.Option(help="name of a file in data/devices")],
    dataset_gib: Annotated[float, typer.Option(help="size of the file that is read")],
    cache_gib: Annotated[float, typer.Option(help="the usable page cache")],
    threads: Annotated[int, typer.Option(help="readers")] = 8,
    scale: Annotated[int, typer.Option(help="64 simulates 1/64 of sizes and time, in seconds")] = 1,
    form: FormatOption = Format.TABLE,
) -> None:
    """Read a file through mmap by a scrambled Zipfian: 600 s of warm-up from dropped caches and 600 s measured, mean of five seeds."""
    from tierwise.simulate import zipf  # noqa: PLC0415

    found = zipf.simulate_zipf(device, dataset_gib=dataset_gib, cache_gib=cache_gib, threads=threads, scale=scale)
    text = f"{found['reads_per_s']:,.0f} reads/s, {found['miss_ratio']:.2%} missed, {found['device_iops']:,.0f} IOPS (simulated)"
    print(json.dumps(found, indent=2) if form is Format.JSON else text)


def main() -> None:
    """Entry point: an error that the reader can mend is one message, not a traceback (``TIERWISE_DEBUG=1`` shows it)."""
    try:
        app()
    except TierwiseError as error:
        if os.environ.get("TIERWISE_DEBUG"):
            raise
        print(f"tierwise: {error}", file=sys.stderr)
        sys.exit(1)
