"""The commands on placements: each reads its options, calls one function and prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tierwise.core import completion, paths, studies
from tierwise.core.errors import InputError, need_above_zero, suggesting
from tierwise.core.options import Format, FormatOption, TicketFormat, TicketFormatOption, answered, option
from tierwise.core.progress import say
from tierwise.core.vocabulary import Goal, Way
from tierwise.costs.cli import CurrencyOption, DayOption, RegionOption, book_of

if TYPE_CHECKING:
    from tierwise.advisor.server_question import Limits, Question
    from tierwise.costs.book import Book

RunOption = Annotated[str, option("advisor.run", autocompletion=completion.runs)]
StudyOption = Annotated[str, option("advisor.study", autocompletion=studies.names)]
PairOption = Annotated[str, option("advisor.pair", autocompletion=completion.pairs)]
WorkloadOption = Annotated[str, option("advisor.workload")]
HddOption = Annotated[str, option("advisor.hdd", autocompletion=completion.devices)]
SsdOption = Annotated[str, option("advisor.ssd", autocompletion=completion.devices)]


def advise(  # noqa: PLR0917  each is an option with a name
    ssd_gib: Annotated[float | None, option("advise.ssd_gib")] = None,
    activity: Annotated[list[Path] | None, option("advise.activity")] = None,
    tiers: Annotated[Path | None, option("advise.tiers")] = None,
    key: Annotated[Path | None, option("advise.key")] = None,
    plan: Annotated[Path | None, option("advise.plan")] = None,
    report: Annotated[Path | None, option("advise.report")] = None,
    requests: Annotated[Path | None, option("advise.requests")] = None,
    latency_ms: Annotated[float | None, option("advise.latency_ms")] = None,
    budget: Annotated[float | None, option("advise.budget")] = None,
    goal: Annotated[str, option("advise.goal", autocompletion=completion.goals)] = "time",
    jobs_per_hour: Annotated[float, option("advise.jobs_per_hour")] = 0.0,
    run: RunOption = "",
    study: StudyOption = "",
    pair: PairOption = "",
    workload: WorkloadOption = "",
    hdd: HddOption = "",
    ssd: SsdOption = "",
    on: DayOption = None,
    currency: CurrencyOption = "USD",
    region: RegionOption = "US",
    form: TicketFormatOption = TicketFormat.TABLE,
) -> None:
    if activity or tiers is not None:
        from tierwise.advisor.server_question import Limits  # noqa: PLC0415  the heavy libraries load only where they are needed

        need_above_zero({"--ssd-gib": ssd_gib, "--budget": budget, "--latency-ms": latency_ms})
        limits = Limits(ssd_gib, budget, None if latency_ms is None else latency_ms / 1000)
        watched = _server_question(activity or [], tiers, key, limits, book_of(on, "USD", region))
        print(_server_advice(watched, activity or [], form, plan=plan, report=report, requests=requests))
        return
    if ssd_gib is None:
        raise InputError("--ssd-gib", rule="is needed without --activity", remedy="give --ssd-gib N, or --activity FILE --tiers FILE")
    if form is TicketFormat.MARKDOWN or latency_ms is not None or plan or report or requests:
        raise InputError("--latency-ms, --plan, --report, --requests, --format markdown", rule="are for --activity alone")
    from tierwise.advisor import advice  # noqa: PLC0415
    from tierwise.advisor.workload import read_workload  # noqa: PLC0415

    found = read_workload(paths.raw(), run_id=run, study=study, pair=pair, name=workload)
    question = advice.Question(ssd_gib, budget, _goal(goal), jobs_per_hour, devices=_named(hdd=hdd, ssd=ssd))
    print(answered(advice.advise(found, question, book_of(on, currency, region)), Format(form), advice.as_text))


def move_plan(  # noqa: PLR0917  each is an option with a name
    relation: Annotated[list[str] | None, option("move_plan.relation")] = None,
    jobs: Annotated[int, option("move_plan.jobs")] = 1,
    way: Annotated[Way, option("move_plan.way")] = Way.SERVER,
    before_s: Annotated[float | None, option("move_plan.before_s")] = None,
    after_s: Annotated[float | None, option("move_plan.after_s")] = None,
    run: RunOption = "",
    study: StudyOption = "",
    pair: PairOption = "",
    workload: WorkloadOption = "",
    hdd: HddOption = "",
    ssd: SsdOption = "",
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.advisor.moving import as_text, move_of  # noqa: PLC0415
    from tierwise.advisor.workload import read_workload  # noqa: PLC0415

    if jobs < 1:
        raise InputError("--jobs", value=jobs, rule="must be at least 1")
    job_s = _job_s(before_s, after_s)
    found = read_workload(paths.raw(), run_id=run, study=study, pair=pair, name=workload)
    plan = move_of(found, relation or [], way=way, jobs=jobs, devices=_named(hdd=hdd, ssd=ssd), job_s=job_s)
    print(answered(plan, form, as_text))


def check(  # noqa: PLR0917  each is an option with a name
    before: Annotated[Path, option("check.before")],
    after: Annotated[Path, option("check.after")],
    tiers: Annotated[Path, option("check.tiers")],
    moved: Annotated[list[str] | None, option("check.moved")] = None,
    key: Annotated[Path | None, option("check.key")] = None,
    form: TicketFormatOption = TicketFormat.TABLE,
) -> None:
    from tierwise.advisor.server_advice_text import check_shown  # noqa: PLC0415
    from tierwise.advisor.server_check import check_move  # noqa: PLC0415  the heavy libraries load only where they are needed
    from tierwise.advisor.server_question import Limits, Question  # noqa: PLC0415
    from tierwise.advisor.server_tiers import read_server_tiers  # noqa: PLC0415
    from tierwise.core.activity import read_answer  # noqa: PLC0415

    found, book = [read_answer(path, key) for path in (before, after)], book_of(None, "USD", "US")
    known = read_server_tiers(tiers, host=found[0].host)
    print(check_shown(check_move(*(Question(one, known, Limits(), book) for one in found), by_hand=moved or []), form))


def _server_question(activity: list[Path], tiers: Path | None, key: Path | None, limits: "Limits", book: "Book") -> "Question":
    from tierwise.advisor.joined_watches import joined  # noqa: PLC0415
    from tierwise.advisor.server_question import Question  # noqa: PLC0415
    from tierwise.advisor.server_tiers import read_server_tiers  # noqa: PLC0415
    from tierwise.core.activity import read_answer  # noqa: PLC0415

    if not activity or tiers is None:
        raise InputError("--activity, --tiers", rule="belong together", remedy="give both files")
    every = [read_answer(path, key) for path in activity]
    primary = [one for one in every if not one.standby]
    if not primary and len(every) > 1:
        raise InputError("--activity", rule="has several standbys and no primary", remedy="add a file of the primary, or give one file")
    watched, replicas = joined(primary or every), tuple(one for one in every if primary and one.standby)
    return Question(watched, read_server_tiers(tiers, host=watched.host), limits, book, replicas)


def _server_advice(
    question: "Question", activity: list[Path], form: TicketFormat, *, plan: Path | None, report: Path | None, requests: Path | None
) -> str:
    from tierwise.advisor.server_advice import advise_server  # noqa: PLC0415
    from tierwise.advisor.server_advice_text import shown  # noqa: PLC0415
    from tierwise.advisor.server_plan import write_plan  # noqa: PLC0415
    from tierwise.core.text_template import render  # noqa: PLC0415

    advice = advise_server(question)
    if requests is not None:
        from tierwise.advisor.memory_map import reads_left  # noqa: PLC0415

        advice = advice.model_copy(update={"reads_left": reads_left(requests, question.activity.buffer_bytes)})
    if plan is not None:
        write_plan(advice, question, plan)
        say(render("advisor/plan_files/words.toml:written", folder=plan))
    if report is not None:
        from tierwise.advisor.server_report import write_report  # noqa: PLC0415

        say(render("advisor/plan_files/words.toml:report", file=write_report(advice, question.activity, activity, report)))
    return shown(advice, form)


def _goal(word: str) -> Goal:
    """Return the goal by its word, ``time`` or ``cost``; the words of the JSON output serve too."""
    goals = {**dict(zip(completion.goals(), Goal, strict=True)), **{str(goal): goal for goal in Goal}}
    if word not in goals:
        raise InputError("--goal", value=word, rule="must be time or cost", remedy=suggesting(word, goals))
    return goals[word]


def _named(*, hdd: str, ssd: str) -> dict[str, str]:
    return {tier: name for tier, name in (("hdd", hdd), ("ssd", ssd)) if name}


def _job_s(before_s: float | None, after_s: float | None) -> tuple[float, float] | None:
    given = None if before_s is None or after_s is None else (before_s, after_s)
    if given is None and (before_s, after_s) != (None, None):
        raise InputError("--before-s, --after-s", rule="give both: the seconds of a job before and after the move")
    if given is not None and min(given) <= 0:
        raise InputError("--before-s, --after-s", value=min(given), rule="must be above zero")
    return given
