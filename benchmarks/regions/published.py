"""Proves the known optima of OR-Library's p-median and warehouse instances, each with its CPU.

Warehouses are solved without capacities: the best sum of fixed and transport costs over all k.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Effort, Samples, Study, check
from benchmarks.regions.instances import generate
from core.files import open_text


def main() -> None:
    """Solve every instance in a folder of data and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder that holds pmedian and facility-location")
    parser.add_argument("--check", action="store_true", help="re-check every proof, untimed")
    options = parser.parse_args()
    Study(generate(60, 500, 1).samples).curve((3, 8, 12))
    folder = options.data / "pmedian"
    lines = (folder / "pmedopt-odd.txt").read_text().split()
    for name, known in zip(lines[::2], lines[1::2], strict=True):
        path = next(p for p in folder.iterdir() if p.name.split(".")[0] == name)
        samples, p = read_p_median(path)
        begun = time.process_time()
        answer = Study(samples).recommend(p, None, Effort(runners_up=0))
        spent = time.process_time() - begun
        value = round((answer.value or 0) * len(samples.clients))
        wrong = check(samples, answer) if options.check else []
        print(
            f"{name:7s} n {len(samples.clients):3d} p {p:3d}: {value} (known {known}) "
            f"{'proven' if answer.proven else 'open'} {spent:.2f} s {' '.join(wrong)}",
            flush=True,
        )


def read_p_median(path: Path) -> tuple[Samples, int]:
    """Read a graph; give its shortest paths as samples, and how many nodes to choose."""
    with open_text(path) as stream:
        numbers = [int(word) for word in stream.read().split()]
    nodes, p = numbers[0], numbers[2]
    edges = np.zeros((nodes, nodes))
    for a, b, cost in zip(numbers[3::3], numbers[4::3], numbers[5::3], strict=True):
        edges[a - 1, b - 1] = edges[b - 1, a - 1] = cost
    names = tuple(map(str, range(nodes)))
    paths = shortest_path(csr_matrix(edges), method="D", directed=False)
    return Samples(names, names, ("all",), paths[:, :, None]), p


if __name__ == "__main__":
    main()
