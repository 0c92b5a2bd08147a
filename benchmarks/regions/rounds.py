"""Proves that 10,000 clients × 288 rounds are solved exactly; ``--rounds 24`` is quicker."""

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Effort, Samples, Study, check
from benchmarks.regions.instances import generate


def main() -> None:
    """Make one instance, solve it, and print figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=288)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600, help="time limit")
    parser.add_argument("--check", action="store_true", help="re-check the proof, untimed")
    options = parser.parse_args()
    warm_up()
    samples = generate(200, options.clients, options.seed).rounds(options.rounds, options.seed)
    begun = time.process_time()
    study = Study(samples)
    ready = time.process_time()
    answer = study.recommend(options.k, None, Effort(options.seconds, runners_up=0))
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    state = "proven" if answer.proven else f"open, gap {answer.gap:.3%}"
    wrong = check(samples, answer) if options.check else []
    print(
        f"200 regions x {options.clients} clients x {options.rounds} rounds, k {options.k}: {state}"
        f", {answer.value:.4f} ms; CPU s: {ready - begun:.1f} to whole numbers, "
        f"{done - ready:.1f} to solve; {answer.nodes} boxes divided; peak {peak:.0f} MiB",
        *wrong,
    )


def warm_up() -> None:
    """Load every compiled loop, so that loading is not timed."""
    Study(generate(60, 500, 1).samples).curve((3, 8))
    values = np.ones((3, 30_000, 2))
    values[1:] += np.arange(60_000).reshape(30_000, 2) % 7
    names = tuple(map(str, range(30_000)))
    Study(Samples(("a", "b", "c"), names, ("1", "2"), values)).recommend(2)
    # So many client-rounds that samples are not converted.
    Study(generate(8, 30_000, 1).rounds(14, 1)).recommend(3)


if __name__ == "__main__":
    main()
