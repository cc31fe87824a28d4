"""Everything that a reader may touch: a table of targets, each a valid sample and how it is read. Another file or option is a line more."""

import gzip
import json
import shutil
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import polars as pl

from bad_input import Case
from support import SMOKE_RUN
from tierwise.core import paths

OLDER: Final = SMOKE_RUN.name
RUN: Final = f"data/raw/{OLDER}"  # the smoke run of the tests, as a reader has one in the home that `make_home` makes


@dataclass(frozen=True)
class Target:
    """One thing that is mutated: a `file`, `options` or the `environment`; of what is `dear`, a third of the cases is tried."""

    name: str
    file: str = ""
    read: Callable[[], object] | None = None
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    dear: bool = False

    @property
    def sample(self) -> bytes:
        return (paths.home() / self.file).read_bytes()


def called(name: str, *arguments: object) -> None:
    """Call what is named, which is imported only then: the child of a target loads nothing of the others."""
    resolve_name(f"tierwise.{name}")(*arguments)


def calling(name: str, *arguments: object) -> Callable[[], object]:
    return partial(called, name, *arguments)


def served(name: str) -> None:
    from tierwise.devices.model import build
    from tierwise.devices.protocol import Operation
    from tierwise.devices.spec import load_device

    model = build(load_device(name), seed=1, stretch=4.0)
    size = 8192
    last = max(0, model.capacity_bytes - size) // size * size
    if last == 0:
        return
    for tag in range(48):
        operation = (Operation.READ, Operation.WRITE, Operation.READ, Operation.FLUSH)[tag % 4]
        address = (last // 7 * tag + tag * size) % last // size * size
        model.submit(tag * 1e-3, tag, operation, address, 0 if operation is Operation.FLUSH else size)
    done: list[int] = []
    while len(done) < 48 and (event_s := model.next_event_s()) < float("inf"):
        done += [tag for tag, _ in model.advance(event_s)]
    assert sorted(done) == list(range(48)), "a request was never served"


def pair(name: str) -> None:
    from tierwise.bench.inputs import pair_file
    from tierwise.core.pairs import load_pair

    pair_file(load_pair(name))


def profile(name: str) -> None:
    from tierwise.bench.study_registry import load_study
    from tierwise.core import studies
    from tierwise.core.pairs import load_pair
    from tierwise.core.profiles import load_profile

    loaded, on = load_profile(name), load_pair("source-m")
    for study in studies.names():
        load_study(study).trials(loaded, on)


def prices() -> None:
    import datetime as dt

    from tierwise.core.errors import MissingError
    from tierwise.costs.book import load_book

    book = load_book(dt.date(2026, 11, 1))
    for item in {price.item for price in book.prices}:
        try:
            book.quote(item)
            book.band(item)
        except MissingError:  # no price of that day or before: reported as what is missing
            continue


def validation() -> None:
    from tierwise.report.values.validation import EMULATOR, MODELS, load

    load(*MODELS)
    load(*EMULATOR)


def acquired(name: str, file: str) -> None:
    from importlib import import_module
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        import_module(f"tierwise.datasets.{name}").acquire(f"file:{file}", fraction=1.0, seed=1, folder=Path(folder))


def page_trace(file: str) -> None:
    from tierwise.simulate.page_trace import simulate_trace

    simulate_trace(paths.home() / file, 10)


def drive() -> None:
    from tierwise.simulate.device_validation import read_case

    trace, model, seek, specs = (paths.home() / "mine" / f"drive.{ending}" for ending in ("trace", "model", "seek", "diskspecs"))
    read_case(trace, model, seek, specs=specs).judge()


def stored() -> None:
    """Open the run and ask for all of it, as `make report` does of an older run."""
    from tierwise.analysis.views import connect

    connection = connect(paths.raw(), OLDER)
    for view in ("runs", "timings", "reads"):
        connection.sql(f"select count(*), max(columns(*)::varchar) from {view}").fetchall()


def recorded(file: str) -> None:
    from tierwise.timings.trial_files import TrialKey, read_trace

    read_trace(paths.raw() / OLDER, TrialKey(*_first_of(file, "study", "pair", "trial")))


def transacted(file: str) -> None:
    from tierwise.timings.trial_files import TRANSACTIONS, TrialKey

    *key, replicate = _first_of(file, "study", "pair", "trial", "replicate")
    TRANSACTIONS.read(paths.raw() / OLDER, TrialKey(*key), replicate)


def _first_of(file: str, *columns: str) -> tuple[Any, ...]:
    return pl.read_parquet(SMOKE_RUN / Path(file).relative_to(RUN), columns=list(columns), hive_partitioning=False).row(0)


def parameters() -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(("PROFILE", "TIERS", "TRIALS", "RUN_ID", "PAIR"), "") | {"SEED": 1, "DEVICES": {}}
    for option in sys.argv[1:]:
        name, _, text = option.partition("=")
        try:
            found[name] = json.loads(text)
        except (ValueError, RecursionError):
            found[name] = text
    return found


def requested_trials() -> None:
    """Read the parameters of a notebook that measures, as its cells use them."""
    from tierwise.bench.loop import trials_of

    given = parameters()
    trials_of("index_placement", profile=given["PROFILE"], tiers=given["TIERS"], seed=given["SEED"], trials=given["TRIALS"])


def requested_devices() -> None:
    from tierwise.report.run import open_run, with_devices

    given = parameters()
    with_devices(open_run(given["RUN_ID"]), given["PAIR"], given["DEVICES"])


def first(table: str) -> str:
    smallest = min(SMOKE_RUN.glob(f"{table}/**/*.parquet"), key=lambda path: (path.stat().st_size, path))
    return f"{RUN}/{smallest.relative_to(SMOKE_RUN)}"


ATTACHED: Final = "devices.instances:attached"
SERIES: Final = "analysis.claims:published_series"
SCAN: Final = ("predict-scan", "--device", "sata-7k2", "--pages", "100", "--rows", "1000", "--selectivity", "0.1", "--correlation", "0.9",
               "--method", "bitmap", "--cache", "cold", "--io-workers", "3", "--processors", "2")  # fmt: skip
VOLUMES: Final = ("volumes", "--gib", "500", "--iops", "6000", "--mibs", "200", "--latency-ms", "2", "--read-kib", "16",
                  "--write-iops", "10", "--pieces", "2", "--vcpus", "2", "--memory-gib", "4", "--reads-per-gib", "400",
                  "--on", "2026-11-01", "--currency", "USD", "--region", "US", "--format", "json")  # fmt: skip
MOVE: Final = ("move-plan", "--hdd", "sata-7k2", "--ssd", "intel-s3700", "--before-s", "10", "--after-s", "1",
               "--jobs", "5", "--way", "server", "--format", "json")  # fmt: skip
TRIALS: Final = ("PROFILE=smoke", "TIERS=", "SEED=1", "TRIALS=start=NV variant=published")
DEVICES: Final = (f"RUN_ID={OLDER}", "PAIR=source-m", 'DEVICES={"ssd": "kingston-dc600m"}')
VARIABLES: Final = (("PROFILE", "smoke"), ("TIERS", "local"), ("SEED", "1"), ("CENSUS", "synthetic"), ("SKY", "synthetic"))
COST: Final = ("cost", "--device", "sata-7k2", "--on", "2026-11-01", "--price", "ram=3", "--data-gib", "10", "--ram-gib", "1",
               "--reads-per-s", "100", "--misses-per-read", "0.5", "--life-years", "3", "--iops", "simulated", "--latency-ms", "30",
               "--currency", "USD", "--region", "US")  # fmt: skip
SYNTHETIC: Final = ("map", "--synthetic", "--table-gib", "9", "--index-gib", "1", "--requests", "9", "--writes", "0.5",
                    "--skew", "0.5", "--clients", "2")  # fmt: skip
PAGES: Final = ("simulate", "trace", "mine/pages.lis", "--pages", "10", "--policy", "lru", "--page-bytes", "4096",
                "--input-format", "arc")  # fmt: skip
DRIVE: Final = ("validate", "device", "--trace", "mine/drive.trace", "--model", "mine/drive.model", "--seek", "mine/drive.seek",
                "--specs", "mine/drive.diskspecs", "--bus-ms-per-sector", "0.1")  # fmt: skip


def device(name: str, command: tuple[str, ...] = ()) -> Target:
    return Target(f"device {name}", f"data/devices/{name}.toml", partial(served, name), command)


def scanned(name: str) -> tuple[str, ...]:
    return (*SCAN[:2], name, *SCAN[3:])


TARGETS: Final = (
    device("sata-7k2", SCAN),
    device("sata-7k2-x6", scanned("sata-7k2-x6")),
    device("intel-x25-e", scanned("intel-x25-e")),
    device("aws-gp3", scanned("aws-gp3")),
    Target("instances", "data/instances/aws.toml", calling(ATTACHED, "aws", "m7i.large"), scanned("gp3@m7i.large")),
    Target("machines", "data/instances/gcp.csv", calling(ATTACHED, "gcp", "c4d-standard-2")),
    Target("managed storage", "data/costs/managed.toml", calling("costs.managed:managed_storages")),
    *(Target(f"pair {name}", f"data/tiers/{name}.toml", partial(pair, name)) for name in ("source-m", "local", "source-r")),
    Target("profile", "data/profiles/smoke.toml", partial(profile, "smoke")),
    Target("prices", "data/prices/flash.csv", prices, VOLUMES),
    Target("rents", "data/prices/volumes.csv", prices, VOLUMES),
    Target("hardware", "data/costs/hardware.toml", calling("costs.hardware:load_hardware"), VOLUMES),
    Target("claims", "data/published/claims.toml", calling("analysis.claims:load_claims")),
    Target("machine", "data/machines/source-r.toml", calling("simulate.machine:load_machine", "source-r")),
    Target("bands", "data/sensitivity/bands.toml", calling("sensitivity.bands:moves_of", "wal_placement", "wal-placement")),
    Target("processor", "data/machines/postgres-18-scans.toml", calling("scans.processor:load_processor"), SCAN),
    *(Target(name, f"data/published/{name}", calling(SERIES, f"data/published/{name}")) for name in ("read_latency.csv", "survey.csv")),
    Target("validation", "data/validation/models.json", validation),
    *(Target(f"census as {file}", f"mine/{file}", partial(acquired, "census", f"mine/{file}")) for file in ("census.csv", "census.tsv.gz")),
    *(
        Target(f"sky as {file}", f"mine/{file}", partial(acquired, "sky", f"mine/{file}"))
        for file in ("psc", "sky.vot", "sky.fits", "sky.parquet", "sky.tbl")
    ),
    Target("page trace", "mine/pages.lis", partial(page_trace, "mine/pages.lis"), PAGES),
    *(Target(f"trace as {kind}", f"mine/{kind}", partial(page_trace, f"mine/{kind}")) for kind in ("fio", "blkparse", "oracle")),
    *(Target(f"drive's {ending}", f"mine/drive.{ending}", drive, DRIVE) for ending in ("trace", "model", "seek", "diskspecs")),
    Target("rows", f"{RUN}/timings.parquet", stored),
    Target("manifest", f"{RUN}/manifest.json", stored, ("claims", "--run", OLDER)),
    Target("single reads", first("reads"), stored),
    Target("page sequence", first("traces"), partial(recorded, first("traces"))),
    Target("transactions", first("transactions"), partial(transacted, first("transactions"))),
    Target("parameters of a notebook that measures", read=requested_trials, command=TRIALS),
    Target("parameters of a chapter", read=requested_devices, command=DEVICES, dear=True),
    Target("variables of plan", command=("plan",), environment=VARIABLES, dear=True),
    Target("options of cost", command=COST),
    Target("options of predict-scan", command=SCAN),
    Target("options of volumes", command=VOLUMES),
    Target("options of move-plan", command=MOVE),
    Target("options of simulate trace", command=PAGES),
    Target("options of map", command=("map", "mine/fio", "--pages", "4,8", "--relation", "t=/a", "--sample", "1", "--tiers", "today-aws")),
    Target("options of map --synthetic", command=SYNTHETIC),
    Target("options of check-data", command=("check-data", "--sky", "file:mine/psc")),
    Target("options of validate device", command=DRIVE),
)
BY_NAME: Final = {target.name: target for target in TARGETS}


def read(case: Case) -> None:
    """Read, in the child, what `case` mutated, or call the command line with its options and variables."""
    target = BY_NAME[case.target]
    if target.read is not None:
        target.read()
        return
    from tierwise.cli import main

    main()


def make_home(folder: Path) -> None:
    """Copy a checkout's inputs into `folder`, with a reader's run in place of the one that ships, and files of his own in ``mine``."""
    home = paths.home()
    shutil.copytree(home / "data", folder / "data", ignore=shutil.ignore_patterns("work", "raw", "external", "reference"))
    shutil.copytree(SMOKE_RUN, folder / RUN)
    for name in ("requirements.txt", "notebooks", "report"):
        (folder / name).symlink_to(home / name)
    mine = folder / "mine"
    mine.mkdir()
    own_files(mine)


def own_files(folder: Path) -> None:
    from test_sky_data import by_astropy, text
    from test_validate_device import MODEL, SEEK, SPECS, TRACE
    from tierwise.datasets import census, sky

    plain = {"boolean": "0", "integer": "-7", "text": "P"}
    row = [plain[kind] for kind in census.TYPES.values()]
    names = list(census.TYPES)
    (folder / "census.csv").write_text("\n".join(",".join(cells) for cells in (names, row, row, row)) + "\n", encoding="utf-8")
    (folder / "census.tsv.gz").write_bytes(gzip.compress(("\t".join(row) + "\n").encode() * 3))
    rows = pl.read_parquet(sky.acquire("synthetic", fraction=1e-5, seed=2, folder=folder / "made").parquet).head(5)
    text(rows, folder / "psc")
    by_astropy(rows, folder / "sky.vot")
    by_astropy(rows, folder / "sky.fits")
    rows.write_parquet(folder / "sky.parquet")
    (folder / "sky.tbl").write_text(
        "|    ra|   dec|designation|\n|double|double|       char|\n    1.5    2.5           a \n", encoding="utf-8"
    )
    (folder / "fio").write_text("fio version 2 iolog\n/a open\n/a read 0 8192\n/a write 8192 4096\n", encoding="utf-8")
    (folder / "blkparse").write_text("  8,16   1        1     0.000000000  1200  Q   R 4096 + 16 [backend]\n", encoding="utf-8")
    (folder / "oracle").write_bytes(b"".join(struct.pack("<IQIq", time, 7, 100, -1) for time in range(3)))
    (folder / "pages.lis").write_text("7 1 0 1\n100 3 0 2\n7 2 0 3\n", encoding="utf-8")
    (folder / "drive.trace").write_text(TRACE, encoding="utf-8")
    (folder / "drive.model").write_text(MODEL, encoding="utf-8")
    (folder / "drive.seek").write_text(SEEK, encoding="utf-8")
    (folder / "drive.diskspecs").write_text(SPECS, encoding="utf-8")
