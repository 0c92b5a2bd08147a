"""Latency of a resolver: the time until it answers one question, cached or not."""

import random
import struct
from dataclasses import dataclass

from core.clock import Clock
from probes.net.run_cost import UDP_HEADERS, RunCost, ping_cost
from probes.net.ssrf_guard import Endpoint, Refusal, admit
from probes.net.udp_exchange import ask, repeat
from probes.records import Attempt, ProbeStatus, RoundTrips, Target, status_of

NAME = "resolver"
VERSION = 1
UNIT = "ms"
METRIC = ""

_TYPES = {"A": 1, "NS": 2, "SOA": 6, "TXT": 16, "AAAA": 28}
_HEAD = struct.Struct("!HHHHHH")
_RECURSE, _REPLY, _CODE = 0x0100, 0x8000, 0x000F
# NOERROR and NXDOMAIN are answers; whatever else comes is a failure of the resolver.
_ANSWERS = (0, 3)


@dataclass(frozen=True, slots=True)
class Config:
    """``unique`` puts a random label before the name, so that no cache can answer."""

    name: str = "example.com"
    type: str = "A"
    unique: bool = False
    count: int = 3
    timeout_s: float = 2.0
    interval_s: float = 0.2
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    return ping_cost(config.count, UDP_HEADERS + 80)


def run(target: Target, config: Config, clock: Clock) -> RoundTrips:
    """Ask a resolver; raises ``ValueError`` for a name or type that is none."""
    at = clock.now().timestamp()
    target = Target(target.host, target.port or 53, target.family)
    question_of(config)
    admitted = admit(target, config.allow, config.deny)
    if isinstance(admitted, Refusal):
        return admitted.outcome(RoundTrips, (NAME, VERSION), target, at)
    attempts = repeat(config.count, config.interval_s, lambda: _ask(admitted, config, clock), clock)
    return RoundTrips(
        probe=NAME,
        version=VERSION,
        target=target,
        address=admitted.address,
        at=at,
        status=status_of(attempts),
        method="udp",
        attempts=attempts,
    )


def question_of(config: Config) -> bytes:
    """The question of a query; raises ``ValueError`` for a name or type that is none."""
    if config.type not in _TYPES:
        raise ValueError(f"the type is one of {', '.join(_TYPES)}")
    unique = [f"{random.SystemRandom().getrandbits(64):016x}"] if config.unique else []
    labels = [t.encode("ascii") for t in unique + config.name.rstrip(".").split(".")]
    if not all(0 < len(label) < 64 for label in labels) or sum(map(len, labels)) > 240:
        raise ValueError(f"{config.name!r} is not a domain name")
    name = b"".join(bytes([len(label)]) + label for label in labels)
    return name + struct.pack("!BHH", 0, _TYPES[config.type], 1)


def _ask(endpoint: Endpoint, config: Config, clock: Clock) -> Attempt:
    number, question = random.SystemRandom().getrandbits(16), question_of(config)
    query = _HEAD.pack(number, _RECURSE, 1, 0, 0, 0) + question

    def classify(data: bytes) -> ProbeStatus | None:
        return _classify_response(data, number, question)

    return ask(endpoint, query, classify, config.timeout_s, clock)


def _classify_response(data: bytes, number: int, question: bytes) -> ProbeStatus | None:
    if len(data) < _HEAD.size:
        return None
    found, flags, questions, *_ = _HEAD.unpack_from(data)
    if found != number or not flags & _REPLY:
        return None
    if questions != 1 or data[12 : 12 + len(question)].lower() != question.lower():
        return ProbeStatus.MALFORMED
    return ProbeStatus.OK if flags & _CODE in _ANSWERS else ProbeStatus.NETWORK
