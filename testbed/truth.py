"""What is true of a world, counted straight from its plan.

Written apart from ``analysis`` on purpose: a survey is right when two independent counts agree.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from core.tables import (
    MEAN_EDGES,
    PROVIDERS,
    SPEC_BY_ID,
    TOP_CLOUD_DOMAINS,
    TOP_EC2_DOMAINS,
    Cell,
    cumulate,
    share,
)
from testbed.addresses import EDGE
from testbed.worlds import Name, World, Zone

_FEATURES = {
    "aws": ("vm", "elb", "beanstalk", "heroku-elb", "heroku", "cloudfront"),
    "azure": ("cs", "tm", "cdn"),
    "google": ("vm",),
}
_PAAS = {"beanstalk", "heroku-elb", "heroku"}
Rows = list[tuple[Cell, ...]]


def is_findable(zone: Zone, name: Name, words: set[str], axfr: bool) -> bool:
    """Whether the crawl's technique can find a name."""
    if zone.fault:
        return False
    if name.host == zone.domain or (axfr and zone.transfer == "allowed"):
        return True
    return name.host.removesuffix("." + zone.domain) in words


class _Fact:
    """One name with what follows from its addresses."""

    def __init__(self, world: World, zone: Zone, name: Name) -> None:
        places = [world.truth.get(a) for a in name.addresses]
        self.zone = zone
        self.name = name
        self.providers = {p.provider for p in places if p}
        self.other = any(p is None for p in places)
        self.regions = {(p.provider, p.region) for p in places if p and p.service != EDGE}
        labels: dict[str, set[str]] = defaultdict(set)
        for provider, label in name.features:
            labels[provider].add(label)
            if label in ("beanstalk", "heroku-elb"):
                labels[provider].add("elb")
        self.labels = labels
        self.by_provider = {
            p: [a for a, t in zip(name.addresses, places, strict=True) if t and t.provider == p]
            for p in self.providers
        }
        self.edge = [
            a for a, t in zip(name.addresses, places, strict=True) if t and t.service == EDGE
        ]

    @property
    def cloud(self) -> bool:
        return bool(self.providers)

    def instances(self, provider: str, label: str) -> list[str]:
        """What the label counts for this name."""
        if label == "cloudfront":
            return self.edge
        if provider == "azure" and self.name.chain:
            return [self.name.chain[0]]
        addresses = self.by_provider[provider]
        return [a for a in addresses if a not in self.edge] if label == "vm" else addresses


def truth(world: World, words: Sequence[str], *, axfr: bool = True) -> dict[str, Any]:
    """Tables for the names that the technique can find, and how many it cannot."""
    listed = set(words)
    facts, missed, all_cloud = [], Counter[str](), 0
    for zone in world.zones:
        for name in zone.names:
            fact = _Fact(world, zone, name)
            all_cloud += fact.cloud
            if is_findable(zone, name, listed, axfr):
                facts.append(fact)
            elif fact.cloud:
                missed["zone fails" if zone.fault else "label not in word list"] += 1
    tables = {
        table_id: {"columns": list(SPEC_BY_ID[table_id].columns), "rows": [list(r) for r in rows]}
        for table_id, rows in _tables(world, facts).items()
    }
    return {
        "world": world.id,
        "scale": str(world.scale),
        "seed": world.seed,
        "names": {
            "findable": len(facts),
            "cloud": sum(f.cloud for f in facts),
            "all_cloud": all_cloud,
            "missed": dict(missed),
        },
        "tables": tables,
        "notes": world.notes,
    }


def _tables(world: World, facts: list[_Fact]) -> dict[str, Rows]:
    cloud = [f for f in facts if f.cloud]
    by_domain: dict[str, list[_Fact]] = defaultdict(list)
    for fact in facts:
        by_domain[fact.zone.domain].append(fact)
    used = {d: fs for d, fs in by_domain.items() if any(f.cloud for f in fs)}
    return {
        "providers": _providers(cloud, used),
        "patterns": _patterns(cloud),
        "regions": _regions(cloud),
        "region-counts": _region_counts(cloud),
        "domain-region-means": _region_means(cloud),
        "instance-counts": _instance_counts(cloud),
        "name-servers": _name_servers(world, used),
        "name-server-counts": _server_counts(cloud),
        **_tops(used),
    }


