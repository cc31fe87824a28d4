"""Run one study: its trials on its source's pair and on the reader's, block by block, resumable after any kill."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tierwise.bench.inputs import Counting, Inputs
from tierwise.bench.lab import Lab
from tierwise.bench.observation import observe
from tierwise.bench.order import Turn, also_waited, interleave
from tierwise.bench.prediction import traced
from tierwise.bench.runs import open_run, record_study, update
from tierwise.bench.simulation import SimulatedStudy, simulate_on_pair
from tierwise.bench.study import Study
from tierwise.bench.workspace import discard_runs, exclusive_workspace, run_folder
from tierwise.core import paths, studies
from tierwise.core.data_sets import chosen as chosen_sources
from tierwise.core.errors import MissingError
from tierwise.core.pairs import DirectoryTier, Pair, load_pair
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.progress import Progress
from tierwise.core.session_group import obstacle as session_group_obstacle
from tierwise.core.session_group import session_group
from tierwise.core.words import IoArm, Substrate
from tierwise.postgres.binaries import Binaries, find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account
from tierwise.recorders import strace
from tierwise.tiers import reclaim as mounts
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.directory import calibrate
from tierwise.tiers.mounting import require_fuse
from tierwise.tiers.open import open_tier
from tierwise.timings.manifest import DatasetRecord, Manifest, StudyRecord, load_manifest
from tierwise.timings.schema import Origin, frame
from tierwise.timings.store import done_parts, read_parts, without_checks, write_part


def load_study(name: str) -> Study | SimulatedStudy:
    """The study `name`, by what its room measures."""
    module = f"tierwise.studies.{studies.known(name)}.measuring.trials"
    study = import_module(module).STUDY
    assert isinstance(study, Study | SimulatedStudy), f"{module}.STUDY is a {type(study).__name__}"
    return study


def gather_inputs(*, profile: str, tiers: str, seed: int, **sources: str) -> Inputs:
    """Read what the reader asked for; `tiers` names the reader's own pair, or is empty; `sources` say whence a data set comes."""
    binaries = find_binaries()
    letters = {load_study(name).source for name in studies.names()}
    files = sorted(path.stem for path in (paths.data() / "tiers").glob("*.toml"))
    pairs = [pair for pair in map(load_pair, files) if pair.source in letters]
    if tiers and tiers not in {pair.name for pair in pairs}:
        pairs.append(load_pair(tiers))
    chosen = load_profile(profile)
    possible = possible_pairs(pairs)
    simulated = any(tier.substrate is Substrate.SIMULATED for pair in possible for tier in pair.tiers.values())
    return Inputs(
        profile=chosen.model_copy(update={"arms": possible_arms(chosen, binaries, simulated=simulated)}),
        pairs=possible,
        reader_pair=tiers or None,
        seed=seed,
        server_version=".".join(map(str, binaries.version)),
        sources=chosen_sources(sources),
        counting=possible_counting(),
    )


