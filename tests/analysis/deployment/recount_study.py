"""Zones, sharing, customers and outages counted again in plain Python, name by name."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.deployment.countries import continents, region_countries, top_level_countries
from core.providers import PROVIDERS
from core.report_tables import MEAN_EDGES, SHARING_EDGES, cumulate, share
from tests.analysis.deployment.recount import Pair, Recount, domains_of, in_cloud, names_of

Rows = list[tuple[Any, ...]]
Zone = tuple[str, str, str]  # address, region, zone
Weight = tuple[str, str, float]  # domain, country, weight
_LONG = {"ac", "co", "com", "edu", "gov", "net", "ne", "or", "org"}


class Study:
    """What the tables of the study start from, by name and by domain."""

    def __init__(
        self, facts: Recount, zones: Sequence[Zone] = (), customers: Sequence[Weight] = ()
    ) -> None:
        self.facts = facts
        self.customers = customers
        labels: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for address, region, zone in zones:
            if zone:
                labels[address].add((region, zone))
        self.labels = {a: next(iter(found)) for a, found in labels.items() if len(found) == 1}
        self.names = sorted(facts.by_name)
        self.domains = sorted(domains_of(facts.uses))
        self.ends = {
            name: {p for pair, places in facts.places.items() if pair[1] == name for p in places}
            for name in self.names
        }
        self.servers = {d: {h for h, _ in facts.servers[d]} for d in self.domains}
        self.posts: dict[str, set[Any]] = defaultdict(set)
        for d in self.domains:
            for host, places in facts.servers[d]:
                self.posts[host].update(places)

    def zone_of(self, place: Any) -> str | None:
        region, zone = self.labels.get(place.address, ("", ""))
        return zone if zone and region == region_of(place) else None

    def stays(self, name: str) -> set[tuple[str, str, str | None]]:
        """(provider, region, zone) of a name's addresses in regions."""
        return {
            (str(p.provider), str(p.region), self.zone_of(p))
            for p in self.ends[name]
            if region_of(p)
        }

    def pairs_of(self, name: str) -> list[Pair]:
        return self.facts.by_name[name]

    def keeper(self, name: str) -> str | None:
        known = [d for d, _ in self.pairs_of(name) if self.servers[d]]
        return max(known, key=len) if known else None

    def home(self, name: str) -> str:
        return max((d for d, _ in self.pairs_of(name)), key=len)


def region_of(place: Any) -> str | None:
    return place.region if str(place.kind) == "cloud" else None


def zone_tables(study: Study) -> dict[str, Rows]:
    stays = {n: study.stays(n) for n in study.names}
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for name, own in stays.items():
        for provider, k in Counter(p for p, _, z in own if z).items():
            counts[provider][name] = k
    means: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for provider, names in counts.items():
        for name, k in names.items():
            for domain, _ in study.pairs_of(name):
                means[provider][domain].append(k)
    classes: dict[str, Counter[float]] = {}
    for provider, found in means.items():
        edges = (next(e for e in MEAN_EDGES if e >= sum(k) / len(k)) for k in found.values())
        classes[provider] = Counter(edges)
    present = [p for p in PROVIDERS if p in counts]
    return {
        "zone-usage": usage_table(study, stays),
        "zone-counts": [
            (p, *row) for p in present for row in cumulate(Counter(counts[p].values()))
        ],
        "domain-zone-means": [(p, *row) for p in present for row in cumulate(classes[p])],
        "top-zones": top_table(study, stays),
    }


def usage_table(study: Study, stays: Mapping[str, Any]) -> Rows:
    every = set().union(*stays.values())
    zoned = {"aws"} | {p for p, _, z in every if z}
    users = {p: len(names_of(study.facts.users(p))) for p in PROVIDERS}
    spots = {(p, region_of(p)) for places in study.ends.values() for p in places if region_of(p)}
    addresses: dict[Any, set[str]] = defaultdict(set)
    for place, region in spots:
        addresses[place.provider, region, study.zone_of(place)].add(place.address)
    uses: Counter[Any] = Counter()
    rows = []
    for key in (k for k in every if k[0] in zoned):
        names = [n for n, own in stays.items() if key in own]
        domains = {d for n in names for d, _ in study.pairs_of(n)}
        alone = sum(stays[n] == {key} for n in names)
        uses[key[:2]] += len(names)
        only = (alone, share(alone, len(names))) if key[2] else (None, None)
        whole = share(len(names), users[key[0]])
        zone = key[2] or "unknown"
        rows.append((*key[:2], zone, len(domains), len(names), whole, *only, len(addresses[key])))
    return sorted(
        rows, key=lambda r: (PROVIDERS.index(r[0]), -uses[r[:2]], r[1], r[6] is None, r[2])
    )


