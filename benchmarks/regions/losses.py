"""Proves sets that survive the loss of one region: the best worst case, and all clients near.

100 regions, 5,000 clients; each certificate is checked apart, and both are timed.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Constraints, Effort, Study, check, warm_up
from benchmarks.regions.instances import SEEDS, generate

QUESTIONS = {
    "worst loss": Constraints(survive_loss=True),
    "all within 200 ms": Constraints(after_loss_ms=200.0),
    "99 % within 200 ms": Constraints(after_loss_ms=200.0, after_loss_share=0.01),
    "95 % within 150 ms": Constraints(after_loss_ms=150.0, after_loss_share=0.05),
}


def main() -> None:
    """Solve each question for k 2 to the largest asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=5, help="the largest k")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of clock for each")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--least", type=int, default=2, help="the smallest k")
    options = parser.parse_args()
    warm_up()
    for seed in options.seeds:
        study = Study(generate(100, 5000, seed).samples)
        for name, asked in QUESTIONS.items():
            for k in range(options.least, options.most + 1):
                print(f"seed {seed} {name}, k {k}: {solve(study, asked, k, options)}", flush=True)


def solve(study: Study, asked: Constraints, k: int, options: argparse.Namespace) -> str:
    """Give the value, whether it is proven, and the CPU of solving and of checking."""
    begun = time.process_time()
    answer = study.recommend(k, asked, Effort(options.limit, runners_up=0))
    solved = time.process_time()
    if answer.value is None:
        return f"{answer.reason}, {solved - begun:.2f} s"
    wrong = check(study.samples, answer, study.objective, asked)
    checked = time.process_time()
    state = "proven" if answer.proven else f"gap {answer.gap:.1%}"
    spent = f"{solved - begun:.2f} s to solve, {checked - solved:.2f} s to check"
    return f"{answer.value:.3f} ms, {state}, {spent} {' '.join(wrong)}"


if __name__ == "__main__":
    main()
