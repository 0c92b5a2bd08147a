"""Experiments and their parameters as documents; runs at once, without the store."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from core.errors import BadInput
from simulator.experiments.registry import EXPERIMENTS, Outcome, find_experiment, run_experiment
from simulator.packets.ports.recorded import SHORT, record_port

__all__ = [
    "Outcome",
    "experiments",
    "find_experiment",
    "parse_settings",
    "record_two_ports",
    "run_experiment",
]

# The small case that pages draw: 1,500-byte packets at 1 Gb/s, two bulk flows, short responses of
# two packets each.
_DRAWN = {"packet_us": 12.0, "trip_us": 30.0, "end_us": 600.0}
_WINDOWS, _SHORT_US = (8, 8), (150.0, 150.0, 370.0, 370.0)


def experiments() -> list[dict[str, Any]]:
    """All experiments with their parameters, ranges and sources."""
    return [experiment.as_json() for experiment in EXPERIMENTS.values()]


def published_parameters() -> dict[str, dict[str, Any]]:
    """The parameters of the paper by experiment."""
    return {name: experiment.check({}) for name, experiment in EXPERIMENTS.items()}


@cache
def record_two_ports() -> list[dict[str, Any]]:
    """One port with one queue and one with priorities, packet by packet, under the same load.

    Packets are (flow, arrival, start, departure) in µs, in the order of departure.
    """
    found = []
    for name, short_first in (("One queue", False), ("Two priorities", True)):
        passages = record_port(_WINDOWS, _SHORT_US, short_first=short_first, **_DRAWN)
        packets = [[p.flow, p.arrived_us, p.sent_us, p.left_us] for p in passages]
        waits = [p.left_us - p.arrived_us for p in passages if p.flow == SHORT]
        found.append({"name": name, "packets": packets, "longest_wait_us": max(waits)})
    return found


def parse_settings(settings: Iterable[str]) -> dict[str, str]:
    """Split ``name=value`` texts; raises ``BadInput`` that names the text."""
    given: dict[str, str] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"{text[:60]!r} is not NAME=VALUE", field="set")
        given[name.strip()] = value.strip()
    return given


def run_at_once(
    name: str, given: Mapping[str, Any], seed: int, report: Callable[[float], None]
) -> dict[str, Any]:
    """Run an experiment in this process; return its document. Raises ``BadInput``."""
    return run_experiment(name, given, seed, report).as_json()
