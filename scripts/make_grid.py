"""Simulate the nodes of the calculator's grid, and write them to data/calculator/grid.json: `python scripts/make_grid.py [SEED]`."""

import json
import sys
import time

from tierwise.calculator import axes
from tierwise.calculator.shape import Shape
from tierwise.core import paths
from tierwise.core.files import write_whole

SEED = 1


def main(seed: int) -> None:
    began_s = time.process_time()
    nodes = {}
    for skew in axes.SKEWS:
        for ratio in axes.RATIOS:
            for layout in axes.layouts(skew):
                shape = Shape(ratio, skew, layout)
                for size in range(len(axes.SIZES)):
                    nodes[f"{layout} {skew:g} {ratio:g} {size}"] = axes.kept(shape, size, seed)
        print(f"skew {skew:g}: {time.process_time() - began_s:.0f} s", file=sys.stderr)
    grid = {
        "version": 1,
        "command": f"python scripts/make_grid.py {seed}",
        "seed": seed,
        "processor_s": round(time.process_time() - began_s),
        "sizes": axes.SIZES,
        "ratios": axes.RATIOS,
        "skews": axes.SKEWS,
        "writes": axes.WRITES,
        "intervals": axes.INTERVALS,
        "ram": {f"{ratio:g}": axes.ram_shares(ratio) for ratio in axes.RATIOS},
        "nodes": nodes,
    }
    write_whole(paths.data() / "calculator" / "grid.json", json.dumps(grid, separators=(",", ":")).replace('"strewn', '\n"strewn') + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEED)
