"""The bulk resolver's CPU time per name beside dnspython's, on one testbed server."""

import sys
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dns.message
import dns.query

from crawlers.engine import Engine, EngineConfig, Question
from crawlers.servers import Server
from testbed.server import running
from testbed.worlds import build_world, load_world

NAMES = 20_000
PEER_NAMES = 2_000


def measure_engine(names: list[str], port: int) -> float:
    """Client CPU microseconds per name."""
    with Engine([Server("127.0.0.1", port)], EngineConfig()) as engine:
        started = time.process_time()
        count = sum(1 for _ in engine.resolve(Question(name) for name in names))
        return (time.process_time() - started) / count * 1e6


def measure_dnspython(names: list[str], port: int) -> float:
    """Client CPU microseconds per name, one question at a time."""
    started = time.process_time()
    for name in names:
        query = dns.message.make_query(name, "A")
        dns.query.udp(query, "127.0.0.1", port=port, timeout=5, ignore_unexpected=True)
    return (time.process_time() - started) / len(names) * 1e6


def main() -> None:
    """Five interleaved runs, medians and the ratio."""
    world = build_world(load_world("imc2013"), scale=Fraction(1, 100))
    zones = [z for z in world.zones if not getattr(z, "fault", "")]
    names = [f"no-such-name-{i}.{zones[i % len(zones)].domain}" for i in range(NAMES)]
    with running(world) as server:
        port = server.port
        ours, theirs = [], []
        for _ in range(5):
            ours.append(measure_engine(names, port))
            theirs.append(measure_dnspython(names[:PEER_NAMES], port))
    a, b = sorted(ours)[2], sorted(theirs)[2]
    print(
        f"engine {a:.1f} us CPU per name, dnspython {b:.1f}: {b / a:.1f} times less (medians of 5)"
    )


if __name__ == "__main__":
    main()
