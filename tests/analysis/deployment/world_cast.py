"""A fixed cast of names, each with known addresses, and lakes made of them.

What every name is for stands beside it; the expectations in the tests are counted by hand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from core.records import Answer, DomainOutcome, Front, Lookup, NameServerPlace, Placement, Record
from core.statuses import AddressKind, DnsStatus, Technique
from lake import schemas
from lake.parts import part_path, write_part

SURVEY = "spring"
TABLE_DAY = date(2013, 3, 29)
ASKED_AT = datetime(2013, 3, 27, 12, tzinfo=UTC).timestamp()
CLOUD, CDN, CORPORATE = AddressKind.CLOUD, AddressKind.CDN, AddressKind.CORPORATE


def place(
    address: str,
    provider: str | None = None,
    region: str | None = None,
    kind: AddressKind = CLOUD,
    service: str = "EC2",
) -> Placement:
    """An address with its place; without a provider it is outside every cloud."""
    if provider is None:
        return Placement(address)
    return Placement(
        address,
        provider,
        service,
        (service, "AMAZON") if provider == "aws" else (service,),
        region,
        region,
        f"{address}/32",
        TABLE_DAY,
        kind,
        region,
    )


def virginia(host: int) -> Placement:
    return place(f"23.20.0.{host}", "aws", "us-east-1")


def ireland(host: int) -> Placement:
    return place(f"46.51.0.{host}", "aws", "eu-west-1")


def edge(host: int) -> Placement:
    return place(f"54.230.0.{host}", "aws", None, CDN, "CLOUDFRONT")


def chicago(host: int) -> Placement:
    return place(f"65.52.0.{host}", "azure", "northcentralus", service="AzureCloud")


def frankfurt(host: int) -> Placement:
    return place(f"35.198.0.{host}", "google", "europe-west3", service="Google Cloud")


def office(host: int) -> Placement:
    return place(f"8.8.8.{host}", "google", None, CORPORATE, "Google")


def outside(host: int) -> Placement:
    return place(f"192.0.2.{host}")


@dataclass(frozen=True)
class Name:
    """A name with its answer; ``labels`` are (provider, label, instances)."""

    host: str
    places: tuple[Placement, ...] = ()
    chain: tuple[str, ...] = ()
    labels: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    status: DnsStatus = DnsStatus.NOERROR
    technique: Technique = Technique.WORDLIST


@dataclass(frozen=True)
class Domain:
    """A domain with its names and (server, placements) of its name servers."""

    domain: str
    rank: int
    names: tuple[Name, ...] = ()
    servers: tuple[tuple[str, tuple[Placement, ...]], ...] = ()
    nxdomain: int = 0
    nodata: int = 0
    filtered: int = 0
    failed: tuple[tuple[str, int], ...] = ()
    transfer: str = "REFUSED"
    extra: tuple[Lookup, ...] = field(default=())


def addresses(places: Iterable[Placement]) -> tuple[str, ...]:
    return tuple(p.address for p in places)


def vm(host: str, *places: Placement, provider: str = "aws", label: str = "vm") -> Name:
    own = addresses(p for p in places if p.provider == provider)
    return Name(host, places, (), ((provider, label, own),))


def elb(host: str, *places: Placement, also: Sequence[str] = (), first: str = "") -> Name:
    chain = (*([first] if first else []), f"lb.{host}.elb.amazonaws.com")
    own = addresses(places)
    return Name(host, places, chain, tuple(("aws", label, own) for label in ("elb", *also)))


SHOP = Domain(
    "shop.example",
    3,
    (
        # The domain's own name: a plain VM.
        replace(vm("shop.example", virginia(1)), technique=Technique.LISTED),
        # Two VMs in two regions.
        vm("www.shop.example", virginia(2), ireland(1)),
        # A load balancer on two addresses, one of them shared with the next.
        elb("pay.shop.example", virginia(3), virginia(4)),
        elb("api.shop.example", virginia(4)),
        # CloudFront alone: uses a cloud, is in no region.
        Name(
            "img.shop.example",
            (edge(1), edge(2)),
            ("d1.cloudfront.net",),
            (("aws", "cloudfront", addresses((edge(1), edge(2)))),),
        ),
        # Elsewhere, and an alias that leads nowhere: names, but no cloud.
        Name("mail.shop.example", (outside(1),)),
        Name("old.shop.example", (), ("gone.example.net",), (), DnsStatus.NXDOMAIN),
    ),
    (
        ("ns1.route.example", (place("205.251.192.1", "aws", None, CLOUD, "ROUTE53"),)),
        ("ns2.route.example", (edge(9),)),
    ),
    nxdomain=10,
    nodata=1,
    filtered=2,
    failed=(("TIMEOUT", 3),),
)
NEWS = Domain(
    "news.example",
    1,
    (
        # Outside at its own name, so that the domain is "azure + other" by all names.
        Name("news.example", (outside(2),), technique=Technique.LISTED),
        Name(
            "app.news.example",
            (chicago(1),),
            ("news.cloudapp.net",),
            (("azure", "cs", ("news.cloudapp.net",)),),
        ),
        Name(
            "cdn.news.example",
            (chicago(2),),
            ("n.trafficmanager.net", "n.vo.msecnd.net"),
            (("azure", "tm", ("n.trafficmanager.net",)), ("azure", "cdn", ("n.vo.msecnd.net",))),
        ),
        # An Azure address behind an alias that no rule knows.
        Name("x.news.example", (chicago(3),), ("edge.other.example",)),
    ),
    (
        ("ns1.news.example", (chicago(9),)),
        ("ns2.news.example", (outside(9), outside(10))),
        ("ns3.news.example", ()),
    ),
)
BLOG = Domain(
    "blog.example",
    2,
    (
        replace(
            elb("blog.example", virginia(5), also=["heroku-elb"], first="b.herokussl.com"),
            technique=Technique.LISTED,
        ),
        Name(
            "a.blog.example",
            (virginia(6),),
            ("proxy.heroku.com",),
            (("aws", "heroku", addresses([virginia(6)])),),
        ),
        elb("e.blog.example", ireland(5), also=["beanstalk"], first="x.elasticbeanstalk.com"),
        # A hybrid: a VM and an address elsewhere.
        vm("h.blog.example", virginia(7), outside(3)),
        # Two providers outrank "other".
        replace(
            vm("m.blog.example", virginia(8), chicago(4), outside(4)),
            labels=(
                ("aws", "vm", addresses([virginia(8)])),
                ("azure", "cs", addresses([chicago(4)])),
            ),
        ),
        # A provider's own office is no cloud.
        Name("o.blog.example", (office(8),)),
    ),
    (("ns1.route.example", (place("205.251.192.1", "aws", None, CLOUD, "ROUTE53"),)),),
)
QUIET = Domain(
    "quiet.example",
    4,
    (Name("quiet.example", (outside(5),), technique=Technique.LISTED),),
    (("ns1.quiet.example", (outside(11),)),),
)
DEAD = Domain("dead.example", 5, failed=(("SERVFAIL", 1), ("SKIPPED", 20)))
CAST = (SHOP, NEWS, BLOG, QUIET, DEAD)


# What was brought to the cast: zones of some addresses, one of them told two ways, one for another
# region; and where customers are.
ZONES = (
    ("23.20.0.1", "us-east-1", "a"),
    ("23.20.0.2", "us-east-1", "a"),
    ("23.20.0.3", "us-east-1", "a"),
    ("23.20.0.4", "us-east-1", "b"),
    ("23.20.0.5", "us-east-1", "a"),
    ("23.20.0.5", "us-east-1", "b"),
    ("46.51.0.1", "us-east-1", "a"),
    ("46.51.0.5", "eu-west-1", "eu-west-1c"),
    ("23.20.0.8", "us-east-1", ""),
)
CUSTOMERS = (
    ("shop.example", "US", 0.3),
    ("shop.example", "IE", 0.5),
    ("blog.example", "de", 2.0),
    ("blog.example", "FR", 1.0),
    ("quiet.example", "US", 1.0),
)


def write_lake(
    root: Path,
    domains: Sequence[Domain],
    per_shard: int = 2,
    zones: Sequence[tuple[str, str, str]] = (),
    customers: Sequence[tuple[str, str, float]] = (),
) -> Path:
    """Write the domains as shards of ``CAMPAIGN``, and what is brought; returns ``root``."""
    brought = {
        "zones": [
            {"address": a, "region": r, "zone": z, "method": "", "confidence": 1.0, "reason": ""}
            for a, r, z in zones
        ],
        "customers": [{"domain": d, "country": c, "weight": w} for d, c, w in customers],
    }
    for table, rows in brought.items():
        if rows:
            write_part(part_path(root, SURVEY, table, "brought"), table, rows)
    for first in range(0, len(domains), per_shard):
        batch = domains[first : first + per_shard]
        for table, rows in _rows(batch).items():
            write_part(part_path(root, SURVEY, table, f"{first:06d}"), table, rows)
    return root


def _rows(domains: Sequence[Domain]) -> dict[str, list[dict[str, Any]]]:
    return {
        "lookups": schemas.table_of_lookups(k for d in domains for k in lookups_of(d)),
        "domains": schemas.rows_of_domains(_outcome(d) for d in domains),
        "placements": schemas.rows_of_placements(
            (d.domain, n.host, p) for d in domains for n in d.names for p in n.places
        ),
        "fronts": schemas.rows_of_fronts(
            (d.domain, Front(n.host, provider, label, f"{provider}-{label}", "why", instance))
            for d in domains
            for n in d.names
            for provider, label, instances in n.labels
            for instance in instances
        ),
        "servers": schemas.rows_of_servers(
            NameServerPlace(d.domain, host, status, p)
            for d in domains
            for host, places in d.servers
            for status, p in _answers_of(places)
        ),
    }


def _answers_of(places: Sequence[Placement]) -> list[tuple[DnsStatus, Placement]]:
    if not places:
        return [(DnsStatus.TIMEOUT, Placement(""))]
    return [(DnsStatus.NOERROR, p) for p in places]


def lookups_of(domain: Domain) -> list[Lookup]:
    """The answers of all names, of the domain's name servers, and what failed."""
    found = [Lookup(domain.domain, n.technique, answer_of(n)) for n in domain.names]
    servers = [
        Lookup(domain.domain, Technique.LISTED, answer_of(Name(host, places)))
        for host, places in domain.servers
    ]
    records = tuple(Record(domain.domain, "NS", 300, host) for host, _ in domain.servers)
    ns = Answer(domain.domain, "NS", DnsStatus.NOERROR, records, resolver="192.0.2.53:53")
    return [*found, *servers, Lookup(domain.domain, Technique.LISTED, ns), *domain.extra]


def answer_of(name: Name) -> Answer:
    """The A answer of a name: its chain, then its addresses."""
    hops = (name.host, *name.chain)
    aliases = [Record(a, "CNAME", 60, b) for a, b in zip(hops, hops[1:], strict=False)]
    final = [Record(hops[-1], "A", 60, p.address) for p in name.places]
    return Answer(
        name.host,
        "A",
        name.status,
        (*aliases, *final),
        resolver="192.0.2.53:53",
        rtt_ms=4.2,
        at=ASKED_AT,
    )


def _outcome(domain: Domain) -> DomainOutcome:
    found = len(domain.names)
    failed = sum(n for _, n in domain.failed)
    asked = found + domain.nxdomain + domain.nodata + domain.filtered + failed
    return DomainOutcome(
        domain.domain,
        domain.rank,
        domain.transfer,
        domain.filtered > 0,
        asked,
        found,
        domain.nxdomain,
        domain.nodata,
        domain.filtered,
        domain.failed,
        queries=asked + 2,
        name_servers=tuple(host for host, _ in domain.servers),
    )
