"""Tables of zones and of sharing from a world's truth, one plain function each.

A crawl does not see zones: these tables hold for a survey that imported the world's zones, as
``testbed observe`` does.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from core.report_tables import MEAN_EDGES, SHARING_EDGES, SPEC_BY_ID, TableSpec, cumulate, share
from core.statuses import AddressKind
from testbed.truth.tables import Rows, best_domains
from testbed.world.facts import Fact
from testbed.world.model import World

# (region, zone); an empty zone is an unidentified one.
ZoneKey = tuple[str, str]


def _address_zones(world: World, fact: Fact) -> dict[str, ZoneKey]:
    """Return region and zone of each address of a name in an AWS region."""
    places = {a: world.place(a) for a in fact.name.addresses}
    return {
        a: (str(p.region), p.zone or "")
        for a, p in places.items()
        if p.provider == "aws" and p.kind == AddressKind.CLOUD and p.region
    }


def _identified(world: World, fact: Fact) -> set[ZoneKey]:
    return {key for key in _address_zones(world, fact).values() if key[1]}


def fill_zone_usage(world: World, facts: Sequence[Fact]) -> Rows:
    """Count Table 12, with rows for addresses of unidentified zones."""
    names: Counter[ZoneKey] = Counter()
    alone: Counter[ZoneKey] = Counter()
    domains: dict[ZoneKey, set[str]] = defaultdict(set)
    instances: dict[ZoneKey, set[str]] = defaultdict(set)
    for fact in facts:
        own = _address_zones(world, fact)
        for address, key in own.items():
            instances[key].add(address)
            domains[key].add(fact.zone.domain)
        names.update(set(own.values()))
        if len(set(own.values())) == 1 and len(fact.regions) == 1:
            alone[next(iter(own.values()))] += 1
    users = sum("aws" in fact.providers for fact in facts)
    uses = Counter[str]()
    for (region, _), count in names.items():
        uses[region] += count
    rows: Rows = []
    for key in sorted(names, key=lambda s: (-uses[s[0]], s[0], not s[1], s[1])):
        region, zone = key
        only = (alone[key], share(alone[key], names[key])) if zone else (None, None)
        counts = (len(domains[key]), names[key], share(names[key], users))
        rows.append(("aws", region, zone or "unknown", *counts, *only, len(instances[key])))
    return rows


def fill_zone_counts(world: World, facts: Sequence[Fact]) -> Rows:
    """Figure 13a."""
    counts = Counter(len(zones) for f in facts if (zones := _identified(world, f)))
    return [("aws", *row) for row in cumulate(counts)]


def fill_zone_means(world: World, facts: Sequence[Fact]) -> Rows:
    """Figure 13b."""
    per: dict[str, list[int]] = defaultdict(list)
    for fact in facts:
        zones = _identified(world, fact)
        if zones:
            per[fact.zone.domain].append(len(zones))
    means = [Fraction(sum(k), len(k)) for k in per.values()]
    edges = Counter(_edge(mean) for mean in means)
    return [("aws", *row) for row in cumulate(edges)]


def _edge(mean: Fraction) -> float:
    return next((e for e in MEAN_EDGES if mean <= e), float(-(-mean // 1)))


def fill_top_zones(world: World, facts: Sequence[Fact]) -> Rows:
    """Table 13."""
    rows: Rows = []
    for zone, own in best_domains(facts, 10, "aws"):
        found = [_identified(world, f) for f in own if "aws" in f.providers]
        k = Counter(min(len(zones), 3) for zones in found)
        spread = len(set().union(*found))
        rows.append((zone.rank, zone.domain, len(found), spread, k[0], k[1], k[2], k[3]))
    return rows


def fill_elb_sharing(world: World, facts: Sequence[Fact]) -> Rows:
    """Names behind each address of a load balancer."""
    behind = Counter(a for f in facts for a in set(f.labels.get(("aws", "elb"), ())))
    return _classes(behind.values())


def fill_server_sharing(world: World, facts: Sequence[Fact]) -> Rows:
    """Cloud-using domains of each name server."""
    zones = {f.zone.domain: f.zone for f in facts if f.providers}
    return _classes(Counter(h for z in zones.values() for h in set(z.servers)).values())


def _classes(counts: Iterable[int]) -> Rows:
    found = list(counts)
    edges = Counter(next((e for e in SHARING_EDGES if e >= k), max(found)) for k in found)
    return [*cumulate(edges)]


Filler = Callable[[World, Sequence[Fact]], Rows]
# Tables that any survey has, and those that need the world's zones.
SHARING_TABLES: dict[str, tuple[TableSpec, Filler]] = {
    "elb-sharing": (SPEC_BY_ID["elb-sharing"], fill_elb_sharing),
    "name-server-sharing": (SPEC_BY_ID["name-server-sharing"], fill_server_sharing),
}
ZONE_TABLES: dict[str, tuple[TableSpec, Filler]] = {
    "zone-usage": (SPEC_BY_ID["zone-usage"], fill_zone_usage),
    "zone-counts": (SPEC_BY_ID["zone-counts"], fill_zone_counts),
    "domain-zone-means": (SPEC_BY_ID["domain-zone-means"], fill_zone_means),
    "top-zones": (SPEC_BY_ID["top-zones"], fill_top_zones),
}
