"""Every table beside a count in plain Python, on lakes that nobody thought of."""

import tempfile
from ipaddress import ip_address
from pathlib import Path
from zlib import crc32

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from analysis.reporting.checks import check_tables
from analysis.reporting.headlines import front_findings, headline
from analysis.reporting.summary import names_rows
from analysis.reporting.survey_tables import compute_tables
from core.records import Placement
from core.statuses import AddressKind, DnsStatus, Technique
from tests.analysis.deployment.recount import FEATURES, Recount, recount
from tests.analysis.deployment.recount_study import recount_study
from tests.analysis.deployment.world_cast import (
    CAST,
    CUSTOMERS,
    SURVEY,
    ZONES,
    Domain,
    Name,
    place,
    write_lake,
)
from tests.examples import examples

_REGIONS = {
    "aws": ["us-east-1", "eu-west-1", "us-west-2", None],
    "azure": ["westeurope", "northeurope"],
    "google": ["europe-west3", "us-east-1"],
}
# Two domains lie inside others, so that names are found twice.
_DOMAINS = ["a.test", "b.test", "www.a.test", "shop.b.test", "c.test"]
_LABELS = ["", "www.", "shop.", "x.www.", "x.shop."]
# Single figures are shares of what the other tables count; they have a test of their own.
_APART = {"text-figures"}
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
    host = st.sampled_from(["ns1.test", "ns.b.co.uk", "x.awsdns-1.org", f"ns.{domain}"])
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


@st.composite
def zones(draw: st.DrawFn) -> tuple[tuple[str, str, str], ...]:
    """Zones of some of the addresses that placements are drawn from, a few told two ways."""
    regions = [("aws", "EC2", r) for r in _REGIONS["aws"]]
    regions += [("aws", "ROUTE53", "us-east-1"), ("azure", "Cloud", "westeurope")]
    every = [(f"{p}-{s}-cloud-{r}-{h}", r or "us-east-1") for p, s, r in regions for h in (1, 2)]
    chosen = draw(st.lists(st.sampled_from(every), max_size=12))
    return tuple(
        (address, region, draw(st.sampled_from(["a", "b", f"{region}c", ""])))
        for address, region in chosen
    )


weights = st.lists(
    st.tuples(
        st.sampled_from(_DOMAINS),
        st.sampled_from(["US", "IE", "ca", "DE", "NL"]),
        st.sampled_from([0.0, 0.25, 0.5, 3.0]),
    ),
    max_size=4,
    unique_by=lambda w: w[:2],
)


def rows_of(found: dict) -> dict:
    return {table_id: list(table.rows) for table_id, table in found.items()}


def counted(found: dict) -> dict:
    return {k: rows for k, rows in rows_of(found).items() if k not in _APART}


def test_it_works(cast_tables):
    expected = recount(CAST) | recount_study(Recount(CAST), ZONES, CUSTOMERS)
    found = counted(cast_tables)
    for table_id in expected:
        assert found[table_id] == expected[table_id], table_id


# A lake costs a third of a second, so a failing one is shown as it was found.
@settings(
    max_examples=examples(20),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(lakes, zones(), weights)
def test_any_lake_counts_the_same(world, known, customers):
    with tempfile.TemporaryDirectory() as folder:
        root = write_lake(Path(folder), world, zones=known, customers=customers)
        tables = compute_tables(root, SURVEY)
        listed = list(names_rows(root, SURVEY))
    expected = recount(world) | recount_study(Recount(world), known, customers)
    found = counted(tables)
    for table_id in expected:
        assert found[table_id] == expected[table_id], table_id
    assert check_tables(tables) == []
    assert {row[0] for row in listed} == set(Recount(world).by_name)
    assert len(listed) == tables["providers"].n
    assert all(headline(table_id, tables) for table_id in tables)
    assert bool(front_findings(tables)) == bool(listed)
