"""Two versions of a table: what changed, and when a new one is not believed."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.ranges import RangeEntry, RangeFile
from cartography.ranges.changes import Change, ChangeKind, compare, count_addresses, find_doubt
from cartography.ranges.form import count_entries
from tests.cartography.files import REAL, read_real

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


def test_addresses_are_counted_once():
    nested = table(entry("192.0.2.0/24"), entry("192.0.2.0/25", "S3"), entry("198.51.100.0/30"))

    assert count_addresses(nested) == 260
    assert count_addresses(table(entry("255.255.255.0/24"), entry("0.0.0.0/32"))) == 257
    assert count_addresses(table(entry("2001:db8::/65")), 6) == 1 << 63
    assert count_addresses(table(entry("2001:db8::/65"))) == 0


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (blocks(100), None),
        (blocks(150), None),
        (blocks(91), None),
        (blocks(89), "it has 89 entries, and the table of 2013-03-29 has 100"),
        ([entry(f"198.18.{n}.0/25") for n in range(100)], "12,800 IPv4 addresses"),
        ([*blocks(100), entry("203.0.113.0/24", region="us-eatt-1")], "the region 'us-eatt-1'"),
        ([*blocks(100), *blocks(120, "us-north-9")[100:]], None),
        ([*blocks(100), entry("203.0.113.0/24", region="eu-west-3")], None),
    ],
)
def test_when_a_new_version_is_not_believed(new, reason):
    doubt = find_doubt(table(*new), table(*blocks(100)))

    assert (doubt is None) == (reason is None)
    assert reason is None or reason in doubt


def test_the_loss_of_regions_is_doubtful():
    old = table(*blocks(50), *(entry(f"203.0.{n}.0/24", region=f"r-{n}") for n in range(9)))
    new = table(*blocks(70))

    assert "1 regions, and the table of 2013-03-29 has 10" in find_doubt(new, old)


def test_a_first_version_is_believed():
    assert find_doubt(table(*blocks(3)), None) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("aws-ip-ranges-2015-04.json", "aws-ip-ranges-2018-06.json"),
        ("aws-ip-ranges-2018-06.json", "aws-ip-ranges-2024-06.json.gz"),
        ("azure-PublicIPs-20170911.xml", "azure-ServiceTags_Public_20240624.json.gz"),
    ],
)
def test_real_versions_follow_each_other_without_doubt(older, newer):
    old, new = read_real(older), read_real(newer)

    assert find_doubt(new, old) is None
    assert find_doubt(old, new)
    assert {change.kind for change in compare(old, new)} == set(ChangeKind)


@pytest.mark.parametrize("name", REAL)
def test_no_real_file_is_doubtful(name):
    assert find_doubt(read_real(name), None) is None
