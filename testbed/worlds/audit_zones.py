"""Worlds with planted violations of audit rules, and the list of what was planted.

Each domain draws a deployment, name servers, aliases that lead nowhere, records and settings; what
an audit has to find follows from the draw alone, not from any code of the audits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

from testbed.generate.addresses.allocator import AddressAllocator
from testbed.world.model import PublishedRanges, World
from testbed.worlds.audit_measurements import plant_isps, plant_latencies
from testbed.worlds.explicit import build_explicit

_LABELS = ("www", "api", "mail", "blog", "shop", "app", "dev", "test")
_SERVERS = {
    "north": ("ns1.north-dns.example", "ns2.north-dns.example"),
    "south": ("ns1.south-dns.example", "ns2.south-dns.example"),
}
_PARENTS = {"aws": "Amazon.com, Inc.", "azure": "Microsoft Corporation", "google": "Alphabet Inc."}
_COUNTRIES = {
    "aws us-east-1": "US",
    "aws us-west-2": "US",
    "aws eu-west-1": "IE",
    "aws eu-central-1": "DE",
    "azure eastus": "US",
    "azure westeurope": "NL",
    "google europe-west3": "DE",
}
_EU = frozenset({"IE", "DE", "NL"})
# (weight, name) of deployments.
_DEPLOYMENTS = (
    ("one-zone", 3),
    ("one-region", 3),
    ("two-regions", 3),
    ("two-providers", 3),
    ("cloud-and-other", 2),
    ("partly-cdn", 2),
    ("cdn", 2),
)
Violation = tuple[str, str, str]


@dataclass(slots=True)
class Draft:
    """One domain while it is drawn; ``planted`` are (rule, discriminator)."""

    domain: str
    random: Random
    entry: dict[str, Any] = field(default_factory=dict)
    planted: set[tuple[str, str]] = field(default_factory=set)
    # The place of each label, in their order.
    hosts: list[str] = field(default_factory=list)
    # (country, weight) of the domain's customers.
    customers: list[tuple[str, float]] = field(default_factory=list)
    _address: int = 0

    @property
    def regions(self) -> list[str]:
        """Regions of clouds, such as ``aws us-east-1``."""
        return sorted({_region(place) for place in self.hosts if "/" in place})

    def tokens(self, place: str, n: int = 1) -> list[str]:
        """Fresh address tokens of a place such as ``aws/us-east-1a``."""
        first = self._address
        self._address += n
        return [f"{place}#{self.domain.split('.')[0][1:]}{first + i:02d}" for i in range(n)]


def build_audit_world(
    raw: Mapping[str, Any],
    scale: Fraction | None,
    seed: int,
    allocator: AddressAllocator,
    ranges: tuple[PublishedRanges, ...],
) -> World:
    """Build the world; ``World.violations`` lists (rule, domain, discriminator) as planted."""
    n = max(1, round(int(raw["domains"]) * (scale or Fraction(1))))
    random = Random(f"audit-world-{seed}")
    drafts = [_draw(f"d{i + 1}.example", Random(random.random())) for i in range(n)]
    for draft in drafts:
        _complete(draft, raw, seed)
    document = {
        **raw,
        "name_servers": {
            host: [f"other#{90_000 + i}"]
            for i, host in enumerate(h for hosts in _SERVERS.values() for h in hosts)
        },
        "domains": [draft.entry for draft in drafts],
    }
    world = build_explicit(document, allocator, ranges, seed)
    world.scale = scale or Fraction(1)
    world.violations = sorted(
        (rule, draft.domain, discriminator)
        for draft in drafts
        for rule, discriminator in draft.planted
    )
    world.customers = [
        (draft.domain, country, weight) for draft in drafts for country, weight in draft.customers
    ]
    world.rtt_ms, world.routes = raw.get("rtt_ms", {}), raw.get("routes", {})
    return world


def _complete(draft: Draft, raw: Mapping[str, Any], seed: int) -> None:
    """What is drawn apart, so that another version of the world has the same domains."""
    customers, failing, changed = (
        Random(f"{seed} {draft.domain} {what}") for what in ("customers", "failing", "changed")
    )
    _add_customers(draft, customers)
    if changed.random() < float(raw.get("changed", 0)):
        _change(draft, changed)
    _plant_regions(draft)
    _plant_customers(draft)
    draft.planted |= plant_latencies(draft.regions, raw.get("rtt_ms", {}))
    draft.planted |= plant_isps(draft.regions, raw.get("routes", {}))
    if failing.random() < float(raw.get("failing", 0)):
        draft.entry["fault"] = failing.choice(["servfail", "missing"])
        draft.planted.add(("thin-data", ""))


def _draw(domain: str, random: Random) -> Draft:
    draft = Draft(domain, random, {"domain": domain, "names": {}})
    labels = random.sample(_LABELS, random.randint(4, len(_LABELS)))
    names, weights = zip(*_DEPLOYMENTS, strict=True)
    _deploy(draft, random.choices(names, weights)[0], labels)
    _delegate(draft)
    _add_dangling(draft)
    _add_records(draft)
    _add_settings(draft)
    return draft


def _deploy(draft: Draft, kind: str, labels: list[str]) -> None:
    """Give each label a place; ``cloudfront`` is a CDN, ``other`` no cloud."""
    random = draft.random
    here, there = random.sample(["us-east-1", "eu-west-1", "us-west-2", "eu-central-1"], 2)
    places = {
        "one-zone": [f"aws/{here}a"],
        "one-region": [f"aws/{here}a", f"aws/{here}b"],
        "two-regions": [f"aws/{here}a", f"aws/{there}a"],
        "two-providers": [f"aws/{here}a", random.choice(["azure/westeurope", "azure/eastus"])],
        "cloud-and-other": [f"aws/{here}a", "other"],
        "partly-cdn": ["cloudfront", f"aws/{here}a"],
        "cdn": ["cloudfront"],
    }[kind]
    first = 1 if kind == "partly-cdn" else len(labels) // 2
    hosts = [places[0] if i < first else places[-1] for i in range(len(labels))]
    number = draft.domain.partition(".")[0]
    for label, place in zip(labels, hosts, strict=True):
        alias = [f"{number}{label}.cloudfront.net."] if place == "cloudfront" else []
        draft.entry["names"][label] = alias + draft.tokens(place, random.randint(1, 3))
    draft.hosts = hosts
    _plant_operator_violations(draft, hosts)


def _region(place: str) -> str:
    """The region of a place: ``aws us-east-1`` of ``aws/us-east-1a``."""
    return place.rstrip("ab").replace("/", " ")


def _plant_regions(draft: Draft) -> None:
    hosts, regions = draft.hosts, draft.regions
    placed = [place for place in hosts if "/" in place]
    if len(regions) == 1 and "other" not in hosts:
        draft.planted.add(("single-region", ""))
        if len(set(placed)) == 1:
            draft.planted.add(("single-zone", ""))
    for region in regions:
        if _COUNTRIES[region] not in _EU:
            draft.planted.add(("residency", region))
        if sum(_region(place) == region for place in placed) / len(hosts) > 0.5:
            draft.planted.add(("outage-exposure", f"region {region}"))
    for place in set(placed):
        # The last letter is the zone; other providers of the world have none.
        if place.startswith("aws") and placed.count(place) / len(hosts) > 0.5:
            draft.planted.add(("outage-exposure", f"zone {_region(place)} {place[-1]}"))


def _plant_operator_violations(draft: Draft, hosts: list[str]) -> None:
    clouds = ["aws" if p == "cloudfront" else p.partition("/")[0] for p in hosts if p != "other"]
    for provider in set(clouds):
        draft.planted.add(("operator-jurisdiction", f"{_PARENTS[provider]} (US)"))
        if clouds.count(provider) / len(hosts) >= 0.8:
            draft.planted.add(("single-provider", _PARENTS[provider]))
    if hosts.count("cloudfront") > 1:
        draft.planted.add(("cdn-concentration", _PARENTS["aws"]))


def _delegate(draft: Draft) -> None:
    random = draft.random
    if random.random() < 0.5:
        operator = random.choice(sorted(_SERVERS))
        draft.entry["servers"] = list(_SERVERS[operator])
        draft.planted.add(("single-dns-operator", f"{operator}-dns.example"))
    else:
        draft.entry["servers"] = [hosts[0] for hosts in _SERVERS.values()]


def _add_dangling(draft: Draft) -> None:
    random, names = draft.random, draft.entry["names"]
    number = draft.domain.partition(".")[0]
    if random.random() < 0.2:
        names["old"] = _claimable_alias(draft)
        draft.planted |= _claimable(draft)
    if random.random() < 0.2:
        names["beta"] = [f"gone-{number}.us-east-1.elb.amazonaws.com."]
        draft.planted.add(("dangling-name", f"beta.{draft.domain}"))


def _add_records(draft: Draft) -> None:
    random = draft.random
    records: dict[str, list[str]] = {}
    if random.random() < 0.5:
        records["CAA"] = ['0 issue "ca.example"']
    else:
        draft.planted.add(("no-caa", ""))
    if random.random() < 0.5:
        records["DS"] = ["12345 13 2 " + "ab" * 32]
    else:
        draft.planted.add(("no-dnssec", ""))
    mail = random.choice(["none", "null", "one", "two"])
    if mail == "null":
        records["MX"] = ["0 ."]
    elif mail == "one":
        records["MX"] = ["10 mx1.north-mail.example.", "20 mx2.north-mail.example."]
        draft.planted.add(("mail-concentration", "north-mail.example"))
    elif mail == "two":
        records["MX"] = ["10 mx1.north-mail.example.", "20 mx1.south-mail.example."]
    draft.entry["records"] = records
    # No cloud of the world publishes IPv6 ranges, so only names outside the clouds have addresses.
    outside = [tokens for tokens in draft.entry["names"].values() if tokens[0].startswith("other")]
    if outside and random.random() < 0.7:
        outside[0].append(f"2001:db8::{random.randrange(1, 2**16):x}")
    else:
        draft.planted.add(("no-ipv6", ""))


def _add_settings(draft: Draft) -> None:
    random = draft.random
    if random.random() < 0.2:
        draft.entry["transfer"] = "allow"
        draft.planted.add(("open-zone-transfer", ""))
    if random.random() < 0.2:
        draft.entry["wildcard"] = {"answer": draft.tokens("other")}
        draft.planted.add(("wildcard", ""))


def _add_customers(draft: Draft, random: Random) -> None:
    """Most customers in a country that hosts the domain, or in one that hosts nothing."""
    hosting = sorted({_COUNTRIES[region] for region in draft.regions})
    is_away = random.random() < 0.4
    draft.customers = [("JP", 3.0 if is_away else 1.0)]
    draft.customers += [(country, 1.0 if is_away else 3.0) for country in hosting[:1]]


def _plant_customers(draft: Draft) -> None:
    hosting = {_COUNTRIES[region] for region in draft.regions}
    away = sum(weight for country, weight in draft.customers if country not in hosting)
    # Behind a CDN alone no country of hosting is visible.
    if hosting and away > 0.5 * sum(weight for _, weight in draft.customers):
        draft.planted.add(("customer-country", ""))


def _change(draft: Draft, random: Random) -> None:
    """Change one thing of a domain, and plant what differs from the version before."""
    before = _posture(draft)
    changes = [_change_servers, _toggle_transfer, _toggle_wildcard, _toggle_dangling]
    if any(place.startswith("aws/") for place in draft.hosts):
        changes.append(_move_to_another_region)
    random.choice(changes)(draft, random)
    after = _posture(draft)
    for verb, values in (("added", after - before), ("removed", before - after)):
        draft.planted |= {("posture-change", f"{kind} {verb} {value}") for kind, value in values}


def _posture(draft: Draft) -> set[tuple[str, str]]:
    """(kind, value) of everything in which two versions of a domain may differ."""
    entry = draft.entry
    found = {("region", region) for region in draft.regions}
    zones = {place for place in draft.hosts if place.startswith("aws/")}
    found |= {("zone", f"{_region(place)} {place[-1]}") for place in zones}
    found |= {("DNS operator", host.partition(".")[2]) for host in entry["servers"]}
    dangling = [label for label in ("old", "beta") if label in entry["names"]]
    found |= {("dangling name", f"{label}.{draft.domain}") for label in dangling}
    if entry.get("transfer") == "allow":
        found.add(("zone transfer", "open"))
    if "wildcard" in entry:
        found.add(("wildcard", "answers"))
    return found


def _move_to_another_region(draft: Draft, random: Random) -> None:
    here = random.choice(sorted({p for p in draft.hosts if p.startswith("aws/")}))
    places = (f"aws/{region.partition(' ')[2]}a" for region in _COUNTRIES if region[:3] == "aws")
    there = random.choice([place for place in places if _region(place) not in draft.regions])
    draft.hosts = [there if place == here else place for place in draft.hosts]
    names = draft.entry["names"]
    for label, tokens in names.items():
        names[label] = [token.replace(f"{here}#", f"{there}#") for token in tokens]


def _change_servers(draft: Draft, random: Random) -> None:
    operators = sorted({host.partition(".")[2] for host in draft.entry["servers"]})
    draft.planted -= {("single-dns-operator", operator) for operator in operators}
    if len(operators) > 1:
        name = random.choice(sorted(_SERVERS))
        draft.entry["servers"] = list(_SERVERS[name])
        draft.planted.add(("single-dns-operator", f"{name}-dns.example"))
    else:
        draft.entry["servers"] = [hosts[0] for hosts in _SERVERS.values()]


def _toggle_transfer(draft: Draft, random: Random) -> None:
    if draft.entry.pop("transfer", None) is None:
        draft.entry["transfer"] = "allow"
    draft.planted ^= {("open-zone-transfer", "")}


def _toggle_wildcard(draft: Draft, random: Random) -> None:
    if draft.entry.pop("wildcard", None) is None:
        draft.entry["wildcard"] = {"answer": draft.tokens("other")}
    draft.planted ^= {("wildcard", "")}


def _toggle_dangling(draft: Draft, random: Random) -> None:
    if draft.entry["names"].pop("old", None) is None:
        draft.entry["names"]["old"] = _claimable_alias(draft)
    draft.planted ^= _claimable(draft)


def _claimable_alias(draft: Draft) -> list[str]:
    return [f"gone-{draft.domain.partition('.')[0]}.cloudapp.net."]


def _claimable(draft: Draft) -> set[tuple[str, str]]:
    return {(rule, f"old.{draft.domain}") for rule in ("dangling-name", "claimable-name")}
