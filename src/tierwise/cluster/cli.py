"""``tierwise campaign``: what the store has of a run that workers measure, and how to end the campaign."""

from typing import Annotated

import typer

from tierwise.core.options import argument, command
from tierwise.core.text_table import table

campaigns = typer.Typer(help="See or end a campaign, a run that workers measure.", rich_markup_mode="markdown", no_args_is_help=True)
RunAddress = Annotated[str, argument("cluster.run_address", metavar="ADDRESS")]


@command(campaigns, "campaign status s3://bucket/prefix/20261126-174349-full-5b31ca")
def status(run: RunAddress) -> None:
    from tierwise.cluster.attempts import Surveyor  # noqa: PLC0415
    from tierwise.cluster.collecting import named_run, read_campaign, report_leftovers  # noqa: PLC0415

    store, run_id = named_run(run)
    campaign, found = read_campaign(store, run_id), Surveyor(store, run_id).survey()
    rows = []
    for study, replicates in campaign.replicates.items():
        whole = [one for (name, _), one in found.counting.items() if name == study]
        failed = sum(one.study == study for one in found.failed)
        rows.append((study, str(replicates), str(len(whole)), str(len({one.machine for one in whole})), str(failed)))
    print(table(("study", "replicates", "whole", "machines", "failed attempts"), rows, numbers=range(1, 5)))
    report_leftovers(found)


@command(campaigns, "campaign cancel s3://bucket/prefix/20261126-174349-full-5b31ca")
def cancel(run: RunAddress) -> None:
    from tierwise.cluster.client import cancel as end  # noqa: PLC0415
    from tierwise.cluster.collecting import named_run, read_campaign  # noqa: PLC0415

    store, run_id = named_run(run)
    read_campaign(store, run_id)
    end(store, run_id)
