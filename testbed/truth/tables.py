"""The report tables of a world's truth, one plain function each."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from core.providers import PROVIDERS
from core.report_tables import (
    MEAN_EDGES,
    SPEC_BY_ID,
    TOP_CLOUD_DOMAINS,
    TOP_EC2_DOMAINS,
    Cell,
    TableSpec,
    cumulate,
    share,
)
from testbed.world.facts import Fact
from testbed.world.model import World, Zone

Rows = list[tuple[Cell, ...]]
_LABELS = {
    "aws": ("vm", "elb", "beanstalk", "heroku-elb", "heroku", "cloudfront", "unclassified"),
    "azure": ("cs", "tm", "cdn", "unclassified"),
    "google": ("vm", "unclassified"),
}
_ALWAYS = ("aws", "azure")
_PAAS = ("beanstalk", "heroku", "heroku-elb")
_LOCATIONS = ("aws cloudfront", "aws route53", "aws", "azure", "google", "other", "unresolved")


def _in_cloud(facts: Iterable[Fact]) -> list[Fact]:
    return [fact for fact in facts if fact.providers]


def _class(providers: Sequence[str], elsewhere: bool) -> str:
    if len(providers) > 1:
        return " + ".join(providers)
    return f"{providers[0]} {'+ other' if elsewhere else 'only'}"


def _classify_domains(facts: Iterable[Fact]) -> dict[str, str]:
    """Class of each cloud-using domain from all of ``facts`` that are its own."""
    providers: dict[str, set[str]] = defaultdict(set)
    elsewhere: dict[str, bool] = defaultdict(bool)
    for fact in facts:
        providers[fact.zone.domain].update(fact.providers)
        elsewhere[fact.zone.domain] |= fact.elsewhere
    return {
        domain: _class([p for p in PROVIDERS if p in used], elsewhere[domain])
        for domain, used in providers.items()
        if used
    }


def fill_providers(world: World, facts: Sequence[Fact]) -> Rows:
    """Table 5: names by class; domains by the union over all names, and over cloud names."""
    cloud = _in_cloud(facts)
    names = Counter(_class(f.providers, f.elsewhere) for f in cloud)
    domains, narrow = (
        Counter(_classify_domains(facts).values()),
        Counter(_classify_domains(cloud).values()),
    )
    order = _class_order({*names, *domains, *narrow})
    whole = (sum(domains.values()), sum(names.values()), sum(narrow.values()))
    counts = {c: (domains[c], names[c], narrow[c]) for c in order}
    totals = [p for p in PROVIDERS if any(p in c.split(" ") for c in order)]
    for provider in totals:
        own = [counts[c] for c in order if provider in c.split(" ")]
        counts[f"{provider} total"] = (
            sum(c[0] for c in own),
            sum(c[1] for c in own),
            sum(c[2] for c in own),
        )
    counts["total"] = whole
    return [
        (c, d, share(d, whole[0]), n, share(n, whole[1]), o, share(o, whole[2]))
        for c, (d, n, o) in counts.items()
    ]


def _class_order(found: set[str]) -> list[str]:
    """Each provider alone, then combinations; aws and azure always."""
    order: list[str] = []
    for provider in PROVIDERS:
        own = [f"{provider} only", f"{provider} + other"]
        if provider in _ALWAYS or any(c in found for c in own):
            order += own
    mixed = sorted(
        (c for c in found if c not in order),
        key=lambda c: [PROVIDERS.index(p) for p in c.split(" + ")],
    )
    return order + mixed


def fill_patterns(world: World, facts: Sequence[Fact]) -> Rows:
    """Table 8: names, domains and distinct instances by label."""
    names: Counter[tuple[str, str]] = Counter()
    domains: dict[tuple[str, str], set[str]] = defaultdict(set)
    instances: dict[tuple[str, str], set[str]] = defaultdict(set)
    totals: Counter[str] = Counter()
    users: dict[str, set[str]] = defaultdict(set)
    for fact in _in_cloud(facts):
        for provider in fact.providers:
            totals[provider] += 1
            users[provider].add(fact.zone.domain)
        for key, found in fact.labels.items():
            names[key] += 1
            domains[key].add(fact.zone.domain)
            instances[key].update(found)
    rows: Rows = []
    for provider, labels in _LABELS.items():
        for label in labels if provider in _ALWAYS or totals[provider] else ():
            key = (provider, label)
            counted = None if label == "unclassified" else len(instances[key])
            rows.append(
                (
                    provider,
                    label,
                    len(domains[key]),
                    share(len(domains[key]), len(users[provider])),
                    names[key],
                    share(names[key], totals[provider]),
                    counted,
                )
            )
    return rows


def fill_regions(world: World, facts: Sequence[Fact]) -> Rows:
    """Table 10: one count per name and region; ``only_here`` uses no other region at all.

    ``only_here_share`` is of the region's own names.
    """
    names: Counter[tuple[str, str]] = Counter()
    alone: Counter[tuple[str, str]] = Counter()
    domains: dict[tuple[str, str], set[str]] = defaultdict(set)
    totals = Counter(p for f in facts for p in f.providers)
    for fact in _in_cloud(facts):
        for key in fact.regions:
            names[key] += 1
            domains[key].add(fact.zone.domain)
        if len(fact.regions) == 1:
            alone[fact.regions[0]] += 1
    keys = sorted(names, key=lambda k: (PROVIDERS.index(k[0]), -names[k], k[1]))
    return [
        (
            *key,
            len(domains[key]),
            names[key],
            share(names[key], totals[key[0]]),
            alone[key],
            share(alone[key], names[key]),
        )
        for key in keys
    ]


def _region_counts(facts: Iterable[Fact]) -> dict[str, list[tuple[str, int]]]:
    """(domain, number of regions) of each name, by provider."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for fact in facts:
        for provider, count in Counter(p for p, _ in fact.regions).items():
            found[provider].append((fact.zone.domain, count))
    return {p: found[p] for p in PROVIDERS if p in found}


