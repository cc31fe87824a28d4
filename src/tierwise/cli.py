"""The command line, thin: each command reads its options, calls one function and prints."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tierwise import __version__
from tierwise.advisor.cli import RunOption, advise, check, move_plan
from tierwise.calculator.map_command import map_command
from tierwise.cluster.cli import campaigns
from tierwise.core import completion, options, paths, studies
from tierwise.core.command_errors import run_command
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.errors import InputError
from tierwise.core.options import Format, FormatOption, answered, argument, confirming, option
from tierwise.core.progress import say
from tierwise.core.text_table import wrapped
from tierwise.costs.cli import cost, volumes
from tierwise.device_command import own_device
from tierwise.report.site import PDFS
from tierwise.scans.cli import predict_scan
from tierwise.simulate.cli import simulating, validating
from tierwise.watch.cli import watch

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="markdown")

PANELS: Final = ("The study", "Your server", "Costs", "Models", "Housekeeping")
"""The groups of commands in ``tierwise --help``, in this order."""
STUDY, SERVER, COSTS, MODELS, HOUSEKEEPING = PANELS
NEED_CHECKOUT: Final = ("report", "run", "worker", "plan", "reference", "publish", "merge", "diff", "sensitivity", "clean")
"""Commands that need notebooks, runs or built reports. A wheel has the other commands, and one run: the reference run."""


def command(panel: str, example: str, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds a command to the group `panel`; as `options.command`."""
    return options.command(app, example, name, panel=panel)


def _version(wanted: bool) -> None:
    if wanted:
        from tierwise.report.site import UNVERSIONED, code_version  # noqa: PLC0415  the heavy libraries load only where they are needed

        commit = code_version()
        print(f"tierwise {__version__}" + ("" if commit == UNVERSIONED else f" ({commit})"))
        raise typer.Exit


@app.callback(invoke_without_command=True, help=options.help_of("tierwise.help"), epilog="Example: tierwise advise --ssd-gib 4")
def tierwise(
    context: typer.Context,
    version: Annotated[bool, option("tierwise.version", "--version", callback=_version, is_eager=True)] = False,  # noqa: ARG001
) -> None:
    if context.invoked_subcommand is None:
        from tierwise.report.latest_answer import newest_answer  # noqa: PLC0415

        print(newest_answer())
    if context.invoked_subcommand in NEED_CHECKOUT:
        paths.need_checkout(f"tierwise {context.invoked_subcommand}")


@command(STUDY, "report --profile quick")
def report(
    profile: options.ProfileOption = "quick",
    tiers: options.TiersOption = "",
    seed: options.SeedOption = 1,
    *,
    census: options.CensusOption = SYNTHETIC,
    sky: options.SkyOption = SYNTHETIC,
    fresh: options.FreshOption = False,
    retry: options.RetryOption = False,
    engine: options.EngineOption = "auto",
    run: Annotated[str, option("report.run", envvar="RUN", autocompletion=completion.runs)] = "",
    scheduler: options.SchedulerOption = "",
    store: options.StoreOption = "",
    budget: options.BudgetOption = "",
    yes: options.YesOption = False,
) -> None:
    from tierwise.datasets.checking import check_first_rows  # noqa: PLC0415
    from tierwise.pipeline import ReportRequest, make_report  # noqa: PLC0415
    from tierwise.plan.budget import seconds_in  # noqa: PLC0415

    sources = check_first_rows({"census": census, "sky": sky})
    request = ReportRequest(profile, tiers, seed, sources, fresh, retry, scheduler, store, seconds_in(budget), agree=confirming(yes=yes))
    site = make_report(request, engine=engine, run_id=run)
    say(f"report: {site / 'index.html'}")
    for name, file in PDFS.items():
        say(f"{name}:  {site / file}")


