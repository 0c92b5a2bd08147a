"""Questions and results of an engine, its limits and its counters."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from core.errors import BadInput
from core.records import Answer, Record
from core.statuses import DnsStatus
from crawlers.engine.nameservers import Server
from crawlers.engine.rate_limit import Pace


class Question(NamedTuple):
    """One name and type to ask; ``tag`` travels along untouched.

    ``server`` asks exactly that server, otherwise the engine's own are taken in turn. ``subnet`` is
    an EDNS client subnet (RFC 7871) such as "203.0.113.0/24"; ``zone`` is the key of the limit
    per zone.
    """

    name: str
    type: str = "A"
    tag: int = 0
    server: Server | None = None
    subnet: str = ""
    zone: str = ""


class Result(NamedTuple):
    """What became of one question: the engine's packed form, made millions of times.

    ``answers`` holds the whole CNAME chain in order; ``at`` is seconds since the epoch (UTC);
    ``rtt_ms`` is ``None`` without an accepted reply. ``additionals`` are kept on request;
    ``scope`` is the prefix length that a client-subnet answer holds for.
    """

    question: Question
    status: DnsStatus
    answers: tuple[Record, ...] = ()
    authorities: tuple[Record, ...] = ()
    resolver: str = ""
    protocol: str = "udp"
    attempts: int = 1
    rtt_ms: float | None = None
    at: float = 0.0
    additionals: tuple[Record, ...] = ()
    authoritative: bool = False
    scope: int | None = None

    def as_answer(self) -> Answer:
        """The record that travels on."""
        rtt_ms = None if self.rtt_ms is None else round(self.rtt_ms, 3)
        return Answer(self.question.name, self.question.type, *self[1:7], rtt_ms, self.at)


class Block(NamedTuple):
    """Names, one per line, in lower case, and the number of the first question.

    ``tags`` is a buffer of 64-bit integers, one for each name, if one type is queried and tags are
    not consecutive.
    """

    first_tag: int
    text: bytes
    tags: Any = None


class Lines(NamedTuple):
    """Results of the compiled loop as JSON lines, and as rows of 64-bit numbers.

    ``rows`` has a row for each line, ``records`` one for each record in it where these are wanted,
    both with the columns of ``crawlers.compiled.layout``. A row names its type and server by its
    place in ``types`` and ``servers``. All is read before the next step of its run, which writes to
    the same memory.
    """

    text: bytes | memoryview
    rows: bytes | memoryview
    n_lines: int
    records: bytes | memoryview = b""
    types: tuple[str, ...] = ()
    servers: Sequence[str] = ()


NO_LINES = Lines(b"", b"", 0)


@dataclass(frozen=True, slots=True)
class OutageLimit:
    """How long an engine waits for its own servers while none of them answers anything.

    After ``limit_s`` it raises ``Unavailable``. ``report`` is called about once a second with the
    seconds of silence so far, and may raise whatever shall end the run.
    """

    limit_s: float
    report: Callable[[float], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Limits and options of one engine.

    ``rate_per_server`` and ``zone_rate`` are queries per second, none means no limit; ``pace``
    shares limits per server with other engines, and ``total_rate`` bounds the queries to all
    servers together. ``recursion`` sets the RD bit, ``follow`` asks on behind a CNAME,
    ``additionals`` keeps that section, ``case_mixing`` is "0x20". Without ``outage_limit`` a
    question that no server answers ends as TIMEOUT.
    """

    window: int = 2_000
    timeout_s: float = 2.0
    retries: int = 3
    rate_per_server: float | None = None
    zone_rate: float | None = None
    total_rate: float | None = None
    pace: Pace | None = None
    sockets: int = 4
    tcp_parallel: int = 8
    tcp_timeout_s: float = 5.0
    recursion: bool = True
    follow: bool = True
    additionals: bool = False
    case_mixing: bool = False
    outage_limit: OutageLimit | None = None

    def __post_init__(self) -> None:
        for name, low, high in (
            ("window", 1, 60_000),
            ("timeout_s", 0.01, 60),
            ("retries", 0, 20),
        ):
            if not low <= getattr(self, name) <= high:
                raise BadInput(f"must be from {low} to {high}", field=name.removesuffix("_s"))
        for name, option in (
            ("rate_per_server", "rate"),
            ("zone_rate", "zone-rate"),
            ("total_rate", "total-rate"),
        ):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise BadInput("must be more than 0", field=option)


@dataclass(slots=True)
class EngineStats:
    """Counters since the engine was opened."""

    queries: int = 0
    retries: int = 0
    tcp: int = 0
    stray: int = 0
    # Replies that found no space in a socket's buffer, since the process came too late for them.
    overflows: int = 0
    by_status: dict[str, int] = field(default_factory=dict)

    def count(self, status: DnsStatus, n: int = 1) -> None:
        self.by_status[status] = self.by_status.get(status, 0) + n