def _class(providers: Iterable[str], other: bool) -> str:
    ordered = [p for p in PROVIDERS if p in set(providers)]
    if len(ordered) > 1:
        return " + ".join(ordered)
    return f"{ordered[0]} + other" if other else f"{ordered[0]} only"


def _present(cloud: list[_Fact]) -> list[str]:
    seen = {"aws", "azure"}.union(*(f.providers for f in cloud)) if cloud else {"aws", "azure"}
    return [p for p in PROVIDERS if p in seen]


def _providers(cloud: list[_Fact], used: dict[str, list[_Fact]]) -> Rows:
    names = Counter(_class(f.providers, f.other) for f in cloud)
    wide, narrow = Counter[str](), Counter[str]()
    totals: dict[str, list[int]] = {p: [0, 0] for p in PROVIDERS}
    for fact in cloud:
        for p in fact.providers:
            totals[p][1] += 1
    for facts in used.values():
        union = set().union(*(f.providers for f in facts))
        wide[_class(union, any(f.other for f in facts))] += 1
        narrow[_class(union, any(f.other for f in facts if f.cloud))] += 1
        for p in union:
            totals[p][0] += 1
    present = _present(cloud)
    order = [f"{p} {s}" for p in present for s in ("only", "+ other")]
    mixed = sorted(
        {c for c in [*names, *wide, *narrow] if c not in order},
        key=lambda c: [PROVIDERS.index(p) for p in c.split(" + ")],
    )
    rows = [(c, wide[c], names[c], narrow[c]) for c in order + mixed]
    rows += [(f"{p} total", totals[p][0], totals[p][1], totals[p][0]) for p in present]
    rows.append(("total", len(used), len(cloud), len(used)))
    d, s = len(used), len(cloud)
    return [(c, w, share(w, d), n, share(n, s), k, share(k, d)) for c, w, n, k in rows]


def _patterns(cloud: list[_Fact]) -> Rows:
    rows: Rows = []
    for provider in _present(cloud):
        own = [f for f in cloud if provider in f.providers]
        n_domains = len({f.zone.domain for f in own})
        for label in (*_FEATURES.get(provider, ()), "unclassified"):
            with_it = [
                f
                for f in own
                if label in f.labels[provider]
                or (label == "unclassified" and not f.labels[provider])
            ]
            counted = [] if label == "unclassified" else with_it
            instances = len({i for f in counted for i in f.instances(provider, label)})
            domains = len({f.zone.domain for f in with_it})
            rows.append(
                (
                    provider,
                    label,
                    domains,
                    share(domains, n_domains),
                    len(with_it),
                    share(len(with_it), len(own)),
                    None if label == "unclassified" else instances,
                )
            )
    return rows


def _regions(cloud: list[_Fact]) -> Rows:
    names: Counter[tuple[str, str]] = Counter()
    only: Counter[tuple[str, str]] = Counter()
    domains: dict[tuple[str, str], set[str]] = defaultdict(set)
    users: Counter[str] = Counter()
    for fact in cloud:
        users.update(fact.providers)
        for region in fact.regions:
            names[region] += 1
            domains[region].add(fact.zone.domain)
            only[region] += len(fact.regions) == 1
    order = sorted(names, key=lambda r: (PROVIDERS.index(r[0]), -names[r], r[1]))
    return [
        (
            *r,
            len(domains[r]),
            names[r],
            share(names[r], users[r[0]]),
            only[r],
            share(only[r], names[r]),
        )
        for r in order
    ]


def _counts_of(fact: _Fact) -> dict[str, int]:
    return dict(Counter(p for p, _ in fact.regions))


