"""The list of all probes; find one by name and configure it."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Protocol

from probes.kinds import (
    dns_latency,
    echo,
    game_query,
    http_timing,
    icmp_echo,
    jitter,
    tcp_ping,
    throughput,
    traceroute,
    udp_echo,
)
from probes.net.run_cost import RunCost
from probes.records import Outcome


class Probe(Protocol):
    """The attributes of every probe module.

    ``UNIT`` is the unit of its record's values. ``METRIC`` is the id of the metric of campaigns
    (``analysis.campaigns.tables.tables.METRICS``) that its values count in; it is empty for a probe
    with values that no table of a campaign aggregates.
    """

    NAME: str
    VERSION: int
    UNIT: str
    METRIC: str

    @property
    def Config(self) -> Callable[..., Any]: ...  # noqa: N802

    @property
    def cost(self) -> Callable[[Any], RunCost]: ...

    @property
    def run(self) -> Callable[..., Outcome]: ...


PROBES: tuple[Probe, ...] = (
    tcp_ping,
    icmp_echo,
    http_timing,
    throughput,
    traceroute,
    dns_latency,
    echo,
    game_query,
    jitter,
    udp_echo,
)


def find_probe(name: str) -> Probe:
    """Return the probe of a name; raise ``ValueError`` that names all probes."""
    for probe in PROBES:
        if name == probe.NAME:
            return probe
    raise ValueError(f"{name!r} is not a probe; there are {', '.join(p.NAME for p in PROBES)}")


def configure(probe: Probe, options: dict[str, Any]) -> Any:
    """A configuration from plain data; raises ``ValueError`` for an option that is not known."""
    kind: Any = probe.Config
    known = {f.name for f in fields(kind)}
    strange = sorted(options.keys() - known)
    if strange:
        raise ValueError(f"{probe.NAME} has no option {strange[0]!r}; it has {sorted(known)}")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in options.items()})
