"""The cast of the page tests: surveys as they come in life, and at their edges.

``atlas`` holds the figures published in 2013; ``edges`` the wide and the long; ``empty`` nothing;
``waiting``, ``running``, ``failed``, ``cancelled`` are at other points of their life.
"""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.reporting.headlines import headline
from analysis.reporting.published import published
from cartography.patterns import find_dangling
from core.records import Answer, DomainOutcome, Front, Lookup, NameServerPlace, Placement, Record
from core.report_tables import SPECS, Table, TableSpec, cumulate
from core.statuses import AddressKind, DnsStatus, SurveyState, Technique
from lake import schemas
from lake.parts import part_path, write_part
from webapp.store.models import RangeTable, Shard, Survey
from webapp.store.surveys import services

THEN = datetime(2013, 3, 29, 12, 0, tzinfo=UTC)
LONG_LABEL = "a" * 63
LONG_NAME = f"{LONG_LABEL}.{'b' * 63}.{'c' * 63}.example.org"
RTL_DOMAIN = "xn--mgbh0fb.xn--kgbechtv"  # مثال.إختبار
LOST_DOMAIN = "stonefort.example"
WIDE_DOMAIN = "wide.example"
WIDE_NAMES = 3_000

_PROVIDERS_EXTRA = {
    "aws only": (30_000, 0.743808),
    "aws + other": (8_001, 0.198374),
    "azure only": (1_900, 0.047108),
    "azure + other": (139, 0.003446),
    "aws + azure": (293, 0.007264),
    "aws total": (38_294, 0.949446),
    "azure total": (2_332, 0.057819),
    "total": (40_333, 1.0),
}


def tables() -> dict[str, Table]:
    """Every table with the published figures, and own numbers where none are published."""
    made = {spec.id: published(spec.id) or _blank(spec) for spec in SPECS}
    made["providers"] = _providers(made["providers"])
    made["patterns"] = _patterns(made["patterns"])
    made["regions"] = _regions(made["regions"])
    made["region-counts"] = _counts("region-counts", "aws", {1: 686000, 2: 6400, 3: 10600, 4: 4357})
    made["region-counts"] = _join(
        made["region-counts"], _counts("region-counts", "azure", {1: 6078, 2: 170, 5: 7, 6: 302})
    )
    made["domain-region-means"] = Table(
        "domain-region-means",
        ("provider", "mean_at_most", "domains", "share", "cumulative_share"),
        (
            ("aws", 1.0, 33_200, 0.8671, 0.8671),
            ("aws", 1.5, 3_900, 0.1019, 0.969),
            ("aws", 2.0, 1_191, 0.031, 1.0),
            ("azure", 1.0, 2_250, 0.9636, 0.9636),
            ("azure", 2.0, 85, 0.0364, 1.0),
        ),
        40_333,
    )
    made["instance-counts"] = _join(
        _counts("instance-counts", "vm", {1: 87000, 2: 240000, 3: 72000, 4: 22000, 6: 84578}),
        _counts("instance-counts", "elb", {1: 9830, 2: 9286, 3: 4588, 4: 2090, 5: 81, 8: 1279}),
    )
    rows = tuple(cumulate({2: 20_000, 3: 66_400, 4: 490_000, 8: 96_000, 10: 500, 14: 41_010}))
    columns = ("name_servers", "subdomains", "share", "cumulative_share")
    made["name-server-counts"] = Table("name-server-counts", columns, rows, 713_910)
    made["name-servers"] = _name_servers()
    made["top-regions"] = _with_zeros(made["top-regions"])
    made |= _study(made)
    return {k: replace(v, n=v.n or len(v.rows)) for k, v in made.items()}


def _blank(spec: TableSpec) -> Table:
    return Table(spec.id, spec.columns, ())


def _providers(table: Table | None) -> Table:
    assert table is not None
    rows = tuple((*row[:5], *_PROVIDERS_EXTRA[str(row[0])]) for row in table.rows)
    return Table(table.id, table.columns, rows, table.n)


