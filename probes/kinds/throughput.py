"""Throughput: GET of an object of fixed size, ended after ten seconds, as the study measured it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from core.clock import Clock
from probes.net.http_get import Exchange, Limits
from probes.net.run_cost import RunCost, transfer_cost
from probes.net.ssrf_guard import Endpoint, Refusal, admit
from probes.records import Outcome, ProbeStatus, Target

NAME = "throughput"
VERSION = 1
UNIT = "bytes/s"
METRIC = "throughput"

# Space for the head of the answer beyond the object itself.
_HEAD_OCTETS = 65_536
_busy: set[tuple[str, int]] = set()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Config:
    """The study's 2 MB in at most 10 s; with ``octets`` 0 an object of any size counts."""

    octets: int = 2_000_000
    timeout_s: float = 10.0
    max_octets: int = 1_000_000_000
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer(Outcome):
    """``bytes_per_s`` is the size over the whole time from connecting on; only of whole objects.

    ``octets`` and ``seconds`` give the progress of a transfer that was ended.
    """

    octets: int = 0
    seconds: float = 0.0
    bytes_per_s: float | None = None
    first_byte_ms: float | None = None

    @property
    def values(self) -> tuple[float, ...]:
        return () if self.bytes_per_s is None else (self.bytes_per_s,)


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    # An object of any size is taken for the study's.
    return transfer_cost(config.octets or 2_000_000)


def run(target: Target, config: Config, clock: Clock) -> Transfer:
    """Fetch an object; raises ``ValueError`` for prefixes that are none."""
    at = clock.now().timestamp()
    target = Target(target.host, target.port or 80, target.family, target.path)
    admitted = admit(target, config.allow, config.deny, config.timeout_s)
    if isinstance(admitted, Refusal):
        return admitted.outcome(Transfer, (NAME, VERSION), target, at)
    with _exclusive_transfer(admitted) as free:
        if not free:
            return Transfer(
                probe=NAME,
                version=VERSION,
                target=target,
                address=admitted.address,
                at=at,
                status=ProbeStatus.BUSY,
                reason="another transfer to this target is in progress",
            )
        room = (config.octets or config.max_octets) + _HEAD_OCTETS
        exchange = Exchange(admitted, Limits(config.timeout_s, room), clock)
        exchange.get(target, None)
    return _transfer(target, admitted.address, at, config, exchange)


def _transfer(
    target: Target, address: str, at: float, config: Config, exchange: Exchange
) -> Transfer:
    status, reason = exchange.status, exchange.reason
    if status is ProbeStatus.OK and config.octets not in (0, exchange.octets):
        status = ProbeStatus.MALFORMED
        reason = f"the object has {exchange.octets} octets, not {config.octets}"
    seconds = exchange.ended - exchange.started
    whole = status is ProbeStatus.OK and seconds > 0
    return Transfer(
        probe=NAME,
        version=VERSION,
        target=target,
        address=address,
        at=at,
        status=status,
        reason=reason,
        octets=exchange.octets,
        seconds=seconds,
        bytes_per_s=exchange.octets / seconds if whole else None,
        first_byte_ms=exchange.since(exchange.first_byte, exchange.started),
    )


@contextmanager
def _exclusive_transfer(endpoint: Endpoint) -> Iterator[bool]:
    """Reserve the endpoint within this process; yield whether it was free."""
    key = (endpoint.address, endpoint.port)
    with _lock:
        free = key not in _busy
        if free:
            _busy.add(key)
    try:
        yield free
    finally:
        if free:
            with _lock:
                _busy.discard(key)
