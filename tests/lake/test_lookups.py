"""Lookups as columns: what is stored is what was found, with numbers beside the text."""

from ipaddress import ip_address

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from core.records import Answer, Lookup, Record
from core.statuses import DnsStatus, Technique
from lake import columns
from lake.schemas import SCHEMAS, table_of_lookups
from tests.examples import examples

NAMES = st.sampled_from(["a.test", "b.a.test", "c.test"])
ADDRESSES = st.one_of(
    st.ip_addresses(v=4).map(lambda a: ("A", str(a))),
    st.ip_addresses(v=6).map(lambda a: ("AAAA", str(a))),
    st.just(("CNAME", "x.test")),
)
RECORDS = st.lists(ADDRESSES, max_size=4).map(
    lambda found: tuple(Record("a.test", kind, 60, data) for kind, data in found)
)
LOOKUPS = st.builds(
    Lookup,
    NAMES,
    st.sampled_from(Technique),
    st.builds(
        Answer,
        NAMES,
        st.sampled_from(["A", "AAAA"]),
        st.sampled_from(DnsStatus),
        RECORDS,
        RECORDS,
        st.just("127.0.0.1:53"),
        st.just("udp"),
        st.integers(1, 9),
        rtt_ms=st.none() | st.floats(0, 1e4),
        at=st.floats(0, 4e9),
    ),
)


def as_row(row):
    names = [r["data"] for r in row["answers"] if r["type"] == "A"]
    assert [str(ip_address(n)) for n in row["ipv4"]] == names
    return (
        *(row[key] for key in ("domain", "technique", "name", "type", "status", "rtt_ms")),
        *(tuple(Record(**r) for r in row[key]) for key in ("answers", "authorities")),
    )


@settings(max_examples=examples(200))
@given(st.lists(LOOKUPS, max_size=8))
def test_rows_are_what_was_found_by_the_number_of_the_name(lookups):
    table = table_of_lookups(lookups, 5 << 32)
    assert table.schema == SCHEMAS["lookups"]
    rows = table.to_pylist()
    expected = [
        (x.domain, str(x.technique), a.name, a.type, str(a.status), a.rtt_ms)
        + (a.answers, a.authorities)
        for x in lookups
        for a in [x.answer]
    ]
    assert sorted(map(repr, map(as_row, rows))) == sorted(map(repr, expected))
    ids = [row["name_id"] for row in rows]
    assert [(row["domain"], row["name"]) for row in rows] == sorted(
        (row["domain"], row["name"]) for row in rows
    )
    assert list(dict.fromkeys(ids)) == sorted(set(ids))
    assert len(set(ids)) == len({row["name"] for row in rows})
    assert all(number >= 5 << 32 for number in ids)
    times = _times(rows, lookups)
    assert all(abs(r["at"].timestamp() - at) < 1e-5 for r, at in zip(rows, times, strict=True))


@given(st.lists(RECORDS), st.integers(0, 3))
def test_addresses_as_text_are_those_of_the_answers_in_order(sections, skipped):
    rows = columns.sections_column(sections)[skipped:]
    expected = [[r.data for r in s if r.type != "CNAME"] for s in sections[skipped:]]

    for chunks in ([rows], [rows[:1], rows[1:]]):
        found = columns.addresses_of(pa.chunked_array(chunks, rows.type))
        assert found.to_pylist() == expected


def _times(rows, lookups):
    by_row = {}
    for lookup in lookups:
        by_row.setdefault((lookup.answer.name, lookup.domain, lookup.answer.type), []).append(
            lookup.answer.at
        )
    return [by_row[row["name"], row["domain"], row["type"]].pop(0) for row in rows]
