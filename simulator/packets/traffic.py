"""Flows to simulate, and generators of them; each draws from its own seeded stream.

A generator gives ``Flows``; several are joined by ``join_flows``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput

# Bytes that no flow sends within a simulation: a flow without end.
ENDLESS_BYTES = 2**40
_PARETO_SHAPE = 1.05


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows, shape (flows,): start in seconds, hosts, bytes, number of the transport, priority.

    Flows with the same number in ``connections``, which start at the same time, are subflows of one
    connection; -1 is a flow of its own. Flows with the same number in ``sessions`` use one TCP
    connection that is kept open: each begins with the window, the threshold and the round-trip
    time of the one that ended last; -1 begins with those of its transport.
    """

    starts_s: NDArray[np.float64]
    sources: NDArray[np.int32]
    destinations: NDArray[np.int32]
    sizes_bytes: NDArray[np.int64]
    transports: NDArray[np.int32]
    priorities: NDArray[np.int32]
    connections: NDArray[np.int32]
    sessions: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts_s)


def create_flows(
    starts_s: Any,
    sources: Any,
    destinations: Any,
    sizes_bytes: Any,
    transport: int = 0,
    priority: int = 0,
) -> Flows:
    """Return flows from columns or single values, which are repeated; raises ``BadInput``."""
    columns = np.broadcast_arrays(
        np.asarray(starts_s, float), sources, destinations, sizes_bytes, transport, priority
    )
    starts, source, destination, size, number, rank = (np.atleast_1d(c) for c in columns)
    if np.any(source == destination):
        row = int(np.argmax(source == destination))
        raise BadInput(f"flow {row} has the same source and destination", field="destinations")
    if len(size) and (size.min() < 1 or starts.min() < 0 or not np.all(np.isfinite(starts))):
        raise BadInput("flows start at 0 or later, and have at least 1 byte", field="sizes_bytes")
    whole = [np.ascontiguousarray(c, np.int32) for c in (source, destination, number, rank)]
    return Flows(
        np.ascontiguousarray(starts),
        whole[0],
        whole[1],
        np.ascontiguousarray(size, np.int64),
        whole[2],
        whole[3],
        np.full(len(starts), -1, np.int32),
        np.full(len(starts), -1, np.int32),
    )


def join_flows(parts: Sequence[Flows]) -> Flows:
    """Join flows, in the order of the parts; connections and sessions keep different numbers."""
    columns = {c.name: [getattr(part, c.name) for part in parts] for c in fields(Flows)}
    for name in ("connections", "sessions"):
        columns[name] = _renumber(columns[name])
    return Flows(**{name: np.concatenate(parts) for name, parts in columns.items()})