def _patterns(table: Table | None) -> Table:
    assert table is not None
    extra = (
        ("aws", "cloudfront", 5_988, 0.156, 3_720, 0.0053, 4_120),
        ("aws", "unclassified", 6_200, 0.162, 110_634, 0.1564, None),
        ("azure", "cdn", 54, 0.023, 68, 0.0104, 54),
        ("azure", "unclassified", 1_420, 0.608, 1_889, 0.2881, None),
    )
    rows = [*table.rows[:5], *extra[:2], *table.rows[5:], *extra[2:]]
    return Table(table.id, table.columns, tuple(rows), table.n)


def _regions(table: Table | None) -> Table:
    assert table is not None
    rows = []
    for provider, region, domains, subdomains, share, *_ in table.rows:
        only = int(int(subdomains or 0) * 0.962)
        rows.append((provider, region, domains, subdomains, share, only, 0.962))
    rows.append(("google", "europe-west3", 1, 1, 1.0, 1, 1.0))  # a region with one sample
    return Table(table.id, table.columns, tuple(rows), table.n)


def _counts(table_id: str, key: str, counts: dict[int, int]) -> Table:
    spec = next(s for s in SPECS if s.id == table_id)
    rows = tuple((key, *row) for row in cumulate(counts))
    return Table(table_id, spec.columns, rows, sum(counts.values()))


def _join(a: Table, b: Table) -> Table:
    return Table(a.id, a.columns, a.rows + b.rows, a.n + b.n)


def _name_servers() -> Table:
    counts = {
        "aws cloudfront": 2062,
        "aws route53": 0,
        "aws": 1239,
        "azure": 22,
        "google": 0,
        "other": 19_711,
        "unresolved": 77,
    }
    whole = sum(counts.values())
    rows = [(place, n, round(n / whole, 6)) for place, n in counts.items()]
    rows.append(("total", whole, 1.0))
    return Table("name-servers", ("location", "name_servers", "share"), tuple(rows), whole)


def _study(made: dict[str, Table | None]) -> dict[str, Table]:
    """Zones, customers and outages: published cells with zeros between, and a few of our own."""
    filled = (
        "zone-usage",
        "zone-counts",
        "domain-zone-means",
        "top-zones",
        "elb-sharing",
        "customers",
        "text-figures",
    )
    dark = ("aws", "us-east-1", "unknown", 9_834, 27_061, 0.038256, None, None, 1_813)
    own = {
        "name-server-sharing": [*cumulate({1: 9_000, 9: 14_000, 120: 111})],
        "name-server-operators": [
            ("Amazon Route 53", 2_062, 3_100, 0.0769, 58_000, 0.0812, 57_100, 0.9845),
            ("dns-7.example", 4, 18, 0.0004, 682, 0.001, 54, 0.0792),
        ],
        "customer-countries": [("US", "north-america", 300_000, 1_000, 0.0033, 900, 0.003)],
        "outages": [
            ("provider", "aws", "aws", 690_400, 0.9671, 17_600, 0.0247, 690_400, 4_700),
            ("region", "aws", "us-east-1", 484_700, 0.6789, 40_200, 0.0563, 484_700, 6_800),
            ("zone", "aws", "us-east-1 a", 150_000, 0.2101, 269_000, 0.3768, 163_000, 0),
            ("operator", None, "Amazon Route 53", 57_300, 0.0803, 0, 0.0, 57_300, 57_300),
        ],
        "outage-domains": [
            ("provider", "aws", "aws", 3_270, 0.0811, 35_000, 0.8678, 37_000, 0.9174),
            ("region", "aws", "us-east-1", 2_200, 0.0545, 23_500, 0.5826, 21_000, 0.5207),
            ("zone", "aws", "us-east-1 a", 400, 0.0099, 15_700, 0.3893, 6_100, 0.1512),
            ("operator", None, "Amazon Route 53", 3_100, 0.0769, 0, 0.0, 3_100, 0.0769),
        ],
        "dangling": [
            ("azure", "azure-app-service", "yes", 41, 0.5775, 12, 40),
            ("aws", "aws-elb", "no", 30, 0.4225, 9, 30),
        ],
        "dangling-names": [
            (
                51,
                "hao123.com",
                "old.hao123.com",
                "shop-7.azurewebsites.net",
                "azure",
                "azure-app-service",
                "yes",
            ),
            (
                60,
                "linkedin.com",
                "lb.linkedin.com",
                "lb-1.us-east-1.elb.amazonaws.com",
                "aws",
                "aws-elb",
                "no",
            ),
        ],
    }
    lost = {"dangling": 71, "dangling-names": 71}
    tables = {
        k: Table(k, _columns(k), tuple(rows), lost.get(k, 713_910)) for k, rows in own.items()
    }
    tables |= {k: _with_zeros(made[k], n=1) for k in filled}
    zones = tables["zone-usage"]
    return tables | {"zone-usage": replace(zones, rows=(*zones.rows, dark))}