def possible_pairs(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """`pairs` as this machine can have them: where nothing can be mounted, what would be emulated is simulated.

    Raises:
        MissingError: it can do neither.
    """
    try:
        require_fuse()
    except MissingError as no_fuse:
        simulated = tuple(pair.simulated() for pair in pairs)
        obstacle = None if simulated == tuple(pairs) else strace.obstacle()
        if obstacle:
            why = f"disks are emulated through the one ({no_fuse}), or simulated from what the other records ({obstacle})"
            raise MissingError("FUSE, and strace in its place,", why=why, remedy="apt-get install strace") from no_fuse
        return simulated
    return tuple(pairs)


def possible_counting() -> Counting:
    """The clocks that this machine can go by: one session needs nothing, several a group that can be looked into."""
    return Counting(session_group_obstacle())


def possible_arms(profile: Profile, binaries: Binaries, *, simulated: bool) -> tuple[IoArm, ...]:
    """The profile's arms that this machine can do.

    A server without direct I/O serves the buffered arm instead. A simulated tier has the server's own reads replayed, which
    with direct I/O are the device's; what the kernel's page cache makes of buffered ones is not modelled.
    """
    if simulated:
        return (IoArm.DIRECT,)
    if binaries.supports_direct_io:
        return profile.arms
    return (IoArm.BUFFERED,)


def run_study(name: str, *, profile: str, tiers: str = "", seed: int = 1, run_id: str = "", **sources: str) -> Manifest:
    """Measure what is still missing of study `name` in run `run_id` (empty: the run of these inputs) and record it."""
    inputs = gather_inputs(profile=profile, tiers=tiers, seed=seed, **sources)
    return measure_study(name, inputs, paths.raw() / (run_id or open_run(inputs, fresh=False).run_id))


def measure_study(name: str, inputs: Inputs, folder: Path) -> Manifest:
    """Measure what the run in `folder` still lacks of study `name`, on its source's pair and on the reader's."""
    study = load_study(name)
    pairs = [pair for pair in inputs.pairs if pair.source == study.source or pair.name == inputs.reader_pair]
    if load_manifest(folder).status != "complete":
        with exclusive_workspace() as workspace:
            discard_runs(workspace, but=folder.name)
            for pair in pairs:
                if isinstance(study, SimulatedStudy):
                    simulate_on_pair(study, pair, inputs, folder, run_folder(workspace, folder.name) / f"{name}-{pair.name}")
                    continue
                _run_on_pair(study, pair, inputs, run_folder(workspace, folder.name), folder)
    return load_manifest(folder)


@contextmanager
def open_lab(study: Study, pair: Pair, inputs: Inputs, work: Path) -> Iterator[Lab]:
    """A lab on `pair`: the server created, the tiers mounted; both gone at the end, the data kept for a resumed run."""
    account = server_account()
    work.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(work / "cluster", find_binaries(), account)
    lab = Lab(inputs.profile, pair, inputs.seed, work, cluster, sources=inputs.sources)
    lab.stretch = 1.0 / study.published_share(lab)
    with ExitStack() as stack:
        tiers = {}
        if pair.substrate is Substrate.EMULATED:
            lab.daemon = Daemon(work / "daemon")
            lab.group = stack.enter_context(session_group()) if inputs.counting.several else None
        owner = (account.uid, account.gid)
        for name, spec in pair.tiers.items():
            tier = open_tier(name, spec, work=work / name, stretch=lab.stretch, seed=inputs.seed, owner=owner, daemon=lab.daemon)
            stack.callback(tier.stop)
            tier.start()
            tiers[name] = tier
        lab.tiers = tiers
        stack.callback(cluster.stop)
        if not cluster.exists:
            cluster.create()
        yield lab


def _run_on_pair(study: Study, pair: Pair, inputs: Inputs, run_work: Path, folder: Path) -> None:
    blocks = inputs.profile.blocks_of(study.name) + load_manifest(folder).blocks_added(study.name, pair.name)
    turns = turns_of(study, pair, inputs, blocks)
    done = done_parts(folder)
    left = [turn for turn in turns if (study.name, pair.name, turn.trial.key, turn.block) not in done]
    recorded = {(record.name, record.pair) for record in load_manifest(folder).studies}
    if left or (study.name, pair.name) not in recorded:
        work = run_work / f"{study.name}-{pair.name}"
        with open_lab(study, pair, inputs, work) as lab:
            _calibrate(pair, lab, folder)
            _measure(study, lab, left, len(turns), folder)
            _record(study, lab, turns, folder)
        mounts.discard(work)


def turns_of(study: Study, pair: Pair, inputs: Inputs, blocks: int) -> list[Turn]:
    """Every execution that a run of `inputs` has of `study` on `pair`; in the first block a sample is also waited for.

    A study that has waited trials of its own has them in every block, where it can be counted at all.
    """
    asked, counting = study.trials(inputs.profile, pair), inputs.counting
    counted = pair.substrate is Substrate.EMULATED and (counting.several or not any(trial.waited for trial in asked))
    asked = tuple(trial for trial in asked if counted or not trial.waited)
    turns = interleave(asked, blocks=blocks, seed=inputs.seed)
    if not counted or any(trial.waited for trial in asked):
        return turns
    checks = interleave(also_waited(asked, seed=inputs.seed), blocks=1, seed=inputs.seed)
    return [*turns, *(replace(turn, sequence=len(turns) + turn.sequence) for turn in checks)]


def _calibrate(pair: Pair, lab: Lab, folder: Path) -> None:
    """Figures of the pair's real disks, taken once a run."""
    manifest = load_manifest(folder)
    figures = {
        f"{pair.name}/{name}": calibrate(lab.tiers[name].directory).model_dump(mode="json")
        for name, spec in pair.tiers.items()
        if isinstance(spec, DirectoryTier) and f"{pair.name}/{name}" not in manifest.calibrations
    }
    update(manifest, calibrations={**manifest.calibrations, **figures}).save(folder)


def _measure(study: Study, lab: Lab, left: list[Turn], total: int, folder: Path) -> None:
    progress = Progress(f"{study.name} on {lab.pair.name} ({lab.pair.substrate})", total, already=total - len(left))
    prepared: str | None = None
    for turn in left:
        if turn.trial.preparation != prepared:
            study.prepare(turn.trial, lab)
            prepared = turn.trial.preparation
        origin = Origin(
            run_id=folder.name,
            study=study.name,
            pair=lab.pair.name,
            substrate=turn.trial.substrate(lab.pair),
            arm=turn.trial.arm,
            trial=turn.trial.key,
            block=turn.block,
            sequence=turn.sequence,
        )
        write_part(folder, frame(origin, observe(study, turn, lab, folder)))
        progress.step(note=f"block {turn.block + 1}, {turn.trial.key}")


def _record(study: Study, lab: Lab, turns: list[Turn], folder: Path) -> None:
    """Check the complete rows and add the study to the manifest."""
    rows = without_checks(read_parts(folder, study.name))
    study.check(rows)
    manifest = load_manifest(folder)
    trials = {turn.trial.key: turn.trial for turn in turns if not turn.trial.waited}
    record = StudyRecord(
        name=study.name,
        pair=lab.pair.name,
        trials=tuple(sorted(trials)),
        waited=tuple(sorted({turn.trial.key for turn in turns if turn.trial.waited})),
        blocks=len({turn.block for turn in turns}),
        settings=lab.settings,
        server_version=lab.cluster.server_version,
        facts={
            **study.describe(lab),
            **study.summarise(rows.filter(pair=lab.pair.name)),
            **traced(study, list(trials.values()), lab, rows, folder),
            "seek_stretch": lab.stretch,
        },
    )
    used = [
        DatasetRecord(name=data.name, rows=data.rows, sha256=data.sha256, provenance=data.provenance, studies=(study.name,))
        for data in lab.datasets.values()
    ]
    record_study(folder, record, datasets=manifest.with_data(used))
