"""Tenants of one host: CPU weight and cap, a shared disk, a shaped link (Barker and Shenoy, 4, 5).

Simulated; ``benchmarks/simulator/interference`` measures the same with the kernel of a machine.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Parameter,
    Published,
    Result,
    Run,
    result_bars,
    run_seeds,
    summarise_all,
)
from simulator.hypervisor.cpu_shares import share_cpu
from simulator.packets.networks import Network, graph_network
from simulator.packets.settings import PortSettings, TokenBucket, Transport
from simulator.packets.settings import Run as PacketRun
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import ENDLESS_BYTES, Flows, create_flows, join_flows

Floats = NDArray[np.float64]
CLIENT, SERVER, NEIGHBOUR = 0, 1, 2
SETUPS = ("idle", "unshaped", "dedicated", "shared")
LABELS = ("No neighbour", "Not shaped", "Dedicated halves", "Shared halves")
WEIGHTS, CAPS = (1, 2, 10), (10, 40, 70, 90)
PACKET_BYTES, QUEUE_PACKETS, BUCKET_BYTES = 1514, 1000, 15_000
# A ping is answered within that, or counts as a timeout; states of the game are sent in between.
PING_WAIT_MS, PING_BYTES, STATE_BYTES, STATE_GAP_S = 500.0, 64, 100, 1 / 60
STREAMS, STREAM_BPS, STREAM_BYTES = (4, 8), 1e6, 1316
PUBLISHED = {
    **{f"cpu_share_cap_{cap}": Published(cap, absolute=3) for cap in CAPS},
    "cpu_time_beside_busy": Published(2.0, relative=0.15),
    "disk_throughput_change": Published(-65, absolute=15),
    "disk_latency_change": Published(75, absolute=40),
    "game_unshaped_timeouts": Published(100, absolute=5),
    "game_dedicated_timeouts": Published(6.7, range=(0, 10)),
    "game_shared_timeouts": Published(1.7, range=(0, 10)),
    # The order of the two, 23.6 and 33.9 ms.
    "game_shared_minus_dedicated": Published(10.3, range=(0, 50)),
}


def _simulate_cpu(c: Conditions) -> dict[str, float]:
    """Ratios of CPU time by weight, shares in per cent by cap, and the cost of a busy neighbour."""
    n = c.integer("accountings")
    found = {}
    for weight in WEIGHTS:
        heavy, light = share_cpu((weight, 1), (None, None), n)
        found[f"cpu_ratio_weight_{weight}"] = float(heavy / light)
    for cap in CAPS:
        both = share_cpu((1, 1), (cap / 100, 1 - cap / 100), n)
        found[f"cpu_share_cap_{cap}"] = 100 * float(both[0])
    found["cpu_time_beside_busy"] = 1 / float(share_cpu((1, 1), (None, None), n)[0])
    return found


def _simulate_disk(c: Conditions) -> dict[str, float]:
    """Changes in per cent beside a neighbour that is served in turn, each with a seek."""
    batch_ms, seek_ms = c.number("batch_ms"), c.number("seek_ms")
    turn_ms = batch_ms + seek_ms
    return {
        "disk_throughput_change": 100 * (batch_ms / (2 * turn_ms) - 1),
        # A small request finds the neighbour's batch half done.
        "disk_latency_change": 100 * (turn_ms / 2) / seek_ms,
    }


def _link(kbps: float) -> Network:
    """The client behind the link; both VMs reach it much faster than it sends."""
    cables = [(CLIENT, 3, 1e3 * kbps, 2e-4), (SERVER, 3, 1e9, 1e-5), (NEIGHBOUR, 3, 1e9, 1e-5)]
    return graph_network(3, cables)


def _simulate_link(
    c: Conditions, setup: str, kbps: float, own: Flows, seconds: float, seed: int
) -> Floats:
    """When the server's packets arrived after they were sent, in ms; NaN for those that did not."""
    ports = PortSettings(queue_bytes=QUEUE_PACKETS * PACKET_BYTES)
    flows = [own]
    if setup == "dedicated":
        # Who may not borrow has a link of half the rate.
        kbps /= 2
    elif setup != "idle":
        n = c.integer("connections")
        flows.append(create_flows(np.zeros(n), NEIGHBOUR, CLIENT, ENDLESS_BYTES, transport=1))
    if setup == "shared":
        bucket = TokenBucket(1e3 * kbps / 2, BUCKET_BYTES, 1e-6)
        ports = PortSettings(ports.queue_bytes, priorities=2, tagging=bucket)
    bulk = Transport("cubic", max_window=1024, minimum_timeout_s=0.2, initial_timeout_s=1)
    found = simulate_network(
        _link(kbps),
        join_flows(flows),
        [Transport("open-loop"), bulk],
        ports,
        PacketRun(seed=seed, duration_s=seconds + 1, header_bytes=54),
    )
    return 1e3 * found.completion_s[: len(own)]


