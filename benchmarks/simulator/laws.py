"""Queueing laws with 10**7 packets each: the packet simulator beside closed forms, within 1 %.

``python -m benchmarks.simulator.laws [--seeds N]``: mean waits of M/M/1, M/D/1 and M/G/1 queues and
of two priorities, each from N runs of 10**6 packets. Ends with 1 where one is further away.
"""

import argparse
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simulator.packets.networks import graph_network
from simulator.packets.results import FlowResults
from simulator.packets.settings import PortSettings, Run, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import create_flows

PACKETS = 1_000_000
# 12,500 bytes last 10 us at 10 Gb/s; large packets, so that whole bytes do not matter.
MEAN_BYTES, RATE_BPS, SERVICE_S = 12_500, 10e9, 1e-5
TOLERANCE = 0.01
Sizes = NDArray[np.int64]


def draw_sizes(law: str, random: np.random.Generator) -> Sizes:
    """Sizes with the mean: exponential, constant, or of two kinds (nine in ten are small)."""
    if law == "M/D/1":
        return np.full(PACKETS, MEAN_BYTES)
    if law == "M/G/1":
        return np.where(random.random(PACKETS) < 0.9, 2_500, 102_500)
    return np.maximum(np.rint(random.exponential(MEAN_BYTES, PACKETS)), 1).astype(np.int64)


def simulate(law: str, load: float, seed: int, upper: float) -> tuple[FlowResults, Sizes, Sizes]:
    """One run: the results, sizes and priorities of its packets."""
    random = np.random.default_rng([seed, 17])
    sizes = draw_sizes(law, random)
    starts = np.cumsum(random.exponential(SERVICE_S / load, PACKETS))
    flows = create_flows(starts, 0, 1, sizes)
    flows.priorities[:] = random.random(PACKETS) < upper
    ports = PortSettings(queue_bytes=None, priorities=2 if upper else 1, host_priorities=True)
    run = Run(seed=seed, segment_bytes=1_000_000, header_bytes=0)
    network = graph_network(2, [(0, 1, RATE_BPS, 0.0)])
    result = simulate_network(network, flows, Transport("open-loop"), ports, run)
    return result, sizes, flows.priorities.astype(np.int64)


def expected_wait(law: str, load: float) -> float:
    """Pollaczek and Khinchine."""
    second = {"M/M/1": 2.0, "M/D/1": 1.0, "M/G/1": (0.9 * 0.2**2 + 0.1 * 8.2**2)}[law]
    return load * second / 2 / (1 - load) * SERVICE_S


def measure(seeds: int) -> Iterator[tuple[str, float, float]]:
    """Each law as (name, measured, expected) in seconds."""
    for law in ("M/M/1", "M/D/1", "M/G/1"):
        for load in (0.5, 0.8):
            waits = [simulate(law, load, seed, 0)[0].links.wait_s[0] for seed in range(seeds)]
            yield f"{law} load {load}", float(np.mean(waits)), expected_wait(law, load)
    yield from measure_priorities(seeds, 0.8, 0.4)


def measure_priorities(seeds: int, load: float, upper: float) -> Iterator[tuple[str, float, float]]:
    """Cobham: two non-preemptive priorities with exponential sizes."""
    waits: dict[int, list[float]] = {0: [], 1: []}
    for seed in range(seeds):
        result, sizes, priorities = simulate("M/M/1", load, seed, upper)
        wait_s = result.completion_s - sizes * 8 / RATE_BPS
        for level, found in waits.items():
            found.append(float(wait_s[priorities == level].mean()))
    residual, first = load * SERVICE_S, 1 - load * upper
    expected = {0: residual / first / (1 - load), 1: residual / first}
    for level, name in enumerate(("lower", "upper")):
        yield f"M/M/1 load {load}, {name} priority", float(np.mean(waits[level])), expected[level]


def main() -> int:
    """Print each law beside its closed form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    worst = 0.0
    for name, measured, expected in measure(parser.parse_args().seeds):
        error = measured / expected - 1
        worst = max(worst, abs(error))
        print(f"{name}: {measured * 1e6:.4f} us, expected {expected * 1e6:.4f} us, {error:+.2%}")
    print(f"worst {worst:.2%} (goal {TOLERANCE:.0%})")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
