"""A name's rows of sorted parts, beside DuckDB's of the same parts without an order."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.index.profiles import name_page
from lake.parts import part_path, write_part
from lake.schemas import SCHEMAS
from tests.examples import examples

NAME = "www.b.a.test"
DOMAINS = st.sampled_from([NAME, "b.a.test", "a.test", "other.test"])
NAMES = st.sampled_from([NAME, NAME, "mail.b.a.test"])
PROVIDERS = st.sampled_from([None, "aws", "azure"])
TIMES = st.none() | st.integers(0, 3).map(
    lambda h: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(0, h)
)
LOOKUPS = st.fixed_dictionaries(
    {
        "domain": DOMAINS,
        "name": NAMES,
        "type": st.sampled_from(["A", "AAAA", "NS"]),
        "technique": st.sampled_from([None, "listed", "wordlist"]),
        "status": st.just("NOERROR"),
        "answers": st.just([{"name": NAME, "type": "A", "ttl": 60, "data": "192.0.2.1"}]),
        "rtt_ms": st.sampled_from([None, 1.5]),
        "at": TIMES,
    }
)
PLACEMENTS = st.fixed_dictionaries(
    {
        "domain": DOMAINS,
        "name": NAMES,
        "address": st.sampled_from(["192.0.2.1", "192.0.2.2", "2001:db8::1"]),
        "provider": PROVIDERS,
        "kind": st.sampled_from(["cloud", "cdn", "other"]),
        "services": st.sampled_from([None, ["EC2"]]),
    }
).map(lambda row: row if row["provider"] else {**row, "kind": "other"})
FRONTS = st.fixed_dictionaries(
    {
        "domain": DOMAINS,
        "name": NAMES,
        "provider": PROVIDERS,
        "label": st.sampled_from(["vm", "cdn", "front-door"]),
        "instance": st.sampled_from([None, "i-1", "i-2"]),
    }
)


def unique(rows, *columns):
    """Lists of rows with one row per values of the columns."""
    return st.lists(rows, max_size=12, unique_by=lambda row: tuple(row[c] for c in columns))


@settings(deadline=None, max_examples=examples(60))
@given(
    unique(LOOKUPS, "domain", "name", "type"),
    unique(PLACEMENTS, "domain", "name", "address"),
    unique(FRONTS, "domain", "name", "provider", "label", "instance"),
    st.sampled_from([None, ["a.test"], ["a.test", "b.a.test"]]),
)
def test_the_rows_are_those_of_the_queries(tmp_path_factory, lookups, places, fronts, domains):
    root = tmp_path_factory.mktemp("lake")
    for table, rows in (("lookups", lookups), ("placements", places), ("fronts", fronts)):
        found = pa.Table.from_pylist(rows, schema=SCHEMAS[table])
        write_part(part_path(root, "new", table, "s"), table, found)
        old = part_path(root, "old", table, "s")
        old.parent.mkdir(parents=True)
        pq.write_table(found, old)
    new = name_page(root, "new", NAME, ["s"], domains)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "analysis.index.profiles.name_rows.select", None
        )  # DuckDB reads the old parts
        old = name_page(root, "old", NAME, ["s"], domains)
    if domains is None:
        assert new == old
    elif new is not None:
        # Parts without an order are read whole: the view has rows of other listed domains.
        assert {row["domain"] for row in new["lookups"]} <= set(domains)
