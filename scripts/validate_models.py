"""Hold the models against what was measured on real devices: writes data/validation/models.json, which the report's appendix shows.

python scripts/validate_models.py        (reads ../shared/realdata; a test repeats it and compares)
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.core.tasks import in_tasks, processors
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import load_device
from tierwise.simulate.device_validation import FITTED_ON, read_case
from tierwise.simulate.drive_files import read_specs
from tierwise.simulate.page_trace import simulate_trace

DRIVES: Final = ("atlas10k", "barracuda", "cheetah4LP")
PUBLISHED_HIT_PERCENT: Final = {1_000: 32.83, 2_000: 42.47, 5_000: 53.65, 10_000: 60.70, 15_000: 64.63}
"""LRU on the OLTP trace: Megiddo and Modha, FAST 2003, as ../shared/realdata/README.md quotes it."""
DEPTHS: Final = (1, 2, 4, 8, 16, 32)
READS: Final = 4_000


def drive(folder: Path, name: str) -> dict[str, Any]:
    """Both halves of the drive's trace with the default electronics, all of it with the drive's own."""
    case = read_case(*(folder / f"{name}.{ending}" for ending in ("trace", "model", "seek")))
    own = replace(case, specs=read_specs(folder / f"{name}.diskspecs")).judge().model_dump(exclude={"fitted_on"})
    first, second = (case.judge(part=half).model_dump(exclude={"fitted_on"}) for half in ("first half", "second half"))
    return {"drive": name, "first_half": first, "second_half": second, "own_electronics": own}


def caches(trace: Path) -> list[dict[str, Any]]:
    """LRU on the ARC paper's OLTP trace beside the published hit ratios."""
    found = ((pages, percent, simulate_trace(trace, pages)) for pages, percent in PUBLISHED_HIT_PERCENT.items())
    return [
        {
            "pages": pages,
            "published_hit_percent": percent,
            "requests": one["requests"],
            "misses": one["misses"],
            "hit_ratio": one["hit_ratio"],
        }
        for pages, percent, one in found
    ]


def mean_read_s(device: str, depth: int) -> float:
    """Mean time of a random 8 KiB read with `depth` of them outstanding at any time."""
    model = build(load_device(device), seed=1)
    issued_s, total_s, sent = {}, 0.0, 0

    def send(now_s: float) -> None:
        nonlocal sent
        address = (sent * 7_919 * 8_192) % (model.capacity_bytes // 8_192 * 8_192)
        issued_s[sent] = now_s
        model.submit(now_s, sent, Operation.READ, address, 8_192)
        sent += 1

    for _ in range(depth):
        send(0.0)
    done = 0
    while done < READS:
        for tag, done_s in model.advance(model.next_event_s()):
            total_s += done_s - issued_s.pop(tag)
            done += 1
            send(done_s)
    return total_s / done


def main() -> None:
    """Write the file."""
    shared = paths.home().parent / "shared" / "realdata"
    with processors():
        judged = list(in_tasks(drive, [(shared / "devices", name) for name in DRIVES]))
    found = {
        "made_by": "scripts/validate_models.py",
        "fitted_on": FITTED_ON,
        "drives": judged,
        "caches": caches(shared / "traces" / "OLTP.lis.zst"),
        "x25e_reads": [
            {"depth": depth, "one_drive_s": mean_read_s("intel-x25-e", depth), "mirror_s": mean_read_s("intel-x25-e-raid1", depth)}
            for depth in DEPTHS
        ],
    }
    write_whole(paths.data() / "validation" / "models.json", json.dumps(rounded(found), indent=1) + "\n")


def rounded(value: Any) -> Any:
    """Six significant digits, so that another machine's last bits make no other file."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