def _renumber(parts: Sequence[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
    """Make the numbers of each part different from those of the parts before; -1 stays."""
    counts = [int(part.max(initial=-1)) + 1 for part in parts]
    first = np.cumsum([0, *counts[:-1]])
    return [
        np.where(part >= 0, part + n, part).astype(np.int32)
        for part, n in zip(parts, first, strict=True)
    ]


def split_subflows(flows: Flows, counts: Any) -> Flows:
    """Split each flow into ``counts`` subflows of one connection each.

    Subflows start together, carry equal shares of the bytes, and have paths of their own. The
    subflows of a flow follow each other, in the order of the flows. Raises ``BadInput`` for a flow
    with fewer bytes than subflows.
    """
    n = np.broadcast_to(np.asarray(counts, np.int64), len(flows))
    if np.any(n < 1) or np.any(flows.sizes_bytes < n):
        raise BadInput("a flow has 1 subflow or more, of 1 byte or more each", field="counts")
    rows = np.repeat(np.arange(len(flows)), n)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(n) - n, n)
    columns = {c.name: getattr(flows, c.name)[rows] for c in fields(Flows)}
    columns["sizes_bytes"] = (columns["sizes_bytes"] + n[rows] - 1 - place) // n[rows]
    columns["connections"] = rows.astype(np.int32)
    # Each subflow has a window of its own.
    sessions = columns["sessions"]
    columns["sessions"] = np.where(sessions >= 0, sessions * n.max() + place, -1).astype(np.int32)
    return Flows(**columns)


def _generator(seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([seed, stream])


def permutation(hosts: int, size_bytes: int = ENDLESS_BYTES, seed: int = 1) -> Flows:
    """Each host sends to one other host and receives from one (a random cyclic permutation)."""
    order = _generator(seed, 0).permutation(hosts)
    return create_flows(0.0, order, np.roll(order, -1), size_bytes)


def stride(hosts: int, step: int, size_bytes: int = ENDLESS_BYTES) -> Flows:
    """Host i sends to host i + step, modulo the number of hosts."""
    sources = np.arange(hosts)
    return create_flows(0.0, sources, (sources + step) % hosts, size_bytes)


def random_bijection(
    hosts: int, hosts_per_edge: int, size_bytes: int = ENDLESS_BYTES, seed: int = 1
) -> Flows:
    """Each host sends to one host of another edge switch, and receives from one."""
    if hosts < 2 * hosts_per_edge:
        raise BadInput("a bijection needs at least two edge switches", field="hosts")
    random = _generator(seed, 1)
    sources = np.arange(hosts)
    targets = random.permutation(hosts)
    clash = sources // hosts_per_edge == targets // hosts_per_edge
    while clash.any():
        # Targets of the clashing hosts are exchanged with those of random hosts.
        for host in np.flatnonzero(clash):
            other = random.integers(hosts)
            targets[[host, other]] = targets[[other, host]]
        clash = sources // hosts_per_edge == targets // hosts_per_edge
    return create_flows(0.0, sources, targets, size_bytes)


def random_destinations(
    hosts: int, hosts_per_edge: int, size_bytes: int = ENDLESS_BYTES, seed: int = 1
) -> Flows:
    """Each host sends to a random host of another edge switch; some receive from several."""
    random = _generator(seed, 2)
    sources = np.arange(hosts)
    others = random.integers(0, hosts - hosts_per_edge, hosts)
    first = sources // hosts_per_edge * hosts_per_edge
    targets = others + np.where(others >= first, hosts_per_edge, 0)
    return create_flows(0.0, sources, targets, size_bytes)


def incast(
    senders: Sequence[int], receiver: int, size_bytes: int, jitter_s: float = 0.0, seed: int = 1
) -> Flows:
    """Several hosts send to one, each starting within ``jitter_s``."""
    starts = _generator(seed, 3).uniform(0, jitter_s, len(senders)) if jitter_s else 0.0
    return create_flows(starts, np.asarray(senders), receiver, size_bytes)


def poisson_flows(
    hosts: int, n: int, interval_s: float, sizes_bytes: NDArray[np.int64], seed: int = 1
) -> Flows:
    """``n`` flows from random hosts to random others.

    ``interval_s`` is the mean time between two flows of one host; sizes are given by flow.
    """
    if len(sizes_bytes) != n:
        raise BadInput(f"{len(sizes_bytes)} sizes for {n} flows", field="sizes_bytes")
    random = _generator(seed, 4)
    starts = np.cumsum(random.exponential(interval_s / hosts, n))
    sources = random.integers(0, hosts, n)
    targets = random.integers(0, hosts - 1, n)
    return create_flows(starts, sources, targets + (targets >= sources), sizes_bytes)


def pareto_sizes(
    n: int,
    mean_bytes: float = 100_000,
    shape: float = _PARETO_SHAPE,
    largest_bytes: int | None = None,
    seed: int = 1,
) -> NDArray[np.int64]:
    """Draw ``n`` sizes from a Pareto distribution (Alizadeh et al., pFabric; He et al.).

    The mean of samples converges slowly: without ``largest_bytes`` the load of a run is typically
    half of the nominal one. With it, larger sizes are cut and the scale is chosen so that the
    distribution still has the mean.
    """
    if not shape > 1:
        raise BadInput(f"{shape!r} is not above 1: there is no mean", field="shape")
    scale = mean_bytes * (shape - 1) / shape
    if largest_bytes is not None:
        scale = _scale_of_capped(mean_bytes, shape, largest_bytes)
    sizes = scale * _generator(seed, 5).random(n) ** (-1 / shape)
    if largest_bytes is not None:
        sizes = np.minimum(sizes, largest_bytes)
    return np.maximum(np.rint(sizes), 1).astype(np.int64)


def _scale_of_capped(mean: float, shape: float, largest: float) -> float:
    """Find the scale by bisection: the mean of capped sizes grows with it."""
    if not mean < largest:
        raise BadInput(f"{largest:g} is not above the mean", field="largest_bytes")
    low, high = 0.0, float(mean)
    for _ in range(100):
        scale = (low + high) / 2
        capped = (shape * scale - scale**shape * largest ** (1 - shape)) / (shape - 1)
        low, high = (scale, high) if capped < mean else (low, scale)
    return high
