"""UDP echo (RFC 862): datagrams one at a time, each with its round-trip time, and their loss."""

import os
from dataclasses import dataclass

from core.clock import Clock
from probes.net.round_trips import measure_round_trips
from probes.net.run_cost import UDP_HEADERS, RunCost, ping_cost
from probes.net.ssrf_guard import Endpoint
from probes.net.udp_exchange import ask, repeat
from probes.records import Attempt, ProbeStatus, RoundTrips, Target

NAME = "udp-echo"
VERSION = 1
UNIT = "ms"
METRIC = ""

# Where RFC 862 puts the service.
_PORT = 7
# Fewer random octets could be guessed by a host off the path.
_LEAST_OCTETS = 8


@dataclass(frozen=True, slots=True)
class Config:
    """``octets`` of random payload per datagram; a reply after ``timeout_s`` counts as lost."""

    count: int = 20
    interval_s: float = 0.1
    octets: int = 64
    timeout_s: float = 1.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    return ping_cost(config.count, UDP_HEADERS + max(config.octets, _LEAST_OCTETS))


def run(target: Target, config: Config, clock: Clock) -> RoundTrips:
    """Exchange datagrams with an echo server; raises ``ValueError`` for invalid prefixes."""
    target = Target(target.host, target.port or _PORT, target.family)
    return measure_round_trips(
        (NAME, VERSION), target, config, clock, lambda endpoint: _measure(endpoint, config, clock)
    )


def _measure(endpoint: Endpoint, config: Config, clock: Clock) -> tuple[str, tuple[Attempt, ...]]:
    attempts = repeat(
        config.count, config.interval_s, lambda: _echo(endpoint, config, clock), clock
    )
    return "udp", attempts


def _echo(endpoint: Endpoint, config: Config, clock: Clock) -> Attempt:
    payload = os.urandom(max(config.octets, _LEAST_OCTETS))

    def classify(data: bytes) -> ProbeStatus | None:
        return ProbeStatus.OK if data == payload else None

    return ask(endpoint, payload, classify, config.timeout_s, clock)