def _columns(table_id: str) -> tuple[str, ...]:
    return next(s for s in SPECS if s.id == table_id).columns


def _with_zeros(table: Table | None, n: int = 14) -> Table:
    assert table is not None
    rows = tuple(tuple(0 if c is None else c for c in row) for row in table.rows)
    return Table(table.id, table.columns, rows, n)


def atlas(name: str = "Top domains of March 2013") -> Survey:
    """A finished survey of an emulated world, with every table and a few domains."""
    survey = _survey(name, SurveyState.FINISHED, world="imc2013 testbed, scale 1/100")
    found = tables()
    headlines = {table_id: headline(table_id, found) for table_id in found}
    services.save_reports(survey, found, headlines, [])
    _store(survey, [_linkedin(), _plain("hao123.com", 51), _nowhere()])
    services.finish(survey, _summary())
    Survey.objects.filter(pk=survey.pk).update(finished_at=THEN + timedelta(minutes=9))
    return survey


def edges(name: str = "The wide, the long and the foreign") -> Survey:
    """Overlong labels, 3,000 names, punycode, and rejected lines."""
    survey = _survey(name, SurveyState.FINISHED)
    survey.rejected = [
        {"line": 3, "text": "exa mple .org", "reason": "holds a space; write one domain per line"},
        {"line": 9, "text": "\u202eevil‮" + "x" * 300, "reason": "label 1 is longer than 63 octets"},
        {"line": 11, "text": "<script>alert(1)</script>", "reason": "holds the character '<'"},
    ]
    survey.n_rejected, survey.notes = 3, ["one line per domain; ranks are positions"]
    survey.save()
    _store(survey, [_wide(), _long(), _plain(RTL_DOMAIN, 3), _lost()])
    services.finish(survey, {})
    return survey


def empty() -> Survey:
    """A finished survey in which nothing uses a cloud."""
    survey = _survey("Nothing in a cloud", SurveyState.FINISHED)
    blank = {
        s.id: Table(s.id, s.columns, (), 0) for s in SPECS if s.id not in ("providers", "patterns")
    }
    blank["providers"] = Table(
        "providers", SPECS[0].columns, (("total", 0, 0.0, 0, 0.0, 0, 0.0),), 0
    )
    blank["patterns"] = Table("patterns", SPECS[1].columns, (), 0)
    words = "No subdomain of these domains answers from a known cloud"
    services.save_reports(survey, blank, dict.fromkeys(blank, words), [])
    services.finish(survey, {})
    Survey.objects.filter(pk=survey.pk).update(created_at=THEN - timedelta(days=400))
    return survey


def running() -> Survey:
    """A survey in the middle of its life."""
    survey = _survey("In the middle", SurveyState.RUNNING)
    counters = {
        "domains_done": 412,
        "queries": 60_200,
        "answered": 59_000,
        "found": 7_031,
        "resolved": 6_800,
        "cloud": 1_204,
        "failed": {"TIMEOUT": 41, "SERVFAIL": 12},
    }
    Shard.objects.create(survey=survey, key="s0", first=0, last=412, counters=counters)
    Survey.objects.filter(pk=survey.pk).update(
        started_at=datetime.now(UTC) - timedelta(seconds=60), n_domains=1_000
    )
    return survey


def waiting() -> Survey:
    """A survey that no worker has taken."""
    return _survey("Waiting", SurveyState.QUEUED)


def failed() -> Survey:
    """A survey that could not start."""
    survey = _survey("No server answered", SurveyState.RUNNING)
    services.fail(survey, "no name server answers: 192.0.2.53:53 timed out after 3 attempts")
    return survey


def cancelled() -> Survey:
    """A survey that a person stopped."""
    survey = _survey("Stopped", SurveyState.RUNNING)
    services.cancel(survey)
    return survey


def everyone() -> dict[str, Survey]:
    """The whole cast; the atlas is the newest, so that it is the front door."""
    makers = (empty, failed, cancelled, waiting, running, edges, atlas)
    return {maker.__name__: maker() for maker in makers}


