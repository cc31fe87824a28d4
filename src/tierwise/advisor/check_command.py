"""``tierwise check``: it reads its options, calls one function and prints."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

from tierwise.core.options import TicketFormat, TicketFormatOption, option


def check(  # noqa: PLR0917  each is an option with a name
    before: Annotated[Path, option("check.before")],
    after: Annotated[Path, option("check.after")],
    tiers: Annotated[Path, option("check.tiers")],
    moved: Annotated[list[str] | None, option("check.moved")] = None,
    key: Annotated[Path | None, option("check.key")] = None,
    form: TicketFormatOption = TicketFormat.TABLE,
) -> None:
    """Compare what a move to the SSD saved with what `tierwise advise` predicts for it.

    The relations that moved are those whose tablespace changed between the two watches, and those of --moved.
    """
    from tierwise.advisor.server_check import check_move  # noqa: PLC0415  the heavy libraries load only where they are needed
    from tierwise.advisor.server_check_text import shown  # noqa: PLC0415
    from tierwise.advisor.server_question import Limits, Question  # noqa: PLC0415
    from tierwise.advisor.server_tiers import read_server_tiers  # noqa: PLC0415
    from tierwise.core.activity import read_answer  # noqa: PLC0415
    from tierwise.costs.book import load_book  # noqa: PLC0415

    found, book = [read_answer(path, key) for path in (before, after)], load_book(datetime.now().date())  # noqa: DTZ005  the reader's day
    known = read_server_tiers(tiers, host=found[0].host)
    print(shown(check_move(*(Question(one, known, Limits(), book) for one in found), by_hand=moved or []), form))