def fill_region_counts(world: World, facts: Sequence[Fact]) -> Rows:
    """Figure 12a."""
    return [
        (provider, *row)
        for provider, counted in _region_counts(facts).items()
        for row in cumulate(Counter(n for _, n in counted))
    ]


def fill_domain_region_means(world: World, facts: Sequence[Fact]) -> Rows:
    """Figure 12b: unweighted means, each domain under the first edge that holds its mean."""
    rows: Rows = []
    for provider, counted in _region_counts(facts).items():
        by_domain: dict[str, list[int]] = defaultdict(list)
        for domain, count in counted:
            by_domain[domain].append(count)
        means = [Fraction(sum(counts), len(counts)) for counts in by_domain.values()]
        edges = Counter(next(e for e in MEAN_EDGES if mean <= e) for mean in means)
        running = 0
        for edge in (e for e in MEAN_EDGES if edges[e]):
            running += edges[edge]
            here, so_far = share(edges[edge], len(means)), share(running, len(means))
            rows.append((provider, edge, edges[edge], here, so_far))
    return rows


def fill_instance_counts(world: World, facts: Sequence[Fact]) -> Rows:
    """Figure 10."""
    rows: Rows = []
    for label in ("vm", "elb"):
        counts = Counter(
            len(set(fact.labels["aws", label])) for fact in facts if ("aws", label) in fact.labels
        )
        rows += [(label, *row) for row in cumulate(counts)]
    return rows


def _zones_in_cloud(facts: Iterable[Fact]) -> dict[str, Zone]:
    return {fact.zone.domain: fact.zone for fact in _in_cloud(facts)}


def _location(world: World, host: str) -> str:
    places = [world.place(address) for address in world.hosts.get(host, ())]
    if not places:
        return "unresolved"
    services = {p.service or "" for p in places if p.provider == "aws"}
    if "CLOUDFRONT" in services:
        return "aws cloudfront"
    if any(service.startswith("ROUTE53") for service in services):
        return "aws route53"
    providers = {p.provider for p in places}
    return next((p for p in ("aws", "azure", "google") if p in providers), "other")