def _survey(name: str, state: SurveyState, world: str = "") -> Survey:
    survey = Survey.objects.create(
        slug=services.free_slug(name),
        name=name,
        state=state,
        world=world,
        list_sha256="0" * 64,
        n_domains=3,
        estimated_queries=146_000,
        started_at=THEN,
    )
    survey.range_tables.set(
        [_range_table("aws", date(2013, 3, 28)), _range_table("azure", date(2013, 3, 1))]
    )
    return survey


def _range_table(provider: str, as_of: date) -> RangeTable:
    row, _ = RangeTable.objects.get_or_create(
        provider=provider, as_of=as_of, sha256="1" * 64, origin="", defaults={"file_name": "x"}
    )
    return row


def _summary() -> dict[str, Any]:
    return {
        "names": {
            "asked": 1_400_000,
            "resolved": 713_910,
            "cloud": 713_910,
            "failed": {"TIMEOUT": 4_102, "SERVFAIL": 1_011},
        },
        "domains": {"asked": 3, "cloud": 2, "wildcard": 1, "transferred": 1},
        "queries": 34_018_224,
        "wildcard_filtered": 1_204,
        "techniques": {"axfr": 80_000, "wordlist": 633_910},
    }


Domain = tuple[DomainOutcome, list[Lookup], list[NameServerPlace]]
_EAST = Placement(
    "23.20.1.1",
    "aws",
    "EC2",
    ("EC2",),
    "us-east-1",
    None,
    "23.20.0.0/14",
    date(2013, 3, 28),
    AddressKind.CLOUD,
)
_WEST = Placement(
    "54.241.7.9",
    "aws",
    "EC2",
    ("EC2",),
    "us-west-1",
    None,
    "54.241.0.0/16",
    date(2013, 3, 28),
    AddressKind.CLOUD,
)
_EDGE = Placement(
    "54.230.1.1",
    "aws",
    "CLOUDFRONT",
    ("CLOUDFRONT",),
    None,
    None,
    "54.230.0.0/16",
    date(2013, 3, 28),
    AddressKind.CDN,
)
_AZURE = Placement(
    "137.116.1.1",
    "azure",
    "AzureCloud",
    ("AzureCloud",),
    "westeurope",
    None,
    "137.116.0.0/16",
    date(2013, 3, 1),
    AddressKind.CLOUD,
    "europewest",
)
_ELSEWHERE = Placement("198.51.100.7")


def _answer(name: str, place: Placement, aliases: tuple[str, ...] = ()) -> Answer:
    chain, records = (name, *aliases), []
    for start, end in zip(chain, chain[1:], strict=False):
        records.append(Record(start, "CNAME", 300, end))
    records.append(Record(chain[-1], "A", 60, place.address))
    return Answer(
        name,
        "A",
        DnsStatus.NOERROR,
        tuple(records),
        (),
        "127.0.0.1:5300",
        "udp",
        1,
        0.84,
        THEN.timestamp(),
    )


def _outcome(domain: str, rank: int, found: int, **more: Any) -> DomainOutcome:
    given = {"transfer": "REFUSED", "wildcard": False, "nodata": 0, "wildcard_filtered": 0}
    return DomainOutcome(
        domain=domain,
        rank=rank,
        asked=found + 120,
        found=found,
        nxdomain=120,
        queries=300,
        **(given | more),
    )


_FRONTS = {"www": "elb", "blog": "heroku", "cdn": "cloudfront"}
_PLACES: dict[str, list[Placement]] = {}


def _linkedin() -> Domain:
    domain = "linkedin.com"
    rows = [
        (domain, (_ELSEWHERE,), ()),
        (f"www.{domain}", (_EAST,), ("lb-7.us-east-1.elb.amazonaws.com",)),
        (f"blog.{domain}", (_EAST,), ("proxy.heroku.com",)),
        (f"cdn.{domain}", (_EDGE,), ("d1.cloudfront.net",)),
        (f"api.{domain}", (_WEST,), ()),
        (f"labs.{domain}", (_AZURE,), ()),
    ]
    lookups = [
        Lookup(domain, Technique.WORDLIST, _answer(name, places[0], aliases))
        for name, places, aliases in rows
    ]
    lookups.append(
        Lookup(domain, Technique.WORDLIST, Answer(f"vpn.{domain}", "A", DnsStatus.TIMEOUT))
    )
    servers = [
        NameServerPlace(domain, f"ns{i}.p43.dynect.net", DnsStatus.NOERROR, _ELSEWHERE)
        for i in (1, 2)
    ]
    outcome = _outcome(domain, 13, 6, failed=(("TIMEOUT", 1),), wildcard_filtered=4)
    return outcome, lookups, servers


