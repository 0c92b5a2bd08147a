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
class _Draft:
    """One domain while it is drawn; ``planted`` are (rule, discriminator)."""

    domain: str
    random: Random
    entry: dict[str, Any] = field(default_factory=dict)
    planted: set[tuple[str, str]] = field(default_factory=set)
    _address: int = 0

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
    return world


def _draw(domain: str, random: Random) -> _Draft:
    draft = _Draft(domain, random, {"domain": domain, "names": {}})
    labels = random.sample(_LABELS, random.randint(4, len(_LABELS)))
    names, weights = zip(*_DEPLOYMENTS, strict=True)
    _deploy(draft, random.choices(names, weights)[0], labels)
    _delegate(draft)
    _add_dangling(draft)
    _add_records(draft)
    _add_settings(draft)
    return draft


def _deploy(draft: _Draft, kind: str, labels: list[str]) -> None:
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
    _plant_region_violations(draft, hosts)
    _plant_operator_violations(draft, hosts)


def _region(place: str) -> str:
    """The region of a place: ``aws us-east-1`` of ``aws/us-east-1a``."""
    return place.rstrip("ab").replace("/", " ")


def _plant_region_violations(draft: _Draft, hosts: list[str]) -> None:
    placed = [place for place in hosts if "/" in place]
    regions = sorted({_region(place) for place in placed})
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


def _plant_operator_violations(draft: _Draft, hosts: list[str]) -> None:
    clouds = ["aws" if p == "cloudfront" else p.partition("/")[0] for p in hosts if p != "other"]
    for provider in set(clouds):
        draft.planted.add(("operator-jurisdiction", f"{_PARENTS[provider]} (US)"))
        if clouds.count(provider) / len(hosts) >= 0.8:
            draft.planted.add(("single-provider", _PARENTS[provider]))
    if hosts.count("cloudfront") > 1:
        draft.planted.add(("cdn-concentration", _PARENTS["aws"]))


def _delegate(draft: _Draft) -> None:
    random = draft.random
    if random.random() < 0.5:
        operator = random.choice(sorted(_SERVERS))
        draft.entry["servers"] = list(_SERVERS[operator])
        draft.planted.add(("single-dns-operator", f"{operator}-dns.example"))
    else:
        draft.entry["servers"] = [hosts[0] for hosts in _SERVERS.values()]


def _add_dangling(draft: _Draft) -> None:
    random, names = draft.random, draft.entry["names"]
    number = draft.domain.partition(".")[0]
    if random.random() < 0.2:
        names["old"] = [f"gone-{number}.cloudapp.net."]
        draft.planted |= {
            (rule, f"old.{draft.domain}") for rule in ("dangling-name", "claimable-name")
        }
    if random.random() < 0.2:
        names["beta"] = [f"gone-{number}.us-east-1.elb.amazonaws.com."]
        draft.planted.add(("dangling-name", f"beta.{draft.domain}"))


def _add_records(draft: _Draft) -> None:
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


def _add_settings(draft: _Draft) -> None:
    random = draft.random
    if random.random() < 0.2:
        draft.entry["transfer"] = "allow"
        draft.planted.add(("open-zone-transfer", ""))
    if random.random() < 0.2:
        draft.entry["wildcard"] = {"answer": draft.tokens("other")}
        draft.planted.add(("wildcard", ""))