def fill_name_servers(world: World, facts: Sequence[Fact]) -> Rows:
    """Section 4.4.1: distinct name servers of cloud-using domains, by where they stand."""
    hosts = {host for zone in _zones_in_cloud(facts).values() for host in zone.servers}
    counts = Counter(_location(world, host) for host in hosts)
    rows: Rows = [(x, counts[x], share(counts[x], len(hosts))) for x in _LOCATIONS]
    return [*rows, ("total", len(hosts), share(len(hosts), len(hosts)))]


def fill_name_server_counts(world: World, facts: Sequence[Fact]) -> Rows:
    """Figure 11; names of domains without any server are left out."""
    counts = Counter(len(set(f.zone.servers)) for f in _in_cloud(facts) if f.zone.servers)
    return [*cumulate(counts)]


def best_domains(
    facts: Sequence[Fact], count: int, provider: str = ""
) -> list[tuple[Zone, list[Fact]]]:
    """The best-ranked cloud-using domains (of a provider), each with all its names."""
    own: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        own[fact.zone.domain].append(fact)
    users = {
        f.zone.domain: f.zone
        for f in facts
        if (provider in f.providers if provider else f.providers)
    }
    best = sorted(users.values(), key=lambda zone: (zone.rank, zone.domain))[:count]
    return [(zone, own[zone.domain]) for zone in best]


def fill_top_domains(world: World, facts: Sequence[Fact]) -> Rows:
    """Table 6."""
    return [
        (zone.rank, zone.domain, len(own), sum(1 for f in own if "aws" in f.providers))
        for zone, own in best_domains(facts, TOP_EC2_DOMAINS, "aws")
    ]


def fill_top_features(world: World, facts: Sequence[Fact]) -> Rows:
    """Table 9."""
    rows: Rows = []
    for zone, own in best_domains(facts, TOP_EC2_DOMAINS, "aws"):
        aws: list[Mapping[str, tuple[str, ...]]] = [
            {label: i for (p, label), i in f.labels.items() if p == "aws"}
            for f in own
            if "aws" in f.providers
        ]
        balancers = {i for labels in aws for i in labels.get("elb", ())}
        rows.append(
            (
                zone.rank,
                zone.domain,
                len(aws),
                sum("vm" in x for x in aws),
                sum(any(p in x for p in _PAAS) for x in aws),
                sum("elb" in x for x in aws),
                len(balancers),
                sum("cloudfront" in x for x in aws),
            )
        )
    return rows


def fill_top_regions(world: World, facts: Sequence[Fact]) -> Rows:
    """Table 11."""
    rows: Rows = []
    for zone, own in best_domains(facts, TOP_CLOUD_DOMAINS):
        cloud = _in_cloud(own)
        regions = {key for f in cloud for key in f.regions}
        sizes = Counter(min(len(f.regions), 3) for f in cloud)
        counts = (sizes[1], sizes[2], sizes[3])
        rows.append((zone.rank, zone.domain, len(cloud), len(regions), *counts))
    return rows


_FILLERS: dict[str, Callable[[World, Sequence[Fact]], Rows]] = {
    "providers": fill_providers,
    "patterns": fill_patterns,
    "regions": fill_regions,
    "region-counts": fill_region_counts,
    "domain-region-means": fill_domain_region_means,
    "instance-counts": fill_instance_counts,
    "name-servers": fill_name_servers,
    "name-server-counts": fill_name_server_counts,
    "top-domains": fill_top_domains,
    "top-features": fill_top_features,
    "top-regions": fill_top_regions,
}
TABLES: dict[str, tuple[TableSpec, Callable[[World, Sequence[Fact]], Rows]]] = {
    table: (SPEC_BY_ID[table], fill) for table, fill in _FILLERS.items()
}