def _region_counts(cloud: list[_Fact]) -> Rows:
    per: dict[str, Counter[int]] = defaultdict(Counter)
    for fact in cloud:
        for provider, count in _counts_of(fact).items():
            per[provider][count] += 1
    return [(p, *row) for p in PROVIDERS if p in per for row in cumulate(per[p])]


def _region_means(cloud: list[_Fact]) -> Rows:
    per: dict[tuple[str, str], list[int]] = defaultdict(list)
    for fact in cloud:
        for provider, count in _counts_of(fact).items():
            per[provider, fact.zone.domain].append(count)
    edges: dict[str, Counter[float]] = defaultdict(Counter)
    for (provider, _), counts in per.items():
        mean = sum(counts) / len(counts)
        edges[provider][next(e for e in MEAN_EDGES if e >= mean)] += 1
    rows: Rows = []
    for provider in (p for p in PROVIDERS if p in edges):
        whole, running = sum(edges[provider].values()), 0
        for edge in sorted(edges[provider]):
            n = edges[provider][edge]
            running += n
            rows.append((provider, edge, n, share(n, whole), share(running, whole)))
    return rows


def _instance_counts(cloud: list[_Fact]) -> Rows:
    rows: Rows = []
    for label in ("vm", "elb"):
        counts = Counter(
            len(set(f.instances("aws", label))) for f in cloud if label in f.labels["aws"]
        )
        rows += [(label, *row) for row in cumulate(dict(counts))]
    return rows


def _name_servers(world: World, used: dict[str, list[_Fact]]) -> Rows:
    hosts = {h for facts in used.values() for h in facts[0].zone.servers}
    places = Counter(_server_place(world, h) for h in hosts)
    order = ("aws cloudfront", "aws route53", "aws", "azure", "google", "other", "unresolved")
    rows: Rows = [(p, places[p], share(places[p], len(hosts))) for p in order]
    return [*rows, ("total", len(hosts), share(len(hosts), len(hosts)))]


def _server_place(world: World, host: str) -> str:
    known = world.truth.get(world.hosts[host])
    if known is None:
        return "other"
    return "aws cloudfront" if known.service == EDGE else known.provider


def _server_counts(cloud: list[_Fact]) -> Rows:
    return list(cumulate(dict(Counter(len(f.zone.servers) for f in cloud if f.zone.servers))))


def _tops(used: dict[str, list[_Fact]]) -> dict[str, Rows]:
    ranked = sorted(used.values(), key=lambda fs: (fs[0].zone.rank, fs[0].zone.domain))
    on_aws = [fs for fs in ranked if any("aws" in f.providers for f in fs)][:TOP_EC2_DOMAINS]
    return {
        "top-domains": [
            (*_who(fs), len(fs), sum("aws" in f.providers for f in fs)) for fs in on_aws
        ],
        "top-features": [_top_features(fs) for fs in on_aws],
        "top-regions": [_top_regions(fs) for fs in ranked[:TOP_CLOUD_DOMAINS]],
    }


def _who(facts: list[_Fact]) -> tuple[int, str]:
    return facts[0].zone.rank, facts[0].zone.domain


def _top_features(facts: list[_Fact]) -> tuple[Cell, ...]:
    own = [f for f in facts if "aws" in f.providers]
    balanced = [f for f in own if "elb" in f.labels["aws"]]
    return (
        *_who(facts),
        len(own),
        sum("vm" in f.labels["aws"] for f in own),
        sum(bool(_PAAS & f.labels["aws"]) for f in own),
        len(balanced),
        len({i for f in balanced for i in f.instances("aws", "elb")}),
        sum("cloudfront" in f.labels["aws"] for f in own),
    )


def _top_regions(facts: list[_Fact]) -> tuple[Cell, ...]:
    cloud = [f for f in facts if f.cloud]
    counts = Counter(min(len(f.regions), 3) for f in cloud)
    regions = set().union(*(f.regions for f in cloud))
    return (*_who(facts), len(cloud), len(regions), counts[1], counts[2], counts[3])
