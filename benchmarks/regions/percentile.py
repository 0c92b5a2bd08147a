"""Proves that the best 95th percentile for 200 regions, 2,000 clients, k to 5 is found exactly."""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Effort, Objective, Study
from benchmarks.regions.instances import SEEDS, generate


def main() -> None:
    """Solve three instances for each k and print CPU seconds."""
    Study(generate(60, 500, 1).samples, Objective(percentile=95)).curve((3, 5))
    seconds = []
    for seed in SEEDS:
        study = Study(generate(200, 2000, seed).samples, Objective(percentile=95))
        for k in range(1, 6):
            begun = time.process_time()
            answer = study.recommend(k, None, Effort(runners_up=0))
            seconds.append(time.process_time() - begun)
            state = "proven" if answer.proven else f"gap {answer.gap:.3%}"
            print(f"seed {seed} k {k}: p95 {answer.value:.2f} ms {state} {seconds[-1]:.2f} s")
    print(f"CPU s: p95 {np.percentile(seconds, 95):.2f}, worst {max(seconds):.2f}")


if __name__ == "__main__":
    main()
