"""The commands on placements: each reads its options, calls one function and prints."""

from datetime import datetime
from typing import Annotated

import typer

from tierwise.core.answers import Format, FormatOption, answered
from tierwise.core.words import Goal, Way

RunOption = Annotated[str, typer.Option(help="run id; the newest complete one by default")]
StudyOption = Annotated[str, typer.Option(help="whose requests count; the first that the run has")]
PairOption = Annotated[str, typer.Option(help="of tiers; the first that the run has")]
WorkloadOption = Annotated[str, typer.Option(help="of the study; the first that the run has")]
HddOption = Annotated[str, typer.Option(help="device of data/devices in place of the run's hdd")]
SsdOption = Annotated[str, typer.Option(help="device of data/devices in place of the run's ssd")]


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
        command.Asked(run, study, pair, workload, hdd, ssd),
        ssd_gib=ssd_gib,
        budget=budget,
        goal=goal,
        jobs_per_hour=jobs_per_hour,
        on=(on or datetime.now()).date(),  # noqa: DTZ005  the reader's day
        currency=currency,
        region=region,
    )
    print(answered(found, form, as_text))


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
        command.Asked(run, study, pair, workload, hdd, ssd),
        relations=relation or [],
        size_gib=size_gib,
        jobs=jobs,
        way=way,
        predict=predict,
        job_s=(before_s, after_s),
    )
    print(answered(found, form, as_text))
