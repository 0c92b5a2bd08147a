"""Files that can be read: which are refused as damaged, and which are accepted with a warning."""

import json
import random
from dataclasses import replace
from datetime import date, timedelta
from itertools import permutations

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from cartography.ranges import RangeEntry, RangeFile, read_ranges
from cartography.ranges.plausibility import assess_file, count_addresses
from cartography.ranges.range_file import count_entries
from core.errors import BadInput
from tests.cartography.ranges.files import REAL, read_real, sample
from tests.shared import shared_file
from webapp.store.ranges import tables

DAY = date(2013, 3, 29)


@pytest.fixture
def folder(tmp_path):
    before = settings.RANGES_DIR
    settings.RANGES_DIR = tmp_path / "ranges"
    yield settings.RANGES_DIR
    settings.RANGES_DIR = before


def entry(prefix, service="EC2", region="us-east-1", group=None):
    return RangeEntry(prefix, "aws", service, region, group, region_as_published=region)


def table(*entries, days=0, edition="1"):
    counts = count_entries(entries)
    return RangeFile("aws", DAY + timedelta(days=days), entries, counts, edition=edition)


def blocks(count, region="us-east-1"):
    return [entry(f"198.{18 + n // 256}.{n % 256}.0/24", region=region) for n in range(count)]


def scattered(rows, count):
    """``count`` of the rows, drawn at random, in their order."""
    kept = set(random.Random(7).sample(range(len(rows)), count))
    return [row for number, row in enumerate(rows) if number in kept]


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
        (scattered(blocks(100), 89), None),
        (scattered(blocks(100), 60), "it has 60 entries, and the table of 2013-03-29 has 100"),
        (scattered(blocks(100), 50), "it has 50 entries, and the table of 2013-03-29 has 100"),
        (blocks(89), "it ends before 198.18.89.0/24: it has 89 of the 89 rows"),
        ([entry(f"198.18.{n}.0/25") for n in range(100)], "12,800 IPv4 addresses"),
        ([*blocks(100), entry("10.0.0.0/24")], "10.0.0.0/24 is private or reserved"),
        ([*blocks(100), entry("239.1.0.0/24")], "239.1.0.0/24 is private or reserved"),
        ([*blocks(100), entry("203.0.113.0/24", region="us-eatt-1")], "and is 'us-east-1' but for"),
        ([*blocks(100), entry("203.0.113.0/24", region="us-south-7")], None),
        ([*blocks(100), *blocks(120, "us-north-9")[100:]], None),
        ([*blocks(100), entry("203.0.113.0/24", region="eu-west-3")], None),
    ],
)
def test_when_a_new_version_is_refused(new, reason):
    refusal = assess_file(table(*new, days=7), table(*blocks(100))).refusal

    assert (refusal is None) == (reason is None)
    assert reason is None or reason in refusal


def test_a_version_that_lost_much_within_days_is_accepted_with_a_warning():
    found = assess_file(table(*scattered(blocks(100), 80), days=7), table(*blocks(100)))

    assert found.warnings == ("it has 80 entries, and the table of 2013-03-29 has 100",)


@pytest.mark.parametrize(
    ("years", "left", "is_refused"),
    [(0, 60, True), (0.5, 60, False), (1, 20, False), (1, 10, True), (4, 2, False), (11, 1, False)],
)
def test_a_version_that_is_years_younger_may_have_shrunk(years, left, is_refused):
    new = table(*scattered(blocks(100), left), days=round(years * 365))
    found = assess_file(new, table(*blocks(100)))

    assert bool(found.refusal) == is_refused
    assert is_refused or f"it has {left} entries" in found.warnings[0]


@given(st.integers(3, 300), st.data())
def test_a_list_that_is_cut_by_more_than_a_tenth_is_refused_however_old(count, data):
    left = data.draw(st.integers(1, max(1, int(count * 0.89))))
    days = data.draw(st.integers(1, 4000))
    assert assess_file(table(*blocks(count)[:left], days=days), table(*blocks(count))).refusal


