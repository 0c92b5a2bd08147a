"""Queries as game browsers send them, at a steady pace: latency, and loss by time-out."""

from dataclasses import dataclass

from core.clock import Clock
from probes.net.run_cost import UDP_HEADERS, RunCost, ping_cost
from probes.net.ssrf_guard import Refusal, admit
from probes.net.udp_exchange import ask, repeat
from probes.records import ProbeStatus, RoundTrips, Target, status_of

NAME = "game-query"
VERSION = 1
UNIT = "ms"
METRIC = ""

_MARK = b"\xff\xff\xff\xff"
_QUESTIONS = {
    "quake3": _MARK + b"getstatus\n",
    "source": _MARK + b"TSource Engine Query\0",
}
# A server of the second kind may first answer with a challenge: an answer for the clock as well.
_ANSWERS = {"quake3": (b"statusResponse",), "source": (b"I", b"A", b"m")}
_PORTS = {"quake3": 27_960, "source": 27_015}


@dataclass(frozen=True, slots=True)
class Config:
    """Sixty queries, one a second, as in the study of game servers; ``style`` names the game."""

    style: str = "quake3"
    count: int = 60
    interval_s: float = 1.0
    timeout_s: float = 1.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    return ping_cost(config.count, UDP_HEADERS + 200)


def run(target: Target, config: Config, clock: Clock) -> RoundTrips:
    """Query a game server; raises ``ValueError`` for a style that is none."""
    if config.style not in _QUESTIONS:
        raise ValueError(f"the style is one of {', '.join(_QUESTIONS)}")
    at = clock.now().timestamp()
    target = Target(target.host, target.port or _PORTS[config.style], target.family)
    admitted = admit(target, config.allow, config.deny)
    if isinstance(admitted, Refusal):
        return admitted.outcome(RoundTrips, (NAME, VERSION), target, at)

    def classify(data: bytes) -> ProbeStatus:
        answered = data.startswith(tuple(_MARK + a for a in _ANSWERS[config.style]))
        return ProbeStatus.OK if answered else ProbeStatus.MALFORMED

    question = _QUESTIONS[config.style]
    attempts = repeat(
        config.count,
        config.interval_s,
        lambda: ask(admitted, question, classify, config.timeout_s, clock),
        clock,
    )
    return RoundTrips(
        probe=NAME,
        version=VERSION,
        target=target,
        address=admitted.address,
        at=at,
        status=status_of(attempts),
        method=config.style,
        attempts=attempts,
    )