def top_table(study: Study, stays: Mapping[str, Any]) -> Rows:
    rank, users = study.facts.rank, study.facts.users("aws")
    rows: Rows = []
    for d in sorted(domains_of(users), key=lambda d: (rank[d], d))[:10]:
        own = [{(r, z) for p, r, z in stays[n] if p == "aws" and z} for e, n in users if e == d]
        k = Counter(min(len(zones), 3) for zones in own)
        spread = len(set().union(*own))
        rows.append((rank[d], d, len(own), spread, k[0], k[1], k[2], k[3]))
    return rows


def classes_of(counts: Sequence[int]) -> Rows:
    most = max(counts, default=0)
    return list(cumulate(Counter(next((e for e in SHARING_EDGES if e >= k), most) for k in counts)))


def operator_of(server: str) -> str:
    labels = server.split(".")
    long = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _LONG
    registered = labels[-3 if long else -2 :]
    return "Amazon Route 53" if registered[0].startswith("awsdns-") else ".".join(registered)


def sharing_tables(study: Study) -> dict[str, Rows]:
    behind: dict[str, set[str]] = defaultdict(set)
    for pair, labels in study.facts.labelled("aws").items():
        for address in labels.get("elb", ()):
            behind[address].add(pair[1])
    served = Counter(h for d in study.domains for h in study.servers[d])
    operators = {d: {operator_of(h) for h in study.servers[d]} for d in study.domains}
    rows = []
    for who in set().union(*operators.values()):
        domains = [d for d in study.domains if who in operators[d]]
        names = [n for n in study.names if study.keeper(n) in domains]
        alone = sum(operators[str(study.keeper(n))] == {who} for n in names)
        servers = {h for d in domains for h in study.servers[d] if operator_of(h) == who}
        parts = (share(len(domains), len(study.domains)), len(names))
        shares = (share(len(names), len(study.names)), alone, share(alone, len(names)))
        rows.append((who, len(servers), len(domains), *parts, *shares))
    return {
        "elb-sharing": classes_of([len(names) for names in behind.values()]),
        "name-server-sharing": classes_of(list(served.values())),
        "name-server-operators": sorted(rows, key=lambda r: (-r[4], -r[2], r[0]))[:25],
    }


def customer_tables(study: Study) -> dict[str, Rows]:
    land, continent, tlds = region_countries(), continents(), top_level_countries()
    told: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for domain, country, weight in study.customers:
        if weight > 0:
            told[domain].append((weight, country))
    found: list[tuple[str, str, bool, bool, bool, bool]] = []
    for name in study.names:
        home = study.home(name)
        basis = "import" if told[home] else "cctld"
        country = max(told[home])[1].upper() if told[home] else tlds.get(home.split(".")[-1])
        lived = {land[p, r] for p, r, _ in study.stays(name) if (p, r) in land}
        if country is None or not lived:
            continue
        near = {continent.get(x) == continent[country] for x in lived}
        here = {x == country for x in lived}
        found.append((basis, country, any(here), any(near), all(here), all(near)))
    return {
        "customers": customer_sums(found, len(study.names)),
        "customer-countries": country_rows(found, continent),
    }


def customer_sums(found: Sequence[Any], n: int) -> Rows:
    rows: Rows = []
    for basis in ("import", "cctld", "all"):
        own = [f for f in found if basis in (f[0], "all")]
        for reading, at in (("nowhere in it", 2), ("not only in it", 4)):
            away, afar = sum(not f[at] for f in own), sum(not f[at + 1] for f in own)
            shares = (away, share(away, len(own)), afar, share(afar, len(own)))
            rows.append((basis, reading, n, len(own), share(len(own), n), *shares))
    return rows


def country_rows(found: Sequence[Any], continent: Mapping[str, str]) -> Rows:
    rows: Rows = []
    for country, names in Counter(f[1] for f in found).items():
        own = [f for f in found if f[1] == country]
        away, afar = sum(not f[2] for f in own), sum(not f[3] for f in own)
        shares = (away, share(away, names), afar, share(afar, names))
        rows.append((country, continent[country], names, *shares))
    return sorted(rows, key=lambda r: (-r[2], r[0]))[:40]


