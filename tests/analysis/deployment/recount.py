"""The tables counted again in plain Python, name by name, from the cast itself."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from core.providers import PROVIDERS
from core.records import Placement
from core.report_tables import MEAN_EDGES, cumulate, share
from core.statuses import AddressKind
from tests.analysis.deployment.world_cast import Domain, Name

Pair = tuple[str, str]
Rows = list[tuple[Any, ...]]
FEATURES = {
    "aws": ["vm", "elb", "beanstalk", "heroku-elb", "heroku", "cloudfront"],
    "azure": ["cs", "tm", "cdn"],
    "google": ["vm"],
}
PLACES = ["aws cloudfront", "aws route53", "aws", "azure", "google", "other", "unresolved"]


def in_cloud(place: Placement) -> bool:
    return str(place.kind) in ("cloud", "cdn")


def at_edge(place: Placement) -> Placement:
    """The same address of a CDN, which says nothing of a region."""
    kind = AddressKind.CDN if place.kind == AddressKind.CLOUD else place.kind
    return replace(place, kind=kind)


def lies_in(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)


def exists(name: Name) -> bool:
    answered = str(name.status) in ("NOERROR", "NODATA", "NXDOMAIN")
    return answered and bool(name.chain or name.places)


class Recount:
    """Facts by (domain, name) and by name, gathered one observation at a time."""

    def __init__(self, domains: Sequence[Domain]) -> None:
        self.rank = {d.domain: d.rank for d in domains}
        self.servers = {d.domain: d.servers for d in domains}
        self.found: set[Pair] = set()
        self.places: dict[Pair, set[Placement]] = defaultdict(set)
        self.labels: dict[Pair, set[tuple[str, str, str]]] = defaultdict(set)
        for domain in domains:
            for name in domain.names:
                if lies_in(name.host, domain.domain):
                    self._add((domain.domain, name.host), name)
        for pair, labels in self.labels.items():
            edges = {provider for provider, label, _ in labels if label == "cdn"}
            own_places = self.places[pair]
            self.places[pair] = {at_edge(p) if p.provider in edges else p for p in own_places}
        self.uses = {
            pair: own
            for pair, places in self.places.items()
            if (own := {str(p.provider) for p in places if in_cloud(p)})
        }
        self.by_name: dict[str, list[Pair]] = defaultdict(list)
        for pair in self.uses:
            self.by_name[pair[1]].append(pair)

    def _add(self, pair: Pair, name: Name) -> None:
        if exists(name):
            self.found.add(pair)
        self.places[pair].update(name.places)
        self.labels[pair].update((p, lb, i) for p, lb, ins in name.labels for i in ins)

    def providers(self, names: Iterable[str]) -> set[str]:
        return set().union(*(self.uses[p] for n in names for p in self.by_name[n]))

    def present(self) -> list[str]:
        seen = set().union({"aws", "azure"}, *self.uses.values())
        return [p for p in PROVIDERS if p in seen]

    def users(self, provider: str) -> set[Pair]:
        return {pair for pair, own in self.uses.items() if provider in own}

    def regions(self, pair: Pair) -> set[tuple[str, str]]:
        return {
            (str(p.provider), p.region)
            for p in self.places[pair]
            if str(p.kind) == "cloud" and p.region
        }

    def name_regions(self) -> dict[str, set[tuple[str, str]]]:
        return {n: set().union(*map(self.regions, ps)) for n, ps in self.by_name.items()}

    def labelled(self, provider: str) -> dict[Pair, dict[str, set[str]]]:
        found: dict[Pair, dict[str, set[str]]] = {}
        for pair in self.users(provider):
            found[pair] = defaultdict(set)
            for who, label, instance in self.labels[pair]:
                if who == provider:
                    found[pair][label].add(instance)
        return found


def class_of(providers: set[str], other: bool) -> str:
    ordered = [p for p in PROVIDERS if p in providers]
    if len(ordered) > 1:
        return " + ".join(ordered)
    return ordered[0] + (" + other" if other else " only")


def names_of(pairs: Iterable[Pair]) -> set[str]:
    return {n for _, n in pairs}


def domains_of(pairs: Iterable[Pair]) -> set[str]:
    return {d for d, _ in pairs}


def provider_table(facts: Recount) -> Rows:
    def other(pairs: Iterable[Pair]) -> bool:
        return any(not in_cloud(p) for pair in pairs for p in facts.places[pair])

    every = {n: [p for p in facts.places if p[1] == n] for n in facts.by_name}
    names = Counter(class_of(facts.providers([n]), other(every[n])) for n in facts.by_name)
    wide, narrow = Counter[str](), Counter[str]()
    for domain in domains_of(facts.uses):
        own = [p for p in facts.uses if p[0] == domain]
        providers = set().union(*(facts.uses[p] for p in own))
        wide[class_of(providers, other(p for p in facts.places if p[0] == domain))] += 1
        narrow[class_of(providers, other(own))] += 1
    order = [f"{p} {s}" for p in facts.present() for s in ("only", "+ other")]
    mixed = {*names, *wide, *narrow} - set(order)
    order += sorted(mixed, key=lambda c: [PROVIDERS.index(p) for p in c.split(" + ")])
    counts = [(c, wide[c], names[c], narrow[c]) for c in order]
    for p in facts.present():
        n = len(domains_of(facts.users(p)))
        counts.append((f"{p} total", n, len(names_of(facts.users(p))), n))
    d, s = len(domains_of(facts.uses)), len(facts.by_name)
    counts.append(("total", d, s, d))
    return [(c, w, share(w, d), n, share(n, s), k, share(k, d)) for c, w, n, k in counts]


def pattern_table(facts: Recount) -> Rows:
    rows: Rows = []
    for provider in facts.present():
        labelled = facts.labelled(provider)
        classified = {pair[1] for pair, labels in labelled.items() if labels}
        d, s = len(domains_of(labelled)), len(names_of(labelled))
        for label in [*FEATURES.get(provider, []), "unclassified"]:
            if label == "unclassified":
                own = [p for p in labelled if p[1] not in classified]
                instances = None
            else:
                own = [p for p, labels in labelled.items() if label in labels]
                instances = len(set().union(*(labelled[p][label] for p in own)))
            domains, names = len(domains_of(own)), len(names_of(own))
            cells = (domains, share(domains, d), names, share(names, s), instances)
            rows.append((provider, label, *cells))
    return rows


def region_table(facts: Recount) -> Rows:
    per_name = facts.name_regions()
    users = {p: len(names_of(facts.users(p))) for p in PROVIDERS}
    rows = []
    for spot in set().union(*per_name.values()):
        names = [n for n, spots in per_name.items() if spot in spots]
        alone = sum(len(per_name[n]) == 1 for n in names)
        domains = domains_of(p for p in facts.uses if spot in facts.regions(p))
        rows.append(
            (
                *spot,
                len(domains),
                len(names),
                share(len(names), users[spot[0]]),
                alone,
                share(alone, len(names)),
            )
        )
    return sorted(rows, key=lambda r: (PROVIDERS.index(r[0]), -r[3], r[1]))


def region_count_table(facts: Recount) -> Rows:
    per: dict[str, Counter[int]] = defaultdict(Counter)
    for spots in facts.name_regions().values():
        for provider, n in Counter(p for p, _ in spots).items():
            per[provider][n] += 1
    return [(p, *row) for p in PROVIDERS if p in per for row in cumulate(per[p])]


def region_mean_table(facts: Recount) -> Rows:
    per: dict[Pair, list[int]] = defaultdict(list)
    for pair in facts.uses:
        for provider, n in Counter(p for p, _ in facts.regions(pair)).items():
            per[provider, pair[0]].append(n)
    rows: Rows = []
    for provider in PROVIDERS:
        means = [sum(v) / len(v) for (p, _), v in per.items() if p == provider]
        classes = Counter(next(e for e in MEAN_EDGES if e >= m) for m in means)
        running = 0
        for edge in sorted(classes):
            running += classes[edge]
            row = (share(classes[edge], len(means)), share(running, len(means)))
            rows.append((provider, edge, classes[edge], *row))
    return rows


def instance_table(facts: Recount) -> Rows:
    rows: Rows = []
    for label in ("vm", "elb"):
        per: dict[str, set[str]] = defaultdict(set)
        for pair, labels in facts.labelled("aws").items():
            per[pair[1]] |= labels.get(label, set())
        counts = Counter(len(v) for v in per.values() if v)
        rows += [(label, *row) for row in cumulate(counts)]
    return rows


def server_tables(facts: Recount) -> tuple[Rows, Rows]:
    hosts: dict[str, list[Placement]] = defaultdict(list)
    for domain in domains_of(facts.uses):
        for host, places in facts.servers[domain]:
            hosts[host] += places
    found = Counter(server_place(places) for places in hosts.values())
    rows: Rows = [(p, found[p], share(found[p], len(hosts))) for p in PLACES]
    counts: Counter[int] = Counter()
    for pairs in facts.by_name.values():
        known = [(len(d), len({h for h, _ in facts.servers[d]})) for d, _ in pairs]
        with_servers = [k for k in known if k[1]]
        if with_servers:
            counts[max(with_servers)[1]] += 1
    total = ("total", len(hosts), share(len(hosts), len(hosts)))
    return [*rows, total], list(cumulate(counts))


def server_place(places: Sequence[Placement]) -> str:
    services = {p.service for p in places if p.provider == "aws" and in_cloud(p)}
    clouds = {p.provider for p in places if in_cloud(p)}
    if "CLOUDFRONT" in services:
        return "aws cloudfront"
    if any(str(s).startswith("ROUTE53") for s in services):
        return "aws route53"
    for provider in ("aws", "azure", "google"):
        if provider in clouds:
            return provider
    return "other" if places else "unresolved"


def top_tables(facts: Recount) -> dict[str, Rows]:
    ranked = sorted(domains_of(facts.uses), key=lambda d: (facts.rank[d], d))
    labelled = facts.labelled("aws")
    top = [d for d in ranked if d in domains_of(facts.users("aws"))][:10]
    domains, features, regions = [], [], []
    for d in top:
        own = [p for p in labelled if p[0] == d]
        domains.append((facts.rank[d], d, sum(p[0] == d for p in facts.found), len(own)))
        have = {lb: [p for p in own if lb in labelled[p]] for lb in FEATURES["aws"]}
        paas = {p for lb in ("beanstalk", "heroku-elb", "heroku") for p in have[lb]}
        ips = set().union(*(labelled[p]["elb"] for p in have["elb"]))
        counts = (len(have["vm"]), len(paas), len(have["elb"]), len(ips), len(have["cloudfront"]))
        features.append((facts.rank[d], d, len(own), *counts))
    for d in ranked[:15]:
        spots = [facts.regions(p) for p in facts.uses if p[0] == d]
        k = Counter(min(len(s), 3) for s in spots)
        row = (len(spots), len(set().union(*spots)), k[1], k[2], k[3])
        regions.append((facts.rank[d], d, *row))
    return {"top-domains": domains, "top-features": features, "top-regions": regions}


def recount(domains: Sequence[Domain]) -> dict[str, Rows]:
    """Rows of every table by id."""
    facts = Recount(domains)
    servers, server_counts = server_tables(facts)
    return {
        "providers": provider_table(facts),
        "patterns": pattern_table(facts),
        "regions": region_table(facts),
        "region-counts": region_count_table(facts),
        "domain-region-means": region_mean_table(facts),
        "instance-counts": instance_table(facts),
        "name-servers": servers,
        "name-server-counts": server_counts,
        **top_tables(facts),
    }
