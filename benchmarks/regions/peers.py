"""Proves the same optimum as a facility-location library with its solver, at far less CPU.

The peer is spopt's PMedian with CBC, in a separate environment with its Python given by --peer;
model building is counted apart from solving. Our time is the whole question.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Effort, Study
from benchmarks.regions.instances import generate

PEER = """
import resource, sys, time
import numpy as np, pulp
from spopt.locate import PMedian
data = np.load(sys.argv[1])
begun = time.process_time()
model = PMedian.from_cost_matrix(data["cost"], data["weights"], p_facilities=int(sys.argv[2]))
built = time.process_time() - begun
model = model.solve(pulp.PULP_CBC_CMD(msg=False, threads=1))
children = resource.getrusage(resource.RUSAGE_CHILDREN)
value = pulp.value(model.problem.objective) / data["weights"].sum()
print(value, built, children.ru_utime + children.ru_stime)
"""


def main() -> None:
    """Solve one instance by both, and print the ratio of CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="the Python that has spopt and pulp")
    parser.add_argument("--regions", type=int, default=100)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    samples = generate(options.regions, options.clients, options.seed).samples
    Study(generate(60, 500, 1).samples).curve((3, 8))
    ours, answer = [], None
    for _ in range(5):
        begun = time.process_time()
        answer = Study(samples).recommend(options.k, None, Effort(runners_up=0))
        ours.append(time.process_time() - begun)
    assert answer is not None
    cpu_s = sorted(ours)[2]
    print(f"ours: {answer.value:.6f} ms, proven: {answer.proven}, {cpu_s:.4f} CPU s (of five)")
    if options.peer:
        value, built, solved = run_peer(options.peer, samples, options.k)
        equal = abs(value - (answer.value or 0)) < 1e-6
        print(f"spopt + CBC: {value:.6f} ms, {built:.1f} CPU s to build, {solved:.1f} to solve")
        print(f"equal optimum: {equal}; solver CPU alone: {solved / cpu_s:.0f} times ours")


def run_peer(python: str, samples: "object", k: int) -> tuple[float, float, float]:
    """Run the peer on the same costs; give its value, and CPU seconds to build and to solve."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.npz"
        np.savez(path, cost=samples.values[:, :, 0].T, weights=samples.weights)
        command = [python, "-c", PEER, str(path), str(k)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    value, built, solved = (float(word) for word in done.stdout.split()[-3:])
    return value, built, solved


if __name__ == "__main__":
    main()
