"""Compare the calculator with simulations of random workloads of LEAST to MOST pages: `check_grid.py [POINTS] [SEED] [MOST] [LEAST]`."""

import sys
from datetime import date
from math import exp, log

import numpy as np

from grid_nodes import LEAST_RAM, RATIOS, SKEWS, simulate
from tierwise.calculator import grid
from tierwise.calculator.answer import Solver, Synthetic
from tierwise.calculator.grid import Counted, Point
from tierwise.calculator.market import listed, read_market
from tierwise.calculator.shape import REFERENCE_ROWS, Shape, equivalent_skew, rows_of
from tierwise.core.vocabulary import Layout
from tierwise.costs.book import load_book

SEED, MEASURED_PAGES = 2026, 1_000_000


class Direct(Point):
    """The counts of one workload, simulated at its own size; every cache that is requested was simulated in the same pass."""

    simulated: dict[int, Counted]

    def counts(self, ram_pages: float) -> Counted:
        return self.simulated[int(ram_pages)]


def main(points: int, seed: int, most_pages: int, least_pages: int) -> None:
    rng = np.random.default_rng(seed)
    book = load_book(date(2026, 11, 28))
    markets = [read_market(name, book) for name in listed()]
    errors, same, others, shapes = [], 0, [], []
    for number in range(points):
        pages = int(exp(rng.uniform(log(least_pages), log(most_pages))))
        ratio, skew = exp(rng.uniform(log(RATIOS[0]), log(RATIOS[-1]))), rng.choice([0.0, rng.uniform(0, SKEWS[-1])])
        table_pages = int(pages / (1 + ratio))
        ratio = (pages - table_pages) / table_pages
        layout, writes = list(Layout)[rng.integers(3)], float(rng.choice([0.0, rng.uniform(0, 1)]))
        own = float(equivalent_skew(skew, REFERENCE_ROWS, rows_of(pages - table_pages, ratio)))
        ram = int(pages * exp(rng.uniform(log(LEAST_RAM), 0)) + 1)
        workload = Synthetic(
            table_pages=table_pages,
            index_pages=pages - table_pages,
            ram_pages=ram,
            requests_s=float(exp(rng.uniform(log(10), log(20000)))),
            writes=writes,
            skew=own,
            layout=layout,
            clients=int(rng.integers(1, 65)),
        )
        try:
            place = grid.point(table_pages, pages - table_pages, skew=own, layout=layout, writes=writes)
        except Exception as error:  # at the edge of the grid
            print(error)
            continue
        market = markets[rng.integers(len(markets))]
        shape = Shape(ratio, skew, layout)
        measured = max(3, MEASURED_PAGES // pages)
        found = simulate(
            shape, pages, [writes] if writes else [], [ram], warm=measured if writes else 0, measured=measured, seed=seed + number
        )
        backs = writes * found.write_backs[0][0] * found.table_reads[0] if writes else 0.0
        direct = Direct(place.nodes, place.sizes, place.writes, place.share, place.pages)
        counted = Counted(float(found.table_reads[0]), float(found.index_reads[0]), float(backs))
        others_of = dict.fromkeys(Solver(workload, market, place).rams, Counted(0, 0, 0))  # which a workload with a given RAM does not use
        object.__setattr__(direct, "simulated", {**others_of, ram: counted})
        solvers = Solver(workload, market, place), Solver(workload, market, direct)
        ours, theirs = (solver.best(workload.requests_s) for solver in solvers)
        key = [choice and (choice.table, choice.index, choice.log) for choice in (ours, theirs)]
        same += key[0] == key[1]
        if key[0] != key[1] and ours and theirs:
            forced = solvers[1].cost(ours, workload.requests_s, "each")
            others.append(forced / theirs.cost - 1)
        first = next(iter(market.devices))
        placed = [market.devices[name].times for name in key[1] or (first, first, first)]
        times = [solver.time_s(solver.counts[ram], placed) for solver in solvers]
        errors.append(abs(times[0] / times[1] - 1) if times[1] > 0 else abs(times[0]))
        shapes.append((errors[-1], pages, round(ratio, 3), round(float(skew), 3), str(layout), round(writes, 2), round(ram / pages, 4)))
        if number % 10 == 9:
            print(number + 1, np.round(np.percentile(errors, [50, 95, 100]), 4).tolist(), same, file=sys.stderr)
    low, high, most = np.percentile(errors, [50, 95, 100])
    print(f"{len(errors)} points, seed {seed}: error of the time: median {low:.2%}, 95 % {high:.2%}, largest {most:.2%}")
    print(f"same cheapest placement: {same} of {len(errors)}; where it differs, the cost differs by at most {max(others, default=0):.2%}")
    for line in sorted(shapes, reverse=True)[:15]:
        print(*line)


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*[*given, *(100, SEED, 2**17, grid.LEAST_PAGES)[len(given) :]])
