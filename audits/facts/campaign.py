"""Facts of a measurement campaign that rules read: latencies by country, ISPs, regret."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

Region = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """What finds a row of the lake tables ``samples`` and ``paths`` of a campaign again.

    ``region`` is the column of that name; ``value_ms`` the time that the row was chosen for.
    """

    vantage: str
    region: str
    round: int
    at: datetime
    value_ms: float | None = None


@dataclass(frozen=True, slots=True)
class LatencyFact:
    """The 95th percentile of round-trip times from a country to a region, with 95 % interval.

    ``rows`` are the samples of the three ranks, in the order of percentile, low and high.
    """

    p95_ms: float
    low_ms: float
    high_ms: float
    n: int
    rows: tuple[CampaignRow, ...] = ()


@dataclass(frozen=True, slots=True)
class IspShare:
    """The share of a region's routes that one downstream ISP carries."""

    asn: int
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class IspFact:
    """Downstream ISPs of one region, the largest share first, over ``routes`` routes.

    ``rows`` are the first traceroutes of the region.
    """

    routes: int
    shares: tuple[IspShare, ...]
    rows: tuple[CampaignRow, ...] = ()


@dataclass(frozen=True, slots=True)
class RegretFact:
    """Mean round-trip time of the regions in use, and of the proven best set of as many.

    ``margin_ms`` is half the width of the 95 % interval of the difference. ``slowest`` are the
    (vantage point, region) in use with the greatest difference.
    """

    now_ms: float
    best_ms: float
    margin_ms: float
    best: tuple[Region, ...]
    clients: int
    slowest: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CampaignFacts:
    """What a campaign measured; ``regret`` solves for a set of regions, if all were measured.

    ``synthetic`` means that a model made the values up; findings then state it.
    """

    campaign: str
    ended_at: datetime
    synthetic: bool = False
    latencies: Mapping[tuple[str, Region], LatencyFact] = field(default_factory=dict)
    isps: Mapping[Region, IspFact] = field(default_factory=dict)
    regret: Callable[[frozenset[Region]], RegretFact | None] | None = None

    @property
    def label(self) -> str:
        """What evidence calls the campaign."""
        return f"campaign {self.campaign}" + (" (synthetic)" if self.synthetic else "")
