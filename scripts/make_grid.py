"""Simulate the nodes of the calculator's grid, and write them to data/calculator/grid.json: `python scripts/make_grid.py [SEED]`.

With ``SCHEDULER=local`` it uses all processors.
"""

import json
import sys
import time

import grid_nodes
from tierwise.calculator.shape import Shape
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.core.tasks import in_tasks, processors

SEED = 1


def timed(shape: Shape, size: int, seed: int) -> tuple[object, float]:
    """Return a node, and the processor's seconds that it took."""
    began_s = time.process_time()
    return grid_nodes.kept(shape, size, seed), time.process_time() - began_s


def main(seed: int) -> None:
    shapes = [Shape(ratio, skew, layout) for skew in grid_nodes.SKEWS for ratio in grid_nodes.RATIOS for layout in grid_nodes.layouts(skew)]
    places = [(shape, size, seed) for shape in shapes for size in range(len(grid_nodes.SIZES))]
    with processors():
        found = list(in_tasks(timed, places))
    nodes = {
        f"{shape.layout} {shape.skew:g} {shape.ratio:g} {size}": kept for (shape, size, _), (kept, _) in zip(places, found, strict=True)
    }
    grid = {
        "version": 1,
        "command": f"python scripts/make_grid.py {seed}",
        "seed": seed,
        "processor_s": round(sum(each_s for _, each_s in found)),
        "sizes": grid_nodes.SIZES,
        "ratios": grid_nodes.RATIOS,
        "skews": grid_nodes.SKEWS,
        "writes": grid_nodes.WRITES,
        "intervals": grid_nodes.INTERVALS,
        "ram": {f"{ratio:g}": grid_nodes.ram_shares(ratio) for ratio in grid_nodes.RATIOS},
        "nodes": nodes,
    }
    write_whole(paths.data() / "calculator" / "grid.json", json.dumps(grid, separators=(",", ":")).replace('"strewn', '\n"strewn') + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEED)
