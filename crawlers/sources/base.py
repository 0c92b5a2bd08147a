"""The interface of name sources: one harvest for each zone.

A source never decides whether a name exists; its names are queried afterwards. A source that fails
reports it in the harvest, and the enumeration continues with the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.statuses import Technique
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import Server


@dataclass(frozen=True, slots=True)
class Zone:
    """What is known about a domain when a source is queried.

    ``servers`` are the authoritative servers that may be contacted; ``found`` are names that
    exist already (with the domain's own), for sources that build on them.
    """

    domain: str
    servers: tuple[Server, ...] = ()
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Harvest:
    """The names that one source has for one zone.

    ``status`` is "OK", a ``DnsStatus``, or one word for the reason of a failure; a harvest that
    is not OK may hold names (``complete`` is then false). ``wildcard``: the zone data hold a
    wildcard; ``failed`` counts failures by status.
    """

    domain: str
    status: str = "OK"
    names: tuple[str, ...] = ()
    complete: bool = True
    wildcard: bool = False
    queries: int = 0
    failed: dict[str, int] = field(default_factory=dict)


class Source(Protocol):
    """One way to learn names."""

    @property
    def technique(self) -> Technique:
        """The tag of every name that came from here."""

    @property
    def is_zone_data(self) -> bool:
        """Whether names come from the zone itself, so that no wildcard can have invented them."""

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[Harvest]:
        """One harvest per zone, in any order; never raises for what the network does."""