def _plain(domain: str, rank: int) -> Domain:
    name = f"www.{domain}"
    lookups = [
        Lookup(domain, Technique.LISTED, _answer(domain, _ELSEWHERE)),
        Lookup(domain, Technique.AXFR, _answer(name, _EAST)),
    ]
    return _outcome(domain, rank, 2, transfer="OK"), lookups, []


def _nowhere() -> Domain:
    return _outcome("nowhere.example", 900_001, 0, failed=(("SERVFAIL", 121),)), [], []


def _wide() -> Domain:
    lookups = [
        Lookup(WIDE_DOMAIN, Technique.AXFR, _answer(f"host-{i:04d}.{WIDE_DOMAIN}", _EAST))
        for i in range(WIDE_NAMES)
    ]
    return _outcome(WIDE_DOMAIN, 1, WIDE_NAMES, transfer="OK", wildcard=True), lookups, []


def _long() -> Domain:
    lookups = [
        Lookup(
            "example.org",
            Technique.AXFR,
            _answer(LONG_NAME, _AZURE, (f"{LONG_LABEL}.example.net",)),
        )
    ]
    return _outcome("example.org", 2, 1), lookups, []


def _lost() -> Domain:
    """A domain with an alias whose target is gone and free to claim."""
    name, missing = f"beta.{LOST_DOMAIN}", "left-8.cloudapp.net"
    gone = Answer(
        name,
        "A",
        DnsStatus.NXDOMAIN,
        (Record(name, "CNAME", 300, missing),),
        (),
        "127.0.0.1:5300",
        "udp",
        1,
        0.84,
        THEN.timestamp(),
    )
    lookups = [
        Lookup(LOST_DOMAIN, Technique.WORDLIST, _answer(f"www.{LOST_DOMAIN}", _EAST)),
        Lookup(LOST_DOMAIN, Technique.WORDLIST, gone),
    ]
    return _outcome(LOST_DOMAIN, 4, 2), lookups, []


def _label(name: str, place: Placement) -> list[Front]:
    if place.provider is None:
        return []
    label = _FRONTS.get(name.split(".")[0], "vm" if place.provider == "aws" else "cs")
    rule = f"{place.provider}-{label}"
    return [Front(name, place.provider, label, rule, f"A {place.address}", place.address)]


_BY_ADDRESS = {p.address: p for p in (_EAST, _WEST, _EDGE, _AZURE, _ELSEWHERE)}


def _store(survey: Survey, domains: list[Domain]) -> None:
    lookups = [lookup for _, found, _ in domains for lookup in found]
    placed = [
        (x.domain, x.answer.name, _BY_ADDRESS[a]) for x in lookups for a in x.answer.addresses
    ]
    fronts = [(d, front) for d, name, place in placed for front in _label(name, place)]
    fronts += [(x.domain, front) for x in lookups for front in find_dangling([x.answer])]
    rows = {
        "lookups": schemas.table_of_lookups(lookups),
        "domains": schemas.rows_of_domains([outcome for outcome, _, _ in domains]),
        "placements": schemas.rows_of_placements(placed),
        "fronts": schemas.rows_of_fronts(fronts),
        "servers": schemas.rows_of_servers([s for _, _, found in domains for s in found]),
    }
    root = Path(settings.LAKE_DIR)
    for table, data in rows.items():
        write_part(part_path(root, survey.slug, table, "s0"), table, data)
    counters = {
        "domains_done": 3,
        "queries": 34_018_224,
        "found": len(lookups),
        "resolved": len(lookups),
        "cloud": len(fronts),
        "failed": {"TIMEOUT": 4_102, "SERVFAIL": 1_011},
    }
    Shard.objects.create(
        survey=survey, key="s0", first=0, last=3, state=Shard.State.DONE, counters=counters
    )