@given(st.integers(90, 300), st.integers(1, 90))
def test_half_of_the_rows_gone_within_three_months_is_refused(count, days):
    new = table(*scattered(blocks(count), (count + 1) // 2), days=days % 60)
    assert assess_file(new, table(*blocks(count))).refusal


def test_the_loss_of_regions_is_refused():
    old = table(*blocks(50), *(entry(f"203.0.{n}.0/24", region=f"r-{n}") for n in range(9)))
    new = table(*blocks(70))

    assert "1 regions, and the table of 2013-03-29 has 10" in assess_file(new, old).refusal


def test_formats_of_one_provider_are_not_compared_by_rows():
    """Azure's service tags list a block once for each service, the list before them once."""
    rows = blocks(100)
    tags = table(*rows, *(row._replace(service=f"S{n}") for n in range(9) for row in rows), days=7)

    assert assess_file(tags, table(*rows, edition="")).refusal is None
    assert assess_file(table(*rows, edition="", days=9), tags).refusal is None
    assert "1,000 entries" in assess_file(tags, table(*rows)).refusal


def tags(number=7, **regions):
    """Service tags of Azure with the blocks of each region."""
    every = [prefix for prefixes in regions.values() for prefix in prefixes]
    values = [{"name": "AzureCloud", "properties": {"region": "", "addressPrefixes": every}}]
    values += [
        {"name": f"AzureCloud.{name}", "properties": {"region": name, "addressPrefixes": prefixes}}
        for name, prefixes in regions.items()
    ]
    return json.dumps({"changeNumber": number, "cloud": "Public", "values": values}).encode()


@pytest.mark.django_db
@pytest.mark.parametrize("is_first", [True, False])
def test_service_tags_with_a_new_region_of_one_row_are_accepted(folder, is_first):
    known = {"westeurope": ["192.0.2.0/24", "198.51.100.0/24"]}
    if not is_first:
        tables.import_ranges("azure", tags(**known), file_name="ServiceTags_Public_20240617.json")
    new = tags(8, **known, easteurope=["203.0.113.0/24"])
    row, file = tables.import_ranges("azure", new, file_name="ServiceTags_Public_20240624.json")

    assert tables.tables_in_force() == [row]
    assert file.warnings == (
        "regions of one row that no table or catalogue had before: 'easteurope'",
    )


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "ip-ranges.json"])
def test_an_older_publication_is_accepted_for_its_own_days(folder, name):
    newer = sample("aws-sample.json").replace(b"2013-03-29", b"2014-03-29")
    row, _ = tables.import_ranges("aws", newer)
    older, file = tables.import_ranges("aws", sample("aws-sample.json"), file_name=name)

    assert file.warnings == (
        "it is used from 2013-03-29 until 2014-03-29 only: a newer table is in force",
    )
    assert tables.tables_in_force() == [row]
    assert tables.tables_in_force(as_of=date(2013, 12, 1)) == [older]


# Real files

GROUPS = [pair for pair in permutations(REAL, 2) if REAL[pair[0]][0] == REAL[pair[1]][0]]


def take(name):
    provider, as_of, *_ = REAL[name]
    data = shared_file(f"ip-ranges/{name}").read_bytes()
    return tables.import_ranges(provider, data, as_of=as_of, file_name="copy")


@pytest.mark.django_db
@pytest.mark.parametrize("order", [*((name,) for name in REAL), *GROUPS], ids=" then ".join)
def test_every_real_file_is_accepted_in_every_order(folder, order):
    files = list(map(take, order))

    newest = max(row.as_of for row, _ in files)
    assert newest in {row.as_of for row in tables.tables_in_force()}
    # What is older than the table in force counts for the days before it, which the user knows
    # who gave the date.
    for (first, _), (row, file), name in zip(files, files[1:], order[1:], strict=False):
        is_older = first.variant == row.variant and row.as_of < first.as_of
        assert bool(file.warnings) == (is_older and REAL[name][1] is None)
    assert files[0][1].warnings == ()


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_without_half_of_its_rows_is_refused_beside_the_whole_one(name):
    whole = read_real(name)
    rows = scattered(whole.entries, len(whole.entries) // 2)
    later = replace(
        whole,
        as_of=whole.as_of + timedelta(days=3),
        entries=tuple(rows),
        counts=count_entries(rows),
        edition=whole.edition and "later",
    )

    assert assess_file(later, whole).refusal


def garbage(data):
    drawn = random.Random(7)
    added = ", ".join(
        f'{{"ip_prefix": "{drawn.randrange(256)}.{drawn.randrange(256)}.0.0/16",'
        ' "region": "us-east-1", "service": "AMAZON"}'
        for _ in range(100)
    )
    return data.replace(b'"prefixes": [', f'"prefixes": [{added}, '.encode(), 1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (garbage, "private or reserved"),
        (lambda data: data[: len(data) // 2], "damaged or cut off"),
        (lambda data: b"<html>" + data, "damaged or cut off"),
    ],
)
def test_a_damaged_real_file_is_refused_into_an_empty_store(folder, damage, reason):
    data = shared_file("ip-ranges/aws-ip-ranges-2015-04.json").read_bytes()
    with pytest.raises(BadInput, match=reason):
        tables.import_ranges("aws", damage(data))
    with pytest.raises(BadInput, match="it looks like a file of"):
        read_ranges("google", data)
