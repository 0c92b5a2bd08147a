"""Traceroute with a constant flow: the routers towards a target, hop by hop, several tries each.

Raw sockets where they are allowed, else the kernel's own error queue (UDP), else the system's
``traceroute``; with ``mda`` every branch behind load balancers is looked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.clock import Clock
from probes.kinds import system_traceroute
from probes.net.deadlines import status_of_error
from probes.net.run_cost import RunCost, ping_cost
from probes.net.ssrf_guard import Endpoint, Refusal, admit
from probes.packets import error_queue, mda
from probes.packets.hops import Path, Reply
from probes.packets.tracer import Tracer, walk
from probes.packets.traceroute_packets import PROTOCOLS, PacketSocket
from probes.records import ProbeStatus, Target

NAME = "traceroute"
VERSION = 1
UNIT = "ms"
METRIC = ""

# Hops of a usual path, flows of a search for branches, and octets of a packet: for the cost.
_USUAL_HOPS, _MDA_FLOWS, _PACKET_OCTETS = 15, 16, 90


@dataclass(frozen=True, slots=True)
class Config:
    """``method`` is auto, raw, queue or system; ``flow`` chooses one of the paths of balancers.

    ``window`` hops are probed at once; after ``silent_hops`` hops without an answer it is over.
    """

    protocol: str = "udp"
    attempts: int = 3
    max_ttl: int = 30
    first_ttl: int = 1
    timeout_s: float = 2.0
    interval_s: float = 0.005
    window: int = 5
    silent_hops: int = 5
    flow: int = 0
    mda: bool = False
    risk: float = 0.05
    method: str = "auto"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    hops = min(config.max_ttl, _USUAL_HOPS) - config.first_ttl + 1
    requests = hops * config.attempts * (_MDA_FLOWS if config.mda else 1)
    return ping_cost(requests, _PACKET_OCTETS)


def run(target: Target, config: Config, clock: Clock) -> Path:
    """Trace the way to a target; raises ``ValueError`` for an unknown protocol."""
    if config.protocol not in PROTOCOLS:
        raise ValueError(f"the protocol is one of {', '.join(PROTOCOLS)}")
    at = clock.now().timestamp()
    admitted = admit(target, config.allow, config.deny)
    if isinstance(admitted, Refusal):
        return admitted.outcome(Path, (NAME, VERSION), target, at)
    for method, trace in _METHODS.items():
        if config.method not in ("auto", method):
            continue
        try:
            return trace(target, admitted, config, clock)
        except PermissionError:
            continue
        except OSError as error:
            reason = error.strerror or str(error)
            return _path(target, admitted, at, status=status_of_error(error), reason=reason)
    reason = "neither raw sockets, nor the error queue, nor a system's traceroute can do this"
    return _path(target, admitted, at, status=ProbeStatus.NOT_PERMITTED, reason=reason)


def _raw(target: Target, endpoint: Endpoint, config: Config, clock: Clock) -> Path:
    at = clock.now().timestamp()
    with PacketSocket(endpoint, config.protocol) as wire:
        tracer = Tracer(wire, config.timeout_s, config.interval_s, clock)
        if config.mda:
            return _multipath(target, endpoint, config, at, tracer)
        replies = walk(tracer.send, config)
        source = wire.source
    return finished(target, endpoint, config, at, ("raw", source, replies))


def _multipath(
    target: Target, endpoint: Endpoint, config: Config, at: float, tracer: Tracer
) -> Path:
    def send(places: Sequence[tuple[int, int]]) -> list[Reply]:
        # Where a router is known to be silent, silence is no news.
        is_known = any(ttl in search.silent_at for ttl, _ in places)
        return tracer.send_again(places, min(config.attempts, 2) if is_known else config.attempts)

    search = mda.MultipathDetection(send, endpoint.address, config.risk)
    search.explore(config.max_ttl, config.silent_hops)
    replies = [search.replies[place] for place in sorted(search.replies)]
    path = finished(target, endpoint, config, at, ("raw", tracer.source, replies))
    return _path(
        target,
        endpoint,
        at,
        status=path.status,
        reason=path.reason,
        method="mda",
        protocol=config.protocol,
        source=path.source,
        replies=path.replies,
        reached=path.reached,
        links=tuple(sorted(search.links)),
    )


def _queue(target: Target, endpoint: Endpoint, config: Config, clock: Clock) -> Path:
    if config.protocol != "udp" or config.mda:
        raise PermissionError("the error queue shows errors of datagrams only, one flow at a time")
    at = clock.now().timestamp()
    with error_queue.Queue(endpoint, config.timeout_s, clock) as queue:
        replies = walk(queue.send, config)
        return finished(target, endpoint, config, at, ("queue", queue.source, replies))


def _system(target: Target, endpoint: Endpoint, config: Config, clock: Clock) -> Path:
    at = clock.now().timestamp()
    replies = system_traceroute.trace(
        endpoint, config.protocol, config.attempts, config.max_ttl, config.timeout_s
    )
    return finished(target, endpoint, config, at, ("system", "", replies))


_METHODS: dict[str, Callable[[Target, Endpoint, Config, Clock], Path]] = {
    "raw": _raw,
    "queue": _queue,
    "system": _system,
}


def finished(
    target: Target,
    endpoint: Endpoint,
    config: Config,
    at: float,
    seen: tuple[str, str, list[Reply]],
) -> Path:
    """The record of a walk: (method, own address, replies)."""
    method, source, replies = seen
    kinds = {r.kind for r in replies}
    refused = sorted(kinds - {"hop", "target", "silent"})
    status = ProbeStatus.OK if "target" in kinds else ProbeStatus.TIMEOUT
    if refused and status is not ProbeStatus.OK:
        status = ProbeStatus.UNREACHABLE
    return _path(
        target,
        endpoint,
        at,
        status=status,
        reason=" ".join(refused),
        method=method,
        protocol=config.protocol,
        source=source,
        replies=tuple(replies),
        reached=status is ProbeStatus.OK,
    )


def _path(target: Target, endpoint: Endpoint, at: float, **fields: object) -> Path:
    return Path(
        probe=NAME,
        version=VERSION,
        target=target,
        address=endpoint.address,
        at=at,
        **fields,  # type: ignore[arg-type]
    )
