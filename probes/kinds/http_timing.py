"""HTTP and HTTPS: where the time of one GET goes, from the name to the last octet."""

import ssl
from dataclasses import dataclass

from core.clock import Clock
from probes.net.http_get import Exchange, Limits
from probes.net.run_cost import RunCost, transfer_cost
from probes.net.ssrf_guard import Refusal, admit
from probes.records import Outcome, ProbeStatus, Target

NAME = "http"
VERSION = 1
UNIT = "ms"
METRIC = ""


@dataclass(frozen=True, slots=True)
class Config:
    """``tls`` asks for HTTPS; ``verify`` wants a trusted certificate, by ``ca_file`` if given."""

    timeout_s: float = 10.0
    tls: bool = False
    verify: bool = True
    ca_file: str = ""
    max_octets: int = 4_000_000
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Outcome):
    """Milliseconds of each step, one after the other; steps that were not reached are absent."""

    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    wait_ms: float | None = None  # from the request to the first octet
    read_ms: float | None = None
    total_ms: float | None = None
    http_status: int | None = None
    octets: int = 0
    tls: str = ""

    @property
    def values(self) -> tuple[float, ...]:
        return () if self.total_ms is None else (self.total_ms,)


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    # A usual page is far smaller than the limit.
    return transfer_cost(min(config.max_octets, 100_000) + (6_000 if config.tls else 0))


def run(target: Target, config: Config, clock: Clock) -> Split:
    """GET a page; raises ``ValueError`` for prefixes that are none, ``OSError`` without CA file."""
    # Reading the certificate authorities takes tens of milliseconds, which are no part of a step.
    context = _context(config) if config.tls else None
    at, start = clock.now().timestamp(), clock.monotonic()
    port = target.port or (443 if config.tls else 80)
    target = Target(target.host, port, target.family, target.path)
    admitted = admit(target, config.allow, config.deny, config.timeout_s)
    if isinstance(admitted, Refusal):
        return admitted.outcome(Split, (NAME, VERSION), target, at)
    exchange = Exchange(admitted, Limits(config.timeout_s, config.max_octets), clock)
    exchange.get(target, context)
    return _split(target, admitted.address, at, start, exchange)


def _split(target: Target, address: str, at: float, start: float, exchange: Exchange) -> Split:
    done = exchange.status in (ProbeStatus.OK, ProbeStatus.HTTP)
    ready = exchange.secured or exchange.connected
    return Split(
        probe=NAME,
        version=VERSION,
        target=target,
        address=address,
        at=at,
        status=exchange.status,
        reason=exchange.reason,
        dns_ms=exchange.since(exchange.started, start),
        connect_ms=exchange.since(exchange.connected, exchange.started),
        tls_ms=exchange.since(exchange.secured, exchange.connected),
        wait_ms=exchange.since(exchange.first_byte, ready),
        read_ms=exchange.since(exchange.ended if done else None, exchange.first_byte),
        total_ms=exchange.since(exchange.ended if done else None, start),
        http_status=exchange.http_status,
        octets=exchange.octets,
        tls=exchange.tls,
    )


def _context(config: Config) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=config.ca_file or None)
    if not config.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
