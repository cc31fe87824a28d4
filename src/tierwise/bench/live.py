"""The runner of studies on a live server: one study on one pair, each block in a lab of its own, resumable after any kill."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierwise.bench.lab import Lab
from tierwise.bench.observation import OnServer
from tierwise.bench.order import Turn, also_waited, block_seed, interleave
from tierwise.bench.trials import run_trials
from tierwise.core.pairs import DirectoryTier, Pair
from tierwise.core.session_group import session_group
from tierwise.core.words import Substrate
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account
from tierwise.tiers import reclaim as mounts
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.directory import calibrate
from tierwise.tiers.open import open_tier

if TYPE_CHECKING:
    from tierwise.bench.book import Book
    from tierwise.bench.inputs import Inputs
    from tierwise.bench.study import C, Memo, Study, Trial


@contextmanager
def open_lab(study: "Study[C, Memo]", pair: Pair, inputs: "Inputs", work: Path, *, seed: int) -> "Iterator[tuple[Lab, Memo]]":
    """Open a lab on `pair` with what `study` keeps in mind there: a server created, tiers mounted, everything drawn by `seed`.

    Server and mounts are gone at the end; the data stay for a resumed run.
    """
    account = server_account()
    work.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(work / "cluster", find_binaries(), account)
    lab = Lab(inputs.profile, pair, seed, work, cluster, sources=inputs.sources)
    with ExitStack() as stack:
        makers = stack.enter_context(ThreadPoolExecutor(max_workers=1))  # to copy a thousand files is to wait for the disk
        made = None if cluster.exists else makers.submit(lab.make_cluster, cluster)
        memo = study.begin(lab)
        lab.stretch = 1.0 / study.published_share(lab, memo)
        tiers = {}
        if pair.substrate is Substrate.EMULATED:
            lab.daemon = Daemon(work / "daemon")
            lab.group = stack.enter_context(session_group()) if inputs.counting.several else None
        owner = (account.uid, account.gid)
        for name, spec in pair.tiers.items():
            tier = open_tier(name, spec, work=work / name, stretch=lab.stretch, seed=seed, owner=owner, daemon=lab.daemon)
            stack.callback(tier.stop)
            tier.start()
            tiers[name] = tier
        lab.tiers = tiers
        stack.callback(cluster.stop)
        if made is not None:
            made.result()
        yield lab, memo


def measure_on_pair(study: "Study[Any, Any]", pair: Pair, inputs: "Inputs", book: "Book", work: Path) -> None:
    """Measure what the run of `book` still lacks of `study` on `pair`; `work` holds a block's cluster and tiers meanwhile."""
    turns = turns_of(study, pair, inputs, inputs.profile.blocks_of(study.name) + book.blocks_added(study.name, pair.name))

    @contextmanager
    def on_server(block: int, left: Sequence[Turn]) -> Iterator[OnServer]:  # noqa: ARG001 - opened for its facts as well
        with open_lab(study, pair, inputs, work / str(block), seed=block_seed(inputs.seed, block)) as (lab, memo):
            _calibrate(pair, lab, book)
            yield OnServer(study, lab, memo, [turn for turn in turns if turn.lab == block], book.folder)
        mounts.discard(work / str(block))  # before the next one's data are loaded

    run_trials(study, pair, turns, book, on_server, how=str(pair.substrate))
    if work.exists():
        mounts.discard(work)


def turns_of(study: "Study[Any, Any]", pair: Pair, inputs: "Inputs", blocks: int) -> list[Turn]:
    """Return every execution that a run of `inputs` has of `study` on `pair`; in the first block a sample is also waited for.

    A study that has waited trials of its own has them in every block, where it can be counted at all; the few trials on the pair of today
    have no sample and, since they are judged nowhere, one draw of data.
    """
    asked = study.trials(inputs.profile, pair)
    counted = is_counted(asked, pair, inputs)
    asked = tuple(trial for trial in asked if counted or not trial.waited)
    is_today = pair.name == inputs.profile.today
    asked = tuple(replace(trial, replicated=False) for trial in asked) if is_today else asked
    turns = interleave(asked, blocks=blocks, seed=inputs.seed)
    if counted and not is_today and not any(trial.waited for trial in asked):
        turns += interleave(also_waited(asked, seed=inputs.seed), blocks=1, seed=inputs.seed)
    ordered = sorted(turns, key=lambda turn: turn.lab)
    return [replace(turn, sequence=number) for number, turn in enumerate(ordered)]


def is_counted(asked: "Sequence[Trial[Any]]", pair: Pair, inputs: "Inputs") -> bool:
    """Return whether the trials `asked` on `pair` go by a counted clock."""
    return pair.substrate is Substrate.EMULATED and (inputs.counting.several or not any(trial.waited for trial in asked))


def _calibrate(pair: Pair, lab: Lab, book: "Book") -> None:
    """Figures of the pair's real disks, taken once a run."""
    known = book.calibrations
    figures = {
        f"{pair.name}/{name}": calibrate(lab.tiers[name].directory).model_dump(mode="json")
        for name, spec in pair.tiers.items()
        if isinstance(spec, DirectoryTier) and f"{pair.name}/{name}" not in known
    }
    book.keep_calibrations(figures)
