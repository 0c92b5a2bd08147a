"""Results from the arrays of a finished simulation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.packets.construction import Arrays
from simulator.packets.layout import NEVER, NONE, PS_PER_S, SCHEDULED
from simulator.packets.networks import Network
from simulator.packets.results import FlowResults, LinkResults


def collect_results(
    arrays: Arrays, order: NDArray[np.int64], network: Network, cpu_s: float
) -> FlowResults:
    """Return the results, by flow in the order that the caller gave."""
    state = arrays.state[0]
    place = np.argsort(order)
    outcome = arrays.outcome[place]
    starts = arrays.demand["start"][place]
    duration_s = float(state["now"]) / PS_PER_S
    links = _collect_links(arrays, duration_s)
    rtts = arrays.rtts[: state["rtt_samples"]].copy()
    rtts[:, 1] = order[rtts[:, 1].astype(np.int64)]
    rtts[:, (0, 2)] /= PS_PER_S
    counts = {
        name: outcome[name].astype(np.int64)
        for name in ("bytes", "sent", "resent", "marked", "dropped", "timeouts")
    }
    return FlowResults(
        completion_s=_time_from(starts, outcome["finish"]),
        acknowledged_s=_time_from(starts, outcome["acknowledged"]),
        **counts,
        early=outcome["reordered"].astype(np.int64),
        links=links,
        rtts=rtts,
        backlog_bytes=arrays.backlog[: state["samples"]].copy(),
        duration_s=duration_s,
        warm_up_s=float(state["warm_up"]) / PS_PER_S,
        realised_load=float(links.busy[network.switches == NONE].mean()),
        traversals=int(state["traversals"]),
        events=int(state["events"]),
        most_active=int(state["most_active"]),
        most_packets=len(arrays.packets),
        memory_bytes=sum(array.nbytes for array in arrays),
        cpu_s=cpu_s,
    )


def _time_from(starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.float64]:
    """Seconds from start to end, NaN for what did not end."""
    return np.where(ends == NEVER, np.nan, ends - starts) / PS_PER_S


def _collect_links(arrays: Arrays, duration_s: float) -> LinkResults:
    links = arrays.links
    columns: dict[str, Any] = {
        name: links[name].copy()
        for name in ("accepted", "delivered", "dropped", "discarded", "marked", "bytes")
    }
    # A port that serves in order counts the bytes of a packet before it has left.
    ahead = np.maximum(links["busy_until"] - arrays.state["now"], 0)
    busy = links["bytes"] * links["ps_per_byte"] - ahead
    started = links["accepted"] - links["discarded"]
    started -= np.where(links["policy"] == SCHEDULED, links["queued"], 0)
    return LinkResults(
        **columns,
        in_flight=links["accepted"] - links["delivered"] - links["discarded"],
        busy=busy / max(duration_s * PS_PER_S, 1),
        wait_s=links["wait"] / np.maximum(started, 1) / PS_PER_S,
    )
