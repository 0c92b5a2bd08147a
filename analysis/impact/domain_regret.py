"""What each domain loses to the proven best set of as many regions, and its best single change.

All domains have the clients of the samples; they differ in the regions that they use now. A client
is served by the best region of a domain, so that ``value`` is no worse than what the domain gives.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.impact.csv_tables import read_rows
from analysis.optimization import Measure, Study
from core.errors import BadInput

# Sets that the search for changes may value, and points of the samples that it may read for them:
# about a second.
_MOST_SETS, _MOST_CELLS = 10_000, 500_000_000


@dataclass(frozen=True, slots=True)
class DomainUse:
    """The regions that a domain uses, and its weight: names, or traffic where that is known.

    Domains of one ``group`` are deployed together; one without a group is a group by itself.
    """

    domain: str
    regions: tuple[str, ...]
    weight: float = 1.0
    group: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A region that is added, or that replaces ``instead_of``, and what the domain has then."""

    region: str
    instead_of: str | None
    value: float
    gain: float


@dataclass(frozen=True, slots=True)
class DomainRegret:
    """A domain beside the best set of its size, and the single changes that gain most.

    ``move`` replaces one region, ``addition`` adds one; None where none gains, or none was sought.
    """

    domain: str
    regions: tuple[str, ...]
    weight: float
    value: float
    best: tuple[str, ...]
    best_value: float
    regret: float
    move: Change | None = None
    addition: Change | None = None


@dataclass(frozen=True, slots=True)
class BestSet:
    """The best set of a size, and its value."""

    regions: tuple[str, ...]
    value: float


def read_domain_uses(data: bytes) -> list[DomainUse]:
    """Read a CSV of domain, region, optionally weight and group; raise BadInput naming the line.

    A domain has a row for each of its regions; its weight is the sum of theirs.
    """
    regions: dict[str, dict[str, None]] = {}
    weights: dict[str, float] = {}
    groups: dict[str, str] = {}
    for row in read_rows(data, "domains", ("domain", "region"), ("weight", "group")):
        domain, region, weight = row.need("domain"), row.need("region"), row.number("weight")
        known = regions.setdefault(domain, {})
        if region in known:
            raise BadInput(f"domains: {domain} has {region} twice", line=row.line)
        if groups.setdefault(domain, row.text("group")) != row.text("group"):
            raise BadInput(f"domains: {domain} is in two groups", line=row.line)
        known[region] = None
        weights[domain] = weights.get(domain, 0.0) + (1.0 if weight is None else weight)
    return [
        DomainUse(name, tuple(used), weights[name], groups[name]) for name, used in regions.items()
    ]


def read_group_clients(data: bytes) -> dict[str, dict[str, float]]:
    """Read a CSV of group, client and weight: the clients of each group; raise BadInput."""
    found: dict[str, dict[str, float]] = {}
    for row in read_rows(data, "group_clients", ("group", "client", "weight"), ()):
        group, client, weight = row.need("group"), row.need("client"), row.number("weight")
        weights = found.setdefault(group, {})
        if client in weights or weight is None:
            fault = "is listed twice" if client in weights else "has no weight"
            raise BadInput(f"group_clients: {client!r} of {group!r} {fault}", line=row.line)
        weights[client] = weight
    return found


def find_regrets(
    study: Study, uses: Iterable[DomainUse], best: Mapping[int, BestSet], candidates: Sequence[str]
) -> list[DomainRegret]:
    """Return the regret of each domain, the largest first.

    Domains of a size not in ``best``, or that answer no client, are left out. ``candidates`` are
    the regions that a change may bring; changes are searched for the largest regrets first, for
    about a second.
    """
    sign = 1.0 if study.objective.measure is Measure.LATENCY else -1.0
    values: dict[frozenset[str], float | None] = {}
    found: list[DomainRegret] = []
    for use in uses:
        key, peer = frozenset(use.regions), best.get(len(use.regions))
        if key not in values:
            values[key] = study.value_of(use.regions)
        value = values[key]
        if value is not None and peer is not None:
            lost = max(sign * (value - peer.value), 0.0)
            found.append(
                DomainRegret(
                    *(use.domain, use.regions, use.weight, value),
                    *(peer.regions, peer.value, lost),
                )
            )
    found.sort(key=lambda one: (-one.regret, -one.weight, one.domain))
    changes = _find_changes(study, [one.regions for one in found], candidates, sign)
    nothing = (None, None)
    return [
        replace(one, move=move, addition=addition)
        for one in found
        for move, addition in [changes.get(frozenset(one.regions), nothing)]
    ]


def _find_changes(
    study: Study, sets: Iterable[tuple[str, ...]], candidates: Sequence[str], sign: float
) -> dict[frozenset[str], tuple[Change | None, Change | None]]:
    """Return the best changes of each distinct set, in this order for about a second."""
    found: dict[frozenset[str], tuple[Change | None, Change | None]] = {}
    n_sets = cells = 0
    points = study.samples.values[0].size
    for regions in sets:
        key = frozenset(regions)
        if key in found:
            continue
        tried = len(candidates) * (1 + len(regions))
        n_sets, cells = n_sets + tried, cells + tried * len(regions) * points
        if n_sets > _MOST_SETS or cells > _MOST_CELLS:
            break
        found[key] = best_changes(study, regions, candidates, sign)
    return found


def best_changes(
    study: Study, regions: tuple[str, ...], candidates: Sequence[str], sign: float
) -> tuple[Change | None, Change | None]:
    """Return the replaced and the added region that gain most; None where none gains.

    ``sign`` is 1 where less is better, else -1.
    """
    here = study.value_of(regions)
    best: dict[bool, Change] = {}
    if here is None:
        return None, None
    rests = [(lost, tuple(r for r in regions if r != lost)) for lost in (*regions, None)]
    for region in candidates:
        for lost, rest in rests if region not in regions else ():
            value = study.value_of((*rest, region))
            gain = 0.0 if value is None else sign * (here - value)
            known = best.get(lost is None)
            if value is not None and gain > (known.gain if known else 0.0):
                best[lost is None] = Change(region, lost, value, gain)
    return best.get(False), best.get(True)


def summarise(found: Sequence[DomainRegret]) -> dict[str, Any]:
    """Return weighted means of what domains have and of their best sets, and how many lose."""
    total = sum(one.weight for one in found)
    if not total:
        return {"value": None, "best_value": None, "losing": 0}
    return {
        "value": sum(one.weight * one.value for one in found) / total,
        "best_value": sum(one.weight * one.best_value for one in found) / total,
        "losing": sum(one.regret > 0 for one in found),
    }