@command(STUDY, f"run {studies.names()[0]} --profile quick", "run")
def run_study(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help=f"Study to measure: {', '.join(studies.names())}.", autocompletion=studies.names)
    ],
    profile: options.ProfileOption = "quick",
    tiers: options.TiersOption = "",
    seed: options.SeedOption = 1,
    *,
    census: options.CensusOption = SYNTHETIC,
    sky: options.SkyOption = SYNTHETIC,
    trials: Annotated[str, option("run_study.trials")] = "",
    yes: options.YesOption = False,
) -> None:
    from tierwise.datasets.checking import check_first_rows  # noqa: PLC0415
    from tierwise.pipeline import ReportRequest, run_one_study  # noqa: PLC0415

    sources = check_first_rows({"census": census, "sky": sky})
    request = ReportRequest(profile=profile, tiers=tiers, seed=seed, sources=sources, agree=confirming(yes=yes))
    run = run_one_study(request, study, trials)
    has = ", ".join(sorted({record.name for record in run.studies}))
    say(f"run {run.run_id} is {run.status}; it has {has}")


@command(STUDY, "plan --profile full")
def plan(
    profile: options.ProfileOption = "quick",
    tiers: options.TiersOption = "",
    seed: options.SeedOption = 1,
    *,
    census: options.CensusOption = SYNTHETIC,
    sky: options.SkyOption = SYNTHETIC,
    machines: Annotated[str, option("plan.machines", envvar="MACHINES")] = "",
    price_per_hour: Annotated[float | None, option("plan.price_per_hour", envvar="PRICE_PER_HOUR", min=0)] = None,
    budget: options.BudgetOption = "",
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.bench.loop import gather_inputs  # noqa: PLC0415
    from tierwise.bench.runs import look_ahead  # noqa: PLC0415
    from tierwise.core.text_template import render  # noqa: PLC0415
    from tierwise.datasets.checking import check_first_rows  # noqa: PLC0415
    from tierwise.plan import budget as budgets  # noqa: PLC0415
    from tierwise.plan.estimate import as_json, as_text, beside_runs, plan_of  # noqa: PLC0415

    numbers, budget_s = budgets.machines_in(machines), budgets.seconds_in(budget)
    sources = check_first_rows({"census": census, "sky": sky})
    inputs = gather_inputs(profile=profile, tiers=tiers, seed=seed, **sources)
    planned = beside_runs(plan_of(inputs), look_ahead(inputs))
    found = budgets.fleets(planned, numbers, price_per_hour)
    offers = budgets.offers(planned, inputs, budget_s, numbers, price_per_hour) if budget_s else []
    if form is Format.JSON:
        more = {"campaigns": [asdict(one) for one in found], "budgets": [asdict(one) for one in offers]}
        print(json.dumps({**as_json(planned), **more}, indent=2))
    else:
        print(wrapped(as_text(planned)))
        if found:
            print(f"\n{render('plan/text/machines.txt', found=found)}")
        if offers:
            print(f"\n{budgets.as_text(offers, inputs)}")


@command(STUDY, "check-data --sky file:mine.vot", "check-data")
def check_data(
    census: Annotated[str, option("check_data.census")] = "",
    sky: Annotated[str, option("check_data.sky")] = "",
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.datasets.checking import as_text, check  # noqa: PLC0415  heavy libraries

    named = {name: source for name, source in {"census": census, "sky": sky}.items() if source}
    if len(named) != 1:
        raise InputError("check-data", rule="needs one file", remedy="give --census file:PATH or --sky file:PATH")
    [(name, source)] = named.items()
    checked = check(name, source)
    print(answered(checked, form, as_text))
    if checked.fault:
        raise typer.Exit(2)


@command(STUDY, "claims --run reference")
def claims(run: RunOption = "", claim: Annotated[str, option("claims.claim")] = "", form: FormatOption = Format.TABLE) -> None:
    from tierwise.analysis.runs import run_to_read  # noqa: PLC0415
    from tierwise.analysis.verdicts import as_json, as_text  # noqa: PLC0415
    from tierwise.report.study_registry import judge_all  # noqa: PLC0415

    folder = run_to_read(run)
    verdicts = judge_all(folder.parent, folder.name) if folder else judge_all(paths.raw())
    chosen = [one for one in verdicts if claim in {"", one.id, one.source}]
    if not chosen:
        raise InputError("--claim", value=claim, rule="no such claim", remedy="tierwise claims without --claim lists every claim")
    print(json.dumps(as_json(chosen), indent=2) if form is Format.JSON else as_text(chosen))


@command(STUDY, "diff reference latest")
def diff(
    before: Annotated[str, argument("diff.before", metavar="BEFORE", autocompletion=completion.runs)],
    after: Annotated[str, argument("diff.after", metavar="AFTER", autocompletion=completion.runs)] = "latest",
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.report.reference import compare  # noqa: PLC0415

    found = compare(before, after)
    print(json.dumps(found.as_json(), indent=2) if form is Format.JSON else wrapped(found.as_text()))


@command(STUDY, "publish --one report.html")
def publish(
    to: Annotated[Path | None, argument("publish.to", metavar="FOLDER", envvar="TO")] = None,
    version: Annotated[str, option("publish.version", autocompletion=completion.versions)] = "latest",
    one: Annotated[Path | None, option("publish.one", envvar="ONE")] = None,
) -> None:
    from tierwise.report.publish import publish as write  # noqa: PLC0415
    from tierwise.report.publish import write_one  # noqa: PLC0415

    if one:
        say(f"published one file: {write_one(one, version)}")
        return
    if to is None:
        remedy = "run make publish TO=dir, or make publish ONE=report.html for one file"
        raise InputError("TO", rule="names no folder to write the report into", remedy=remedy)
    made = write(to, version)
    say(f"published {made.built.version}: {made.files} files in {to}")
    if made.dirty:
        say("the code had uncommitted changes when this report was built, so no commit has exactly this code")


@command(STUDY, "export latest runs-for-git")
def export(
    run: Annotated[str, argument("export.run", metavar="RUN", autocompletion=completion.runs)],
    folder: Annotated[Path, argument("export.folder", metavar="FOLDER")],
) -> None:
    from tierwise.advisor.workload import behind_advice  # noqa: PLC0415
    from tierwise.analysis.runs import find_run  # noqa: PLC0415
    from tierwise.timings.export import export as copy  # noqa: PLC0415

    found = find_run(run)
    say(f"exported: {copy(found, folder, needed=behind_advice(found))}")


@command(STUDY, "merge latest /mnt/other/data/raw/20261126-174349-full-5b31ca")
def merge(runs: Annotated[list[str], argument("merge.runs", metavar="RUN")]) -> None:
    from tierwise.bench.study_registry import summary_of  # noqa: PLC0415
    from tierwise.pipeline import stored_or_found  # noqa: PLC0415
    from tierwise.timings.merging import merge_runs  # noqa: PLC0415
    from tierwise.timings.references import MANIFEST  # noqa: PLC0415

    folders = [Path(name) if (Path(name) / MANIFEST).is_file() else stored_or_found(name) for name in runs]
    merged = merge_runs(folders, paths.raw(), summary_of)
    say(f"merged: {merged.run_id} has the rows of {len(folders)} runs (tierwise claims {merged.run_id})")


@command(STUDY, "worker --scheduler tls://host:8786")
def worker(scheduler: options.SchedulerOption = "") -> None:
    from tierwise import doctor as examination  # noqa: PLC0415
    from tierwise.cluster.worker import serve  # noqa: PLC0415

    if examination.main():
        raise typer.Exit(1)
    serve(scheduler)


app.add_typer(campaigns, name="campaign", rich_help_panel=STUDY)


@command(STUDY, f"sensitivity --study {studies.names()[0]} --repeat ''")
def sensitivity(
    study: Annotated[str, option("sensitivity.study", envvar="STUDY", autocompletion=studies.names)] = "",
    run: Annotated[str, option("sensitivity.run", autocompletion=completion.runs)] = "reference",
    repeat: Annotated[str, option("sensitivity.repeat", autocompletion=completion.profiles)] = "full",
    trials: Annotated[str, option("sensitivity.trials")] = "",
    seed: options.SeedOption = 1,
    *,
    yes: options.YesOption = False,
) -> None:
    from tierwise.sensitivity.screening import sensitivity as compute  # noqa: PLC0415

    names = [studies.known(study)] if study else studies.names()
    confirming(yes=yes)(f"measure {len(names)} studies again for each parameter, which takes hours?")
    say(f"sensitivity: {paths.short(compute(names, run=run, repeat=repeat, seed=seed, trials=trials))}")


command(SERVER, "watch 'host=db.example dbname=shop user=watcher' --for 10m --out activity.parquet")(watch)
command(SERVER, "advise --ssd-gib 4 --run reference")(advise)
command(SERVER, "check --before before.parquet --after after.parquet --tiers server.toml")(check)
command(SERVER, "move-plan --jobs 100", "move-plan")(move_plan)
scan = "--pages 1000000 --rows 20000000 --selectivity 0.01 --correlation 0.9"
command(SERVER, f"predict-scan --device nvme {scan} --method bitmap --cache cold", "predict-scan")(predict_scan)


@command(SERVER, "trace --cluster /var/lib/postgresql/18/main --seconds 10")
def trace(
    seconds: Annotated[float, option("trace.seconds")],
    cluster: Annotated[Path | None, option("trace.cluster")] = None,
    pid: Annotated[int | None, option("trace.pid")] = None,
    out: Annotated[Path | None, option("trace.out")] = None,
    recorder: Annotated[str, option("trace.recorder")] = "auto",
    *,
    requests: Annotated[bool, option("trace.requests", "--requests")] = False,
) -> None:
    from tierwise.recorders.trace_command import trace as record  # noqa: PLC0415

    print(record(cluster=cluster, pid=pid, seconds=seconds, out=out, recorder=recorder, requests=requests))


command(COSTS, "cost gp3 nvme")(cost)
command(COSTS, "volumes --gib 500 --iops 6000 --mibs 200 --latency-ms 2")(volumes)


@command(MODELS, "emulate sata-7k2 /tmp/files /mnt/slow")
def emulate(
    device: Annotated[str, argument("shared.device", metavar="DEVICE", autocompletion=completion.devices)],
    backing: Annotated[Path, argument("emulate.backing", metavar="BACKING")],
    mountpoint: Annotated[Path, argument("emulate.mountpoint", metavar="MOUNTPOINT")],
    yes: options.YesOption = False,
) -> None:
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


command(MODELS, "map pages.lis --pages 1024,65536", "map")(map_command)
app.add_typer(own_device, name="device", rich_help_panel=MODELS)
app.add_typer(simulating, name="simulate", rich_help_panel=MODELS)
app.add_typer(validating, name="validate", rich_help_panel=MODELS)


@command(HOUSEKEEPING, "doctor")
def doctor() -> None:
    from tierwise import doctor as examination  # noqa: PLC0415

    raise typer.Exit(examination.main())


@command(HOUSEKEEPING, "clean")
def clean() -> None:
    from tierwise.bench.workspace import remove_workspace  # noqa: PLC0415

    remove_workspace()


@command(HOUSEKEEPING, "reference --run latest")
def reference(
    profile: options.ProfileOption = "smoke",
    fresh: options.FreshOption = False,
    run: Annotated[str, option("reference.run", envvar="RUN", autocompletion=completion.runs)] = "",
    runs: Annotated[int, option("reference.runs", min=1, envvar="RUNS")] = 1,
    yes: options.YesOption = False,
) -> None:
    from tierwise.pipeline import ReportRequest, make_reference  # noqa: PLC0415

    say(f"reference: {make_reference(ReportRequest(profile, fresh=fresh, agree=confirming(yes=yes)), run_id=run, runs=runs)}")


def main() -> None:
    run_command(app, "tierwise")
