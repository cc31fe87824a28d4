"""The commands on placements: each reads its options, calls one function and prints."""

from datetime import datetime
from typing import Annotated

import typer

from tierwise.core import completion, paths, studies
from tierwise.core.errors import InputError
from tierwise.core.output_format import Format, FormatOption, answered
from tierwise.core.vocabulary import Goal, Way

RunOption = Annotated[
    str, typer.Option(help="latest, reference or a run id; the newest complete one by default", autocompletion=completion.runs)
]
StudyOption = Annotated[str, typer.Option(help="whose requests count; the first that the run has", autocompletion=studies.names)]
PairOption = Annotated[str, typer.Option(help="of tiers; the first that the run has")]
WorkloadOption = Annotated[str, typer.Option(help="of the study; the first that the run has")]
HddOption = Annotated[str, typer.Option(help="device of data/devices in place of the run's hdd", autocompletion=completion.devices)]
SsdOption = Annotated[str, typer.Option(help="device of data/devices in place of the run's ssd", autocompletion=completion.devices)]


def advise(  # noqa: PLR0917  each is an option with a name
    ssd_gib: Annotated[float, typer.Option(help="space on the ssd")],
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
    """Say which relations belong on the ssd, by what a run requested of each, and how much worse other placements are."""
    from tierwise.advisor import advice  # noqa: PLC0415  the heavy libraries load only where they are needed
    from tierwise.advisor.advice_text import as_text  # noqa: PLC0415
    from tierwise.advisor.workload import read_workload  # noqa: PLC0415
    from tierwise.costs.book import load_book  # noqa: PLC0415

    day = (on or datetime.now()).date()  # noqa: DTZ005  the reader's day
    found = read_workload(paths.raw(), run_id=run, study=study, pair=pair, name=workload)
    question = advice.Question(ssd_gib=ssd_gib, budget=budget, goal=goal, jobs_per_hour=jobs_per_hour, devices=_named(hdd=hdd, ssd=ssd))
    print(answered(advice.advise(found, question, load_book(day, currency=currency, region=region)), form, as_text))


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
    from tierwise.advisor.moving import check_jobs, move_of, move_of_size  # noqa: PLC0415
    from tierwise.advisor.moving_text import as_text  # noqa: PLC0415
    from tierwise.advisor.workload import read_workload  # noqa: PLC0415

    check_jobs(jobs)
    job_s = _job_s(before_s, after_s)
    if size_gib is not None:  # then no run is needed
        plan = move_of_size(size_gib, job_s, relation or [], hdd=hdd, ssd=ssd, jobs=jobs, way=way)
    else:
        found = read_workload(paths.raw(), run_id=run, study=study, pair=pair, name=workload)
        plan = move_of(found, relation or [], way=way, jobs=jobs, devices=_named(hdd=hdd, ssd=ssd), predict=predict, job_s=job_s)
    print(answered(plan, form, as_text))


def _named(*, hdd: str, ssd: str) -> dict[str, str]:
    return {tier: name for tier, name in (("hdd", hdd), ("ssd", ssd)) if name}


def _job_s(before_s: float | None, after_s: float | None) -> tuple[float, float] | None:
    given = None if before_s is None or after_s is None else (before_s, after_s)
    if given is None and (before_s, after_s) != (None, None):
        raise InputError("--before-s, --after-s", rule="go together: a job's seconds before and after the move")
    if given is not None and min(given) <= 0:
        raise InputError("--before-s, --after-s", value=min(given), rule="must be above zero")
    return given
