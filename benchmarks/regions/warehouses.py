"""Proves that OR-Library's warehouse instances are met, their capacities ignored.

A fixed cost per site is not the core's affair; where all sites but free ones cost the same, the
best of all sizes plus that cost is the optimum of facility location.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Constraints, Effort, Samples, Study, check

# As published with the instances, capacities ignored.
KNOWN = {"cap61": 932_615.750, "cap71": 932_615.750, "cap82": 854_704.200}


def main() -> None:
    """Solve each instance of a folder and print its cost beside the known one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for path in sorted(parser.parse_args().folder.glob("cap*")):
        begun = time.process_time()
        cost, sites, proven, faults = solve(path)
        known = KNOWN.get(path.partial)
        spent = time.process_time() - begun
        print(
            f"{path.stem}: {cost:.3f} with {sites} sites, known {known}, "
            f"{'proven' if proven else 'open'}, faults {faults}, {spent:.2f} s"
        )


def solve(path: Path) -> tuple[float, int, bool, int]:
    """Give the least cost, how many sites it takes, whether it is proven, and what is wrong."""
    fixed, costs = read(path)
    names = tuple(str(j) for j in range(len(fixed)))
    clients = tuple(str(i) for i in range(costs.shape[1]))
    samples = Samples(names, clients, ("all",), costs[:, :, None])
    free = frozenset(names[j] for j in np.flatnonzero(fixed == 0))
    price = float(fixed.max())
    if not np.isin(fixed, (0.0, price)).all():
        raise SystemExit(f"{path.name}: sites differ in their fixed costs")
    study, limits = Study(samples), Constraints(include=free)
    found, faults, proven = [], 0, True
    for k in range(max(len(free), 1), len(names) + 1):
        answer = study.recommend(k, limits, Effort(runners_up=0))
        faults += len(check(samples, answer, None, limits))
        proven &= answer.proven
        if answer.value is not None:
            # Values of five decimals are rounded in the search; what is printed is not.
            members = [names.index(name) for name in answer.regions]
            whole = float(costs[members].min(axis=0).sum())
            found.append((whole + price * (k - len(free)), k))
    cost, sites = min(found)
    return cost, sites, proven, faults


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Give fixed costs by site, and what a site costs each customer."""
    numbers = path.read_text().split()
    sites, customers = int(numbers[0]), int(numbers[1])
    body = iter(numbers[2:])
    fixed = np.array([(next(body), next(body))[1] for _ in range(sites)], float)
    rows = []
    for _ in range(customers):
        next(body)  # demand, which the costs hold already
        rows.append([float(next(body)) for _ in range(sites)])
    return fixed, np.array(rows).T


if __name__ == "__main__":
    main()
