"""Simulate flows over a network, packet by packet; progress and cancellation between events."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.errors import BadInput
from simulator.packets import layout
from simulator.packets.collection import collect_results
from simulator.packets.construction import Arrays, build_arrays, enlarge
from simulator.packets.event_loop import run_events
from simulator.packets.networks import Network
from simulator.packets.results import FlowResults
from simulator.packets.settings import PortSettings, Run, Transport
from simulator.packets.traffic import Flows

_EVENTS_BETWEEN_REPORTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Progress:
    """Simulated seconds, flows that were started, and events so far."""

    now_s: float
    started: int
    events: int
    share: float


Report = Callable[[Progress], None]


def simulate_network(
    network: Network,
    flows: Flows,
    transport: Transport | Sequence[Transport],
    ports: PortSettings,
    run: Run,
    report: Report | None = None,
) -> FlowResults:
    """Simulate flows until the last one ends, or for the duration of the run.

    ``report`` is called about every 10**6 events; what it raises ends the simulation. The same
    arguments give the same results, on any machine. Raises ``BadInput`` for
    unknown hosts or transports of flows, and when there is nothing to simulate.
    """
    transports = [transport] if isinstance(transport, Transport) else list(transport)
    _check(network, flows, transports)
    arrays, order = build_arrays(network, flows, transports, ports, run)
    began = time.process_time()
    status = layout.PAUSED
    while status != layout.FINISHED:
        if status != layout.PAUSED:
            arrays = enlarge(arrays, status)
        elif report is not None:
            report(_measure_progress(arrays, run))
        status = run_events(arrays.state, _EVENTS_BETWEEN_REPORTS)
    return collect_results(arrays, order, network, time.process_time() - began)


def _check(network: Network, flows: Flows, transports: list[Transport]) -> None:
    if not len(flows):
        raise BadInput("there are no flows to simulate", field="flows")
    for name in ("sources", "destinations"):
        column = getattr(flows, name)
        if column.min() < 0 or column.max() >= network.hosts:
            raise BadInput(f"hosts are numbers below {network.hosts}", field=name)
    if flows.transports.min() < 0 or flows.transports.max() >= len(transports):
        raise BadInput(f"transports are numbers below {len(transports)}", field="transports")


def _measure_progress(arrays: Arrays, run: Run) -> Progress:
    state = arrays.state[0]
    now_s = float(state["now"]) / layout.PS_PER_S
    share = int(state["next_flow"] - state["active"]) / len(arrays.demand)
    if run.duration_s is not None:
        share = max(share, now_s / run.duration_s)
    return Progress(now_s, int(state["next_flow"]), int(state["events"]), min(share, 1.0))
