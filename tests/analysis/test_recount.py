"""Every table beside a count in plain Python, on lakes that nobody thought of."""

import tempfile
from ipaddress import ip_address
from pathlib import Path
from zlib import crc32

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.checks import check_tables
from analysis.findings import front_findings, headline
from analysis.summary import names_rows
from analysis.usage import compute_tables
from core.records import Placement
from core.statuses import AddressKind, DnsStatus, Technique
from tests.analysis.cast import CAMPAIGN, CAST, Domain, Name, place, write_lake
from tests.analysis.recount import FEATURES, Recount, recount

_REGIONS = {
    "aws": ["us-east-1", "eu-west-1", "us-west-2", None],
    "azure": ["westeurope", "northeurope"],
    "google": ["europe-west3", "us-east-1"],
}
# Two domains lie inside others, so that names are found twice.
_DOMAINS = ["a.test", "b.test", "www.a.test", "shop.b.test", "c.test"]
_LABELS = ["", "www.", "shop.", "x.www.", "x.shop."]
_SERVICES = {"aws": ["EC2", "CLOUDFRONT", "ROUTE53", "ROUTE53_HEALTHCHECKS"]}


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    provider = draw(st.sampled_from(["aws", "aws", "azure", "google", None]))
    if provider is None:
        return place(f"192.0.2.{draw(st.integers(1, 3))}")
    service = draw(st.sampled_from(_SERVICES.get(provider, ["Cloud"])))
    kind = draw(st.sampled_from([AddressKind.CLOUD, AddressKind.CLOUD, AddressKind.CORPORATE]))
    if service == "CLOUDFRONT":
        kind = AddressKind.CDN
    region = draw(st.sampled_from(_REGIONS[provider]))
    # The address says all that the placement does: one address has one place.
    host = draw(st.integers(1, 2))
    text = f"{provider}-{service}-{kind}-{region}-{host}"
    address = str(ip_address(crc32(text.encode())))
    return place(address, provider, region, kind, service)


@st.composite
def names(draw: st.DrawFn, domain: str) -> Name:
    host = draw(st.sampled_from([f"{label}{domain}" for label in _LABELS] + ["glue.evil.test"]))
    technique = st.sampled_from([Technique.AXFR, Technique.WORDLIST])
    how = Technique.LISTED if host == domain else draw(technique)
    chain = tuple(draw(st.lists(st.just("alias.test"), max_size=1)))
    places = tuple(draw(st.lists(placements(), max_size=3, unique_by=lambda p: p.address)))
    if not places:
        status = draw(st.sampled_from(list(DnsStatus)))
        return Name(host, (), chain, (), status, how)
    labels = []
    for provider in sorted({p.provider for p in places if p.provider}):
        own = tuple(p.address for p in places if p.provider == provider)
        for label in draw(st.sets(st.sampled_from(FEATURES[provider]), max_size=2)):
            labels.append((provider, label, own))
    return Name(host, places, chain, tuple(labels), DnsStatus.NOERROR, how)


@st.composite
def domains(draw: st.DrawFn, domain: str) -> Domain:
    host = st.sampled_from(["ns1.test", "ns2.test", f"ns.{domain}"])
    servers = st.tuples(host, st.lists(placements(), max_size=2).map(tuple))
    return Domain(
        domain,
        draw(st.integers(1, 3)),
        tuple(draw(st.lists(names(domain), max_size=6))),
        tuple(draw(st.lists(servers, max_size=2, unique_by=lambda s: s[0]))),
    )


lakes = st.lists(st.sampled_from(_DOMAINS), unique=True).flatmap(
    lambda chosen: st.tuples(*(domains(d) for d in chosen))
)


def rows_of(found: dict) -> dict:
    return {table_id: list(table.rows) for table_id, table in found.items()}


def test_it_works(cast_tables):
    assert rows_of(cast_tables) == recount(CAST)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lakes)
def test_any_lake_counts_the_same(world):
    with tempfile.TemporaryDirectory() as folder:
        root = write_lake(Path(folder), world)
        tables = compute_tables(root, CAMPAIGN)
        listed = list(names_rows(root, CAMPAIGN))
    assert rows_of(tables) == recount(world)
    assert check_tables(tables) == []
    assert {row[0] for row in listed} == set(Recount(world).by_name)
    assert len(listed) == tables["providers"].n
    assert all(headline(table_id, tables) for table_id in tables)
    assert bool(front_findings(tables)) == bool(listed)
