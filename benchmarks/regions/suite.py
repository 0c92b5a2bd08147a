"""Proves that 54 geographic instances are solved to proven optimality, at what CPU and memory.

Time is CPU of the whole question from samples in memory to the answer, compiled loops loaded.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Effort, Study, check
from benchmarks.regions.instances import KS, SEEDS, SIZES, generate


def main() -> None:
    """Run the suite and print one line per instance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runners-up", type=int, default=0, help="prove as many next-best sets")
    parser.add_argument("--check", action="store_true", help="re-check every proof, untimed")
    options = parser.parse_args()
    Study(generate(60, 500, 1).samples).curve((3, 8))
    seconds, proven = [], 0
    for regions, clients in SIZES:
        for seed in SEEDS:
            samples = generate(regions, clients, seed).samples
            begun = time.process_time()
            study = Study(samples)
            ready = time.process_time() - begun
            for k in KS:
                begun = time.process_time()
                answer = study.recommend(k, None, Effort(runners_up=options.runners_up))
                spent = ready + time.process_time() - begun
                seconds.append(spent)
                proven += answer.proven
                wrong = check(samples, answer) if options.check else []
                print(
                    f"{regions}x{clients} seed {seed} k {k:2d} {answer.value:9.4f} ms "
                    f"{'proven' if answer.proven else f'gap {answer.gap:.4%}'} {spent:6.3f} s "
                    f"{answer.nodes:4d} boxes divided {' '.join(wrong)}",
                    flush=True,
                )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds.sort()
    print(
        f"{proven} of {len(seconds)} proven; CPU s: worst {seconds[-1]:.2f}, "
        f"median {seconds[len(seconds) // 2]:.2f}, sum {sum(seconds):.1f}; peak {peak:.0f} MiB"
    )


if __name__ == "__main__":
    main()
