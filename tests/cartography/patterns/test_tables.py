"""The rules as joins: the same labels as name by name."""

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.patterns import find_dangling, label_fronts, load_rules
from cartography.patterns.fronts import own_matcher
from cartography.patterns.tables import DANGLING_SQL, FRONTS_SQL, MATCHES_SQL, open_patterns
from core.records import Answer, Placement, Record
from core.statuses import AddressKind, DnsStatus
from tests.examples import examples

RULES = load_rules()
TARGETS = [
    f"{head}{value.replace('*', 'eu-west-1')}"
    for rule in RULES
    if rule.by_cname
    for value in rule.values
    for head in ("", "a.", "a.b.")
] + ["example.net", "net", "xelb.amazonaws.com", "elb.amazonaws.com.example.net", "a.heroku.com.x"]
PROVIDERS = sorted({rule.provider for rule in RULES if not rule.by_name})
SERVICES = [value for rule in RULES if rule.match == "service" for value in rule.values]
LISTED = [v.replace("0/24", "9") for rule in RULES if rule.match == "network" for v in rule.values]

places = st.builds(
    Placement,
    st.sampled_from([*LISTED, "198.51.100.1", "198.51.100.2", "2001:db8::1"]),
    st.sampled_from([*PROVIDERS, None]),
    st.sampled_from(["any", *SERVICES]),
    region=st.sampled_from(["here", None]),
    kind=st.sampled_from(AddressKind),
)
names = st.tuples(
    st.lists(st.sampled_from(TARGETS), max_size=3, unique=True),
    st.lists(places, max_size=3, unique_by=lambda p: p.address),
    st.sampled_from([DnsStatus.NOERROR, DnsStatus.NXDOMAIN]),
)


def answers_of(drawn):
    for n, (chain, found, status) in enumerate(drawn):
        owners = (f"n{n}.example.com", *chain)
        records = [Record(a, "CNAME", 60, b) for a, b in zip(owners, chain, strict=False)]
        records += [Record(owners[-1], "A", 60, p.address) for p in found]
        yield Answer(owners[0], "A", status, tuple(records)), {p.address: p for p in found}


def connect(answered):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE chains (name VARCHAR, cname VARCHAR)")
    connection.execute("CREATE TABLE ends (name VARCHAR, cname VARCHAR, status VARCHAR)")
    connection.execute(
        "CREATE TABLE placed (name VARCHAR, address VARCHAR, provider VARCHAR, service VARCHAR,"
        " kind VARCHAR, region VARCHAR)"
    )
    chains = [(a.name, cname) for a, _ in answered for cname in a.cnames]
    ends = [(a.name, cname, str(a.status)) for a, _ in answered for cname in a.cnames[-1:]]
    placed = [
        (a.name, p.address, p.provider, p.service, str(p.kind), p.region)
        for a, found in answered
        for p in found.values()
    ]
    for table, rows in (("chains", chains), ("ends", ends), ("placed", placed)):
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    open_patterns(connection)
    connection.execute(MATCHES_SQL)
    return connection


def rows(fronts):
    return sorted((f.name, f.provider, f.label, f.rule, f.instance) for f in fronts)


@settings(max_examples=examples(12), deadline=None)
@given(st.lists(names, min_size=1, max_size=20))
def test_joins_and_names_one_by_one_give_the_same_labels(drawn):
    answered = list(answers_of(drawn))
    with connect(answered) as connection:
        joined = sorted(connection.execute(FRONTS_SQL).fetchall())

    assert joined == rows(f for answer, found in answered for f in label_fronts([answer], found))


@settings(max_examples=examples(5), deadline=None)
@given(st.lists(names, min_size=1, max_size=20))
def test_dangling_aliases_are_the_same(drawn):
    answered = list(answers_of(drawn))
    with connect(answered) as connection:
        joined = {(n, p, i) for n, p, _, _, i in connection.execute(DANGLING_SQL).fetchall()}

    alone = [f for answer, _ in answered for f in find_dangling([answer])]
    assert joined == {(f.name, f.provider, f.instance) for f in alone}


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=40))
def test_every_target_meets_the_rules_that_a_plain_comparison_finds(targets):
    for name in targets:
        expected = {n for n, rule in enumerate(RULES) if plain(rule, name)}
        assert set(own_matcher().match_name(name)) == expected


def plain(rule, name):
    if rule.match == "cname_contains":
        return any(value in name for value in rule.values)
    if rule.match != "cname_suffix":
        return False
    labels = name.split(".")
    return any(
        len(labels) >= len(suffix)
        and all(s in ("*", w) for s, w in zip(suffix[::-1], labels[::-1], strict=False))
        for suffix in (value.split(".") for value in rule.values)
    )
