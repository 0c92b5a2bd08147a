"""What a plan will cost, before it starts: probes, octets, time and credits, per end and in all.

Octets are those on the wire in both directions, as far as a probe decides them itself: an upper
bound where the other side may stop early.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

from probes.networks import globalping, ripe_atlas
from probes.registry import configure, find_probe
from probes.schedule.plan import Plan
from probes.schedule.schedule import Activity

DAY_S = 86_400
# Octets of IP and transport heads with Ethernet's: 20 + 20 + 18, and 28 + 18 of a datagram.
_TCP_HEAD, _UDP_HEAD = 58, 46
_SEGMENT = 1_448
# Hops of a usual path; a traceroute goes no further than its own limit.
_USUAL_HOPS = 15


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a probe, or many, take; ``requests`` are what vantage points limit."""

    probes: int = 0
    requests: int = 0
    packets: int = 0
    octets: int = 0

    def times(self, count: int) -> "Cost":
        """So many runs."""
        return Cost(*(value * count for value in astuple(self)))

    def plus(self, other: "Cost") -> "Cost":
        """Both."""
        return Cost(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def cost_of(activity: Activity) -> Cost:
    """One run of an activity's probe."""
    config = configure(find_probe(activity.probe), dict(activity.options))
    packets, octets = _PROBES[activity.probe](config)
    return Cost(1, _requests(config), packets, octets)


def predict(plan: Plan, sources: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The whole campaign in its plain form; ``sources`` are those of vantage points.

    Credits are counted for public networks only: RIPE Atlas by result, Globalping by test.
    """
    schedule = plan.schedule
    whole, by_activity = Cost(), []
    for activity in schedule.activities:
        rounds = len(activity.rounds(schedule.rounds))
        own = cost_of(activity).times(rounds * plan.targets)
        total = own.times(len(plan.vantages))
        whole = whole.plus(total)
        by_activity.append(
            {
                "activity": activity.name,
                "probe": activity.probe,
                "rounds": rounds,
                **asdict(total),
                "window_s": activity.window_s,
                "clients": activity.clients,
            }
        )
    days = max(schedule.duration_s / DAY_S, 1.0)
    vantages, targets = len(plan.vantages), plan.targets
    return {
        **asdict(whole),
        "duration_s": schedule.duration_s,
        "rounds": schedule.rounds,
        "round_s": schedule.round_s,
        "groups": schedule.groups,
        "vantages": vantages,
        "targets": targets,
        "units": plan.window_count,
        "activities": by_activity,
        "per_vantage": _share(whole, vantages, days),
        "per_target": _share(whole, targets, days),
        "credits": credits_of(plan, sources or {}),
    }


def _share(whole: Cost, ends: int, days: float) -> dict[str, Any]:
    """What one end has of it; a campaign shorter than a day counts as one day."""
    return {
        "probes": whole.probes // ends,
        "octets": whole.octets // ends,
        "probes_per_day": round(whole.probes / ends / days),
        "octets_per_day": round(whole.octets / ends / days),
    }


def credits_of(plan: Plan, sources: Mapping[str, str]) -> dict[str, int]:
    """Credits by public network; a network whose vantage points take no part has none."""
    found: dict[str, int] = {}
    for network, price in (("atlas", _atlas), ("globalping", _globalping)):
        count = sum(sources.get(name) == network for name in plan.vantages)
        runs = [
            (a, len(a.rounds(plan.schedule.rounds)) * plan.targets * count)
            for a in plan.schedule.activities
        ]
        total = sum(price(activity) * number for activity, number in runs)
        if count:
            found[network] = total
    return found


def _atlas(activity: Activity) -> int:
    """The price of a one-off result, which is what every slot is."""
    known = activity.probe in ripe_atlas.TYPES
    return ripe_atlas.credits_for(activity.probe, activity.options) if known else 0


def _globalping(activity: Activity) -> int:
    return int(activity.probe in globalping.TYPES)


def _requests(config: Any) -> int:
    """Pings, questions, transfers, or packets of a traceroute."""
    if hasattr(config, "max_ttl"):
        return _traceroute(config)[0] // 2
    return int(getattr(config, "count", 1))


def _pings(head: int, each_way: int = 0) -> Callable[[Any], tuple[int, int]]:
    """Probes that send ``count`` packets and hear as many."""

    def cost(config: Any) -> tuple[int, int]:
        return 2 * config.count, 2 * config.count * (head + each_way)

    return cost


def _tcp_ping(config: Any) -> tuple[int, int]:
    # SYN, SYN/ACK, and what ends the connection again.
    return 4 * config.count, 4 * config.count * (_TCP_HEAD + 12)


def _icmp_echo(config: Any) -> tuple[int, int]:
    return 2 * config.count, 2 * config.count * (config.size + _UDP_HEAD)


def _transfer(octets: int) -> tuple[int, int]:
    segments = -(-octets // _SEGMENT)
    # One acknowledgement for two segments, and some ten packets around them.
    packets = segments + segments // 2 + 10
    return packets, octets + packets * (_TCP_HEAD + 12)


def _throughput(config: Any) -> tuple[int, int]:
    # An object of any size is taken for the study's.
    return _transfer(config.octets or 2_000_000)


def _http(config: Any) -> tuple[int, int]:
    # A usual page is far smaller than the limit.
    return _transfer(min(config.max_octets, 100_000) + (6_000 if config.tls else 0))


def _traceroute(config: Any) -> tuple[int, int]:
    hops = min(config.max_ttl, _USUAL_HOPS) - config.first_ttl + 1
    flows = 16 if config.mda else 1
    packets = 2 * hops * config.attempts * flows
    return packets, packets * 90


def _echo(config: Any) -> tuple[int, int]:
    packets, octets = _transfer(config.octets)
    return 2 * config.count * packets, 2 * config.count * octets


def _jitter(config: Any) -> tuple[int, int]:
    return 2 * config.count, 2 * config.count * (config.octets + _UDP_HEAD)


_PROBES: dict[str, Callable[[Any], tuple[int, int]]] = {
    "tcp-ping": _tcp_ping,
    "icmp-echo": _icmp_echo,
    "http": _http,
    "throughput": _throughput,
    "traceroute": _traceroute,
    "resolver": _pings(_UDP_HEAD, 80),
    "game-query": _pings(_UDP_HEAD, 200),
    "echo": _echo,
    "jitter": _jitter,
}
