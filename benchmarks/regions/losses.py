"""Shows how far sets that survive the loss of one region are proven: 100 regions, 5,000 clients."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.regions import Constraints, Effort, Study, check, warm_up
from benchmarks.regions.instances import SEEDS, generate


def main() -> None:
    """Solve k 2 to 5 for three seeds, ten seconds each."""
    warm_up()
    asked = Constraints(survive_loss=True)
    for seed in SEEDS:
        samples = generate(100, 5000, seed).samples
        study = Study(samples)
        for k in range(2, 6):
            begun = time.process_time()
            answer = study.recommend(k, asked, Effort(10.0, runners_up=0))
            spent = time.process_time() - begun
            state = "proven" if answer.proven else f"gap {answer.gap:.1%}"
            wrong = check(samples, answer, None, asked)
            print(
                f"seed {seed} k {k}: {answer.value:8.3f} ms after the worst loss, {state}, "
                f"{spent:.2f} s {' '.join(wrong)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
