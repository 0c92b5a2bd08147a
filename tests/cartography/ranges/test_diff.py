"""Two versions of a table: what changed."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.ranges import RangeEntry, RangeFile
from cartography.ranges.diff import Change, ChangeKind, compare
from cartography.ranges.range_file import count_entries
from tests.cartography.ranges.files import read_real

DAY = date(2013, 3, 29)


def entry(prefix, service="EC2", region="us-east-1", group=None):
    return RangeEntry(prefix, "aws", service, region, group)


def table(*entries):
    return RangeFile("aws", DAY, entries, count_entries(entries), edition="1")


def blocks(count, region="us-east-1"):
    return [entry(f"198.{18 + n // 256}.{n % 256}.0/24", region=region) for n in range(count)]


def test_it_works():
    old = table(entry("192.0.2.0/24"), entry("198.51.100.0/24"), entry("203.0.113.0/24"))
    new = table(
        entry("192.0.2.0/24"),
        entry("198.51.100.0/24", region="eu-west-1"),
        entry("2001:db8::/32", "S3", group="us-east-1-bos-1"),
    )

    assert compare(old, new) == [
        Change(ChangeKind.CHANGED, "198.51.100.0/24", ("EC2 us-east-1",), ("EC2 eu-west-1",)),
        Change(ChangeKind.REMOVED, "203.0.113.0/24", ("EC2 us-east-1",), ()),
        Change(ChangeKind.ADDED, "2001:db8::/32", (), ("S3 us-east-1 us-east-1-bos-1",)),
    ]


def test_the_order_of_rows_is_no_change():
    rows = [entry("192.0.2.0/24", s) for s in ("AMAZON", "EC2")]

    assert compare(table(*rows), table(*rows[::-1])) == []


@settings(deadline=None)
@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_changes_lead_from_one_version_to_the_other(before, after):
    rows = blocks(41)
    old, new = table(*(rows[i] for i in before)), table(*(rows[i] for i in after))

    prefixes = {e.prefix for e in old.entries}
    for change in compare(old, new):
        (prefixes.add if change.kind == ChangeKind.ADDED else prefixes.remove)(change.prefix)
    assert prefixes == {e.prefix for e in new.entries}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("aws-ip-ranges-2015-04.json", "aws-ip-ranges-2018-06.json"),
        ("aws-ip-ranges-2018-06.json", "aws-ip-ranges-2024-06.json.gz"),
        ("azure-PublicIPs-20170911.xml", "azure-ServiceTags_Public_20240624.json.gz"),
    ],
)
def test_real_versions_differ_in_every_way(older, newer):
    old, new = read_real(older), read_real(newer)

    assert {change.kind for change in compare(old, new)} == set(ChangeKind)