def targets_of(study: Study, place: Any) -> set[tuple[str, str, str]]:
    """What takes an address away, by failing."""
    found: set[tuple[str, str, str]] = set()
    if in_cloud(place):
        found.add(("provider", str(place.provider), str(place.provider)))
    if region_of(place):
        found.add(("region", str(place.provider), str(place.region)))
        zone = study.zone_of(place)
        if zone:
            found.add(("zone", str(place.provider), zone_target(str(place.region), zone)))
    return found


def zone_target(region: str, zone: str) -> str:
    return zone if zone.startswith(region) else f"{region} {zone}"


def outage_tables(study: Study) -> dict[str, Rows]:
    places = set().union(*study.ends.values(), *study.posts.values())
    causes = {
        t: {p for p in places if t in targets_of(study, p)}
        for p in places
        for t in targets_of(study, p)
    }
    operators = {operator_of(h) for d in study.domains for h in study.servers[d]}
    every = [*causes, *(("operator", None, who) for who in operators)]
    states = {target: state_of(study, target, causes.get(target, set())) for target in every}
    order = {"provider": 0, "region": 1, "zone": 2, "operator": 3}
    counted = sorted(every, key=lambda t: (order[t[0]], -len(states[t].seen), t[2], str(t[1])))
    shown = [t for t in counted if t[0] != "operator"]
    shown += [t for t in counted if t[0] == "operator"][:25]
    n, d = len(study.names), len(study.domains)
    names, domains = [], []
    for target in shown:
        state = states[target]
        down = state.front | state.silent
        part = state.hurt - down
        counts = (len(down), share(len(down), n), len(part), share(len(part), n))
        names.append((*target, *counts, len(state.most), len(state.silent - state.front)))
        domains.append((*target, *domain_counts(study, state, d)))
    return {"outages": names, "outage-domains": domains}


class State:
    """Sets of names: hurt, front lost, silent, at most down; and domains without servers."""

    def __init__(self) -> None:
        self.hurt: set[str] = set()
        self.front: set[str] = set()
        self.silent: set[str] = set()
        self.most: set[str] = set()
        self.mute: set[str] = set()

    @property
    def seen(self) -> set[str]:
        return self.hurt | self.front | self.silent | self.most


def state_of(study: Study, target: tuple[str, Any, str], lost: set[Any]) -> State:
    state = State()
    kind, provider, name_of_target = target
    dark: set[Any] = set()
    if kind == "zone":
        regions = {region_of(p) for p in lost}
        dark = {
            p
            for places in study.ends.values()
            for p in places
            if p.provider == provider and region_of(p) in regions and not study.zone_of(p)
        }
    for name, own in study.ends.items():
        state.hurt |= {name} if own & lost else set()
        state.front |= {name} if own <= lost else set()
        state.most |= {name} if own <= lost | dark else set()
    for domain in study.domains:
        hosts = study.servers[domain]
        if kind == "operator":
            gone = {h for h in hosts if operator_of(h) == name_of_target}
        else:
            gone = {h for h in hosts if study.posts[h] and study.posts[h] <= lost}
        own = {n for n in study.names if study.keeper(n) == domain}
        if gone and kind == "operator":
            state.hurt |= own
        if gone and gone == hosts:
            state.mute.add(domain)
            state.hurt |= own
            state.silent |= own
            state.most |= own
    return state


def domain_counts(study: Study, state: State, n: int) -> tuple[Any, ...]:
    down = part = narrow = 0
    lost = state.front | state.silent
    for domain in study.domains:
        every = {p[1] for p, places in study.facts.places.items() if p[0] == domain and places}
        cloud = {p[1] for p in study.facts.uses if p[0] == domain}
        fallen = cloud & lost
        mute = domain in state.mute
        down += mute or every == fallen
        narrow += mute or cloud == fallen
        part += not mute and every != fallen and bool(cloud & state.hurt)
    return (down, share(down, n), part, share(part, n), narrow, share(narrow, n))


def recount_study(
    facts: Recount, zones: Sequence[Zone] = (), customers: Sequence[Weight] = ()
) -> dict[str, Rows]:
    """Rows of every table that the study adds, but for the single figures."""
    study = Study(facts, zones, customers)
    return {
        **zone_tables(study),
        **sharing_tables(study),
        **customer_tables(study),
        **outage_tables(study),
        **dangling_tables(facts),
    }


def dangling_tables(facts: Recount) -> dict[str, Rows]:
    """Counted anew from the labels; the casts have no dangling names unless a test adds them."""
    lost = {
        (pair, at)
        for pair, found in facts.labels.items()
        for at in found
        if at[1].startswith("dangling")
    }
    assert not lost, "count them here before a cast has any"
    return {"dangling": [], "dangling-names": []}
