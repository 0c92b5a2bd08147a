"""Proves how often zones are found, and how often wrongly, in regions with known truth.

Every scenario is made again from several seeds; coverage, error and recovered labels are those of
all of them together.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.zones.scoring import permutations, scores
from benchmarks.zones.worlds import World, generate
from cartography.zones.inference import infer_zones

# IMC'13's regions: targets, zones with probes, and the share that stayed unknown by latency. The
# round trips are those of its feasibility study; Ireland's zones are so close that a fixed
# threshold was wrong in a quarter of the cases.
_SAME, _FAR = (0.4, 0.6), (1.4, 2.0)
PAPER = [
    World(
        "us-east-1",
        5,
        accounts=(900, 600, 400, 200),
        targets=34_194,
        probed_zones=3,
        own_ms=_SAME,
        between_ms=_FAR,
        unresponsive=0.12,
        sampled_prefixes=0.65,
        skew=(0.37, 0.09, 0.34, 0.1, 0.1),
    ),
    World(
        "us-west-1",
        2,
        accounts=(150, 100, 60),
        targets=3_663,
        own_ms=_SAME,
        between_ms=_FAR,
        unresponsive=0.325,
        skew=(0.43, 0.57),
    ),
    World(
        "us-west-2",
        3,
        accounts=(250, 150, 80),
        targets=1_869,
        own_ms=_SAME,
        between_ms=_FAR,
        unresponsive=0.101,
        skew=(0.36, 0.45, 0.19),
    ),
    World(
        "eu-west-1",
        3,
        accounts=(350, 250, 150),
        targets=8_581,
        own_ms=_SAME,
        between_ms=(0.5, 0.9),
        unresponsive=0.182,
        skew=(0.27, 0.3, 0.43),
    ),
    World(
        "ap-northeast-1",
        2,
        accounts=(200, 120, 60),
        targets=2_558,
        own_ms=_SAME,
        between_ms=_FAR,
        unresponsive=0.507,
        skew=(0.9, 0.1),
    ),
    World(
        "ap-southeast-1",
        2,
        accounts=(200, 100, 50),
        targets=2_296,
        own_ms=_SAME,
        between_ms=_FAR,
        unresponsive=0.135,
    ),
    World(
        "ap-southeast-2",
        2,
        accounts=(100, 60),
        targets=333,
        own_ms=_SAME,
        between_ms=_FAR,
        unresponsive=0.105,
    ),
    World(
        "sa-east-1",
        2,
        accounts=(120, 80),
        targets=701,
        own_ms=_SAME,
        between_ms=_FAR,
        unresponsive=0.121,
        skew=(0.61, 0.39),
    ),
]
_MODERN = {"own_ms": (0.05, 0.25), "between_ms": (0.25, 3.4), "calibrations": 60}
SCENARIOS: dict[str, list[World]] = {
    "the paper's eight regions": PAPER,
    "modern, proximity for 37 %": [World(**_MODERN, sampled_prefixes=0.2)],
    "modern, no proximity": [World(**_MODERN, sampled_prefixes=0.05, accounts=(60,))],
    "modern, 6 zones, probes in 3": [
        World(**_MODERN, zones=6, probed_zones=3, sampled_prefixes=0.2)
    ],
    "modern, 5 zones of 3 buildings, 20 % late hosts": [
        World(**_MODERN, zones=5, buildings=3, slow_hosts=0.2, sampled_prefixes=0.2)
    ],
    "modern, 18 calibrating instances": [
        World(**{**_MODERN, "calibrations": 18}, sampled_prefixes=0.05, accounts=(18,))
    ],
    "probes of 3 accounts, no own instances": [
        World(accounts=(0, 0, 0), probe_accounts=3, targets=1000)
    ],
    "modern, probes of 3 accounts, no own instances": [
        World(**{**_MODERN, "calibrations": 0}, accounts=(0, 0, 0), probe_accounts=3, targets=1000)
    ],
    "5 zones of which accounts have probes in 4, no own instances": [
        World(zones=5, probed_zones=4, accounts=(0,) * 4, probe_accounts=4, targets=1000)
    ],
    "5 % wrong labels": [World(wrong_labels=0.05)],
    "20 % wrong labels": [World(wrong_labels=0.2)],
    "30 % shared /16": [World(shared_prefixes=0.3)],
    "60 % shared /16": [World(shared_prefixes=0.6)],
    "90 % shared /16": [World(shared_prefixes=0.9)],
    "30 % shared /16, 5 % wrong labels": [World(shared_prefixes=0.3, wrong_labels=0.05)],
    "zones of 90, 7 and 3 %, 10 % wrong labels": [World(skew=(0.9, 0.07, 0.03), wrong_labels=0.1)],
    "the same, and 20 % shared /16": [
        World(skew=(0.9, 0.07, 0.03), wrong_labels=0.1, shared_prefixes=0.2)
    ],
    "7 accounts, the smallest of 2 instances": [
        World(accounts=(40, 8, 5, 4, 3, 3, 2), sampled_prefixes=0.3)
    ],
    "16 zones": [World(zones=16, prefixes_per_zone=10, accounts=(800, 400, 300), targets=800)],
}


class Outcome(NamedTuple):
    """Sums over all regions and seeds."""

    labels: tuple[int, int, int]  # right, wrong, open
    targets: int
    found: dict[str, tuple[float, float]]  # answered, wrong, by method
    cpu_s: float


def run(worlds: Sequence[World], seeds: Sequence[int]) -> Outcome:
    """All regions of a scenario from all seeds."""
    labels, targets, cpu_s = (0, 0, 0), 0, 0.0
    found = {"proximity": (0.0, 0.0), "latency": (0.0, 0.0), "combined": (0.0, 0.0)}
    for seed in seeds:
        for world in worlds:
            observations, truth = generate(world, seed)
            start = time.process_time()
            (result,) = infer_zones(observations)
            cpu_s += time.process_time() - start
            right, wrong, left = permutations(result, truth)
            labels = (labels[0] + right, labels[1] + wrong, labels[2] + left)
            for score in scores(result, truth):
                answered, mistaken = found[score.method]
                n = score.targets
                found[score.method] = (answered + score.coverage * n, mistaken + score.wrong * n)
            targets += world.targets
    return Outcome(labels, targets, found, cpu_s)


def line_of(name: str, outcome: Outcome) -> str:
    """A row of the table."""
    cells = []
    for method in ("proximity", "latency", "combined"):
        answered, wrong = outcome.found[method]
        error = wrong / answered if answered else 0.0
        cells.append(f"{answered / outcome.targets:.1%} / {error:.2%}")
    right, wrong, left = outcome.labels
    return f"| {name} | {right} / {wrong} / {left} | {' | '.join(cells)} | {outcome.cpu_s:.1f} |"


def main() -> None:
    """Print the table, one row per scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of all scenarios but the paper's")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    options = parser.parse_args()
    print("| scenario | labels right / wrong / open | proximity | latency | combined | CPU s |")
    print("|---|---|---|---|---|---|")
    for name, worlds in SCENARIOS.items():
        if options.only in name:
            seeds = range(options.first, options.first + options.seeds)
            print(line_of(name, run(worlds, seeds[:1] if worlds is PAPER else seeds)), flush=True)


if __name__ == "__main__":
    main()