def _simulate_game(c: Conditions, setup: str, seed: int) -> dict[str, float]:
    random, seconds = np.random.default_rng(seed), c.number("seconds")
    pings = create_flows(
        np.sort(random.uniform(1, seconds, round(20 * seconds))), SERVER, CLIENT, PING_BYTES
    )
    states = create_flows(np.arange(0, seconds, STATE_GAP_S), SERVER, CLIENT, STATE_BYTES)
    both = join_flows([pings, states])
    times_ms = _simulate_link(c, setup, c.number("game_kbps"), both, seconds, seed)[: len(pings)]
    answered = times_ms[times_ms <= PING_WAIT_MS]
    found = {"timeouts": 100 * (1 - len(answered) / len(times_ms))}
    if len(answered):
        found |= {"mean": float(answered.mean()), "deviation": float(answered.std())}
    return found


def _simulate_streams(c: Conditions, setup: str, streams: int, seed: int) -> dict[str, float]:
    seconds, gap_s = c.number("seconds"), 8 * STREAM_BYTES / STREAM_BPS
    n = int(seconds / gap_s)
    starts = np.repeat(gap_s * np.arange(n), streams)
    packets = create_flows(starts, SERVER, CLIENT, STREAM_BYTES)
    times_ms = _simulate_link(c, setup, c.number("stream_kbps"), packets, seconds, seed)
    arrived_s = starts + times_ms / 1e3
    within = (arrived_s > 1) & (arrived_s <= seconds)
    return {
        "rate": 8e-6 * STREAM_BYTES * float(within.sum()) / (seconds - 1),
        "jitter": find_jitter(times_ms[::streams]),
    }


def find_jitter(transit: Floats) -> float:
    """The jitter of RFC 3550, section 6.4.1, after all packets that arrived."""
    jitter = 0.0
    for step in np.abs(np.diff(transit[np.isfinite(transit)])).tolist():
        jitter += (step - jitter) / 16
    return jitter


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed, and their number."""
    found = _simulate_cpu(c) | _simulate_disk(c)
    for setup in SETUPS:
        for name, value in _simulate_game(c, setup, seed).items():
            found[f"game_{setup}_{name}"] = value
        for streams in STREAMS:
            for name, value in _simulate_streams(c, setup, streams, seed).items():
                found[f"streams_{streams}_{setup}_{name}"] = value
    found["game_shared_minus_dedicated"] = found["game_shared_mean"] - found["game_dedicated_mean"]
    return found, len(found)


def run(conditions: Conditions) -> Run:
    """CPU, disk, game and streams, over independent seeds."""
    rows, n_figures = run_seeds(conditions, run_once)
    names = [name for name in rows[0] if all(name in row for row in rows)]
    results = summarise_all(rows, {name: _unit(name) for name in names}, PUBLISHED)
    return Run(results, n_figures, _charts({row.name: row for row in results}))


def _charts(rows: Mapping[str, Result]) -> tuple[Mapping[str, object], ...]:
    pairs = list(zip(LABELS, SETUPS, strict=True))
    return (
        result_bars(
            "Pings of the game that time out",
            {text: rows[f"game_{setup}_timeouts"] for text, setup in pairs},
        ),
        result_bars(
            "Rate of eight streams of 1 Mb/s",
            {text: rows[f"streams_8_{setup}_rate"] for text, setup in pairs},
        ),
    )


def _unit(name: str) -> str:
    if name.startswith(("cpu_ratio", "cpu_time")):
        return ""
    if name.endswith(("change", "timeouts")) or name.startswith("cpu_share"):
        return "%"
    return "Mb/s" if name.endswith("rate") else "ms"


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Beside a neighbour’s transfers {v['game_unshaped_timeouts']:.0f}\u00a0% of a game’s "
        f"pings time out; with halves of the link they take {v['game_dedicated_mean']:.1f}\u00a0ms "
        f"(dedicated) or {v['game_shared_mean']:.1f}\u00a0ms (shared)"
    )


EXPERIMENT = Experiment(
    id="interference",
    title="Tenants of one host",
    question="What do a neighbour’s CPU, disk and network cost a game or a stream?",
    source="Barker and Shenoy, Latency-sensitive Applications in the Cloud, sections 4 and 5",
    parameters=(
        Parameter("seconds", 10.0, "simulated time of each setup", unit="s", low=2, high=120),
        Parameter("accountings", 3000, "accountings of the CPU scheduler", low=100, high=100_000),
        Parameter("batch_ms", 8.0, "disk: time of a batch", unit="ms", low=0.01, high=1000),
        Parameter("seek_ms", 8.0, "disk: time to seek", unit="ms", low=0.01, high=100),
        Parameter(
            "game_kbps", 1000.0, "link of the game server", unit="kb/s", low=100, high=1_000_000
        ),
        Parameter(
            "stream_kbps",
            10_000.0,
            "link of the streaming server",
            unit="kb/s",
            low=1000,
            high=1_000_000,
        ),
        Parameter("connections", 40, "TCP connections of the neighbour", low=1, high=200),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "Caps and classes isolate; weights and a shared disk only divide. Without classes on the "
        "link a neighbour’s transfers fill its queue, and a game is unplayable."
    ),
    leaves_out="Caches, several cores, the scheduler of the disk, the CPU time of packets.",
    headline=headline,
)
