"""Copies with damage that leaves a sound file: what contradicts itself, or the file in force."""

import gzip
import json
import re
from datetime import date

import pytest
from django.conf import settings
from django.db import transaction
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from cartography.ranges import guess_provider, read_ranges
from cartography.ranges.plausibility import assess_file
from core.errors import BadInput
from tests.cartography.ranges.files import DAY, SAMPLES
from tests.examples import examples
from webapp.store.models import RangeTable
from webapp.store.ranges import tables

AWS = {"syncToken": "1704067200", "createDate": "2024-01-01-00-00-00"}
GOOGLE = {"syncToken": "1704067200123", "creationTime": "2023-12-31T16:00:00.123456"}
ALL = sorted(path.name for path in SAMPLES.glob("*-sample.*"))


def aws(*rows, **head):
    keys = ("ip_prefix", "service", "region", "network_border_group")
    prefixes = [dict(zip(keys, (*row, row[2]), strict=True)) for row in rows]
    return json.dumps({**AWS, **head, "prefixes": prefixes}).encode()


def google(*rows, **head):
    prefixes = [{"ipv4Prefix": p, "service": "Google Cloud", "scope": s} for p, s in rows]
    return json.dumps({**GOOGLE, **head, "prefixes": prefixes}).encode()


def azure(cloud="Public", number=7, **tags):
    values = [
        {
            "name": name.replace("__", "."),
            "properties": {"region": name.partition("__")[2], "addressPrefixes": prefixes},
        }
        for name, prefixes in tags.items()
    ]
    return json.dumps({"changeNumber": number, "cloud": cloud, "values": values}).encode()


def feed(*rows):
    return "".join(f"{prefix},US,US-NJ,{city},07047\n" for prefix, city in rows).encode()


def oracle(*rows):
    regions = [{"region": r, "cidrs": [{"cidr": p, "tags": ["OCI", "OSN"]}]} for p, r in rows]
    document = {"last_updated_timestamp": "2024-01-01T00:00:00", "regions": regions}
    return json.dumps(document).encode()


def doubt(provider, data):
    return assess_file(read_ranges(provider, data, DAY)).refusal


WHOLE = [("198.51.100.0/24", "AMAZON", "us-east-1"), ("198.51.100.0/25", "EC2", "us-east-1")]


@pytest.mark.parametrize(
    ("provider", "data"),
    [
        ("aws", aws(*WHOLE)),
        ("aws", aws(*WHOLE, syncToken="1704060000", createDate="2017-12-31-00-00-00")),
        ("aws", aws(*WHOLE, WHOLE[0])),
        ("google", google(("198.51.100.0/24", "us-east1"), ("192.0.2.0/24", "us-west1"))),
        ("google", google(("192.0.2.0/24", "us-west1"), creationTime="2023-12-31T17:00:00.123")),
        ("azure", azure(Sql=["192.0.2.0/24"], Sql__eastus=["192.0.2.0/24"])),
        (
            "azure",
            azure(AzureCloud=["192.0.2.0/24"], AzureCloud__eastus=["192.0.2.0/24"], Sql=[]),
        ),
        ("oracle", oracle(("192.0.2.0/24", "us-ashburn-1"), ("198.51.100.0/24", "us-phoenix-1"))),
        ("digitalocean", feed(("192.0.2.0/24", "Clifton"), ("192.0.2.0/25", "Clifton"))),
    ],
)
def test_what_providers_publish_is_believed(provider, data):
    assert doubt(provider, data) is None


@pytest.mark.parametrize(
    ("provider", "data", "reason"),
    [
        ("aws", aws(*WHOLE, createDate="2024-01-02-00-00-00"), "and syncToken says 2024-01-01"),
        ("aws", aws(*WHOLE, ("198.51.100.0/24", "S3", "us-west-2")), "in us-east-1 and in us-west"),
        ("aws", aws(*WHOLE, ("198.51.100.8/29", "S3", "us-west-2")), "198.51.100.0/24 around it"),
        ("google", google(("192.0.2.0/24", "us-west1"), syncToken="1704067300123"), "another time"),
        (
            "google",
            google(("198.51.100.0/24", "us-west1"), ("192.0.2.0/24", "us-west1")),
            "192.0.2.0/24 follows 198.51.100.0/24",
        ),
        (
            "google",
            google(("192.0.2.0/24", "us-west1"), ("192.0.2.8/29", "us-east1")),
            "192.0.2.0/24 (us-west1) and 192.0.2.8/29 (us-east1) overlap",
        ),
        ("azure", azure("Publik", Sql=["192.0.2.0/24"]), "'publik' is not a known cloud"),
        ("azure", azure(Sql=["192.0.2.0/24", "192.0.2.8/29"]), "overlap"),
        (
            "azure",
            azure(AzureCloud__eastus=["192.0.2.0/24"], AzureCloud__westus=["192.0.2.0/25"]),
            "192.0.2.0/24 (eastus) and 192.0.2.0/25 (westus) overlap",
        ),
        (
            "azure",
            azure(AzureCloud=["192.0.2.0/24"], AzureCloud__eastus=["192.0.3.0/24"]),
            "192.0.3.0/24 is in AzureCloud.eastus, not in AzureCloud",
        ),
        ("oracle", oracle(("192.0.2.0/24", "us-ashburn-1"), ("192.0.2.0/25", "us-p")), "overlap"),
        (
            "digitalocean",
            feed(("192.0.2.0/24", "Clifton")) * 2,
            "192.0.2.0/24 (US Clifton) is listed twice",
        ),
        (
            "digitalocean",
            feed(("192.0.2.0/24", "Clifton"), ("192.0.2.0/24", "Edison")),
            "192.0.2.0/24 is in US Clifton and in US Edison",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_not_believed(provider, data, reason):
    assert reason in doubt(provider, data)


def test_blocks_without_a_place_and_empty_cells_at_the_end_are_read():
    file = read_ranges("digitalocean", b"192.0.2.0/24,None\n" + feed(("192.0.3.0/24", "C")), DAY)
    assert [e.region_as_published for e in file.entries] == [None, "US C"]
    with pytest.raises(BadInput, match="line 1: it has 6 cells instead of 5"):
        read_ranges("digitalocean", b"192.0.2.0/24,US,US-NJ,Clifton,07047,x\n", DAY)

    header = b"# Last modified: 2023-04-14 10:00:05\n"
    file = read_ranges("linode", header + b"192.0.2.0/24,SG,SG-04,Singapore,,\n")
    assert [(e.region, file.edition) for e in file.entries] == [("ap-south", "2023-04-14 10:00:05")]


# In the store


@pytest.fixture
def folder(tmp_path):
    before = settings.RANGES_DIR
    settings.RANGES_DIR = tmp_path / "ranges"
    yield settings.RANGES_DIR
    settings.RANGES_DIR = before


def put(name, data, file_name):
    return tables.import_ranges(guess_provider(sample(name)), data, file_name=file_name)[0]


def sample(name):
    return (SAMPLES / name).read_bytes()


def damaged(data, kinds):
    """One of the ways in which a copy goes wrong."""
    digits = [m.start() for m in re.finditer(rb"\d", data)]
    kind = kinds.draw(st.sampled_from(["cut", "flip", "digit", "swap", "lost", "twice"]))
    at = kinds.draw(st.integers(0, len(data) - 2))
    lines = data.splitlines(keepends=True)
    row, other = (kinds.draw(st.integers(0, len(lines) - 1)) for _ in "ab")
    if kind == "cut":
        return data[:at]
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
    if kind == "digit":
        at = digits[at % len(digits)]
        return data[:at] + b"%d" % ((data[at] - 48 + 1 + other % 9) % 10) + data[at + 1 :]
    if kind == "swap":
        lines[row], lines[other] = lines[other], lines[row]
    elif kind == "lost":
        del lines[row]
    else:
        lines.insert(row, lines[row])
    return b"".join(lines)


@pytest.mark.django_db
@pytest.mark.parametrize("named", ["-2013-03-29.txt", ""])
@pytest.mark.parametrize("name", ALL)
def test_a_damaged_copy_of_the_publication_in_force_changes_nothing(folder, name, named):
    whole = sample(name)
    kept = put(name, whole, "list-2013-03-29.txt")
    said = tables.read_table(kept)

    @effort(max_examples=examples(10), deadline=None)
    @given(st.data())
    def corrupt(kinds):
        with transaction.atomic():
            try:
                row = put(name, damaged(whole, kinds), f"copy{named}")
            except BadInput:
                return
            # What is taken says the same of each prefix, though its head may name another day.
            assert {*tables.read_table(row).entries} == {*said.entries}
            transaction.set_rollback(True)

    corrupt()
    for same in (gzip.compress(whole), b"\xef\xbb\xbf" + whole, whole.replace(b"\n", b"\r\n")):
        assert put(name, same, "list-2013-03-29.txt") == kept
    for other in (b"", b"<html>502</html>", whole.decode().encode("utf-16")):
        with pytest.raises(BadInput):
            put(name, other, "copy.txt")
    assert tables.tables_in_force(as_of=DAY) == [kept]


@pytest.mark.django_db
def test_the_first_prefix_that_differs_is_named(folder):
    rows = [(f"198.51.{n}.0/24", "AMAZON", "us-east-1") for n in range(9)]
    put("aws-sample.json", aws(*rows), "")
    rows[4] = ("198.52.4.0/24", "AMAZON", "us-east-1")

    with pytest.raises(BadInput) as caught:
        put("aws-sample.json", aws(*rows), "")
    assert "the publication in force, of 2024-01-01" in str(caught.value)
    assert "row 5 is 198.52.4.0/24 AMAZON us-east-1 here and 198.51.4.0/24" in str(caught.value)
    assert RangeTable.objects.count() == 1


@pytest.mark.django_db
def test_a_list_that_names_no_day_needs_one_when_it_differs(folder):
    old, new = (feed(*((f"192.0.{n}.0/24", "Clifton") for n in range(size))) for size in (20, 21))
    put("digitalocean-sample.csv", old, "google-2024-01-01.csv")
    with pytest.raises(BadInput, match=r"row 21 is 192.0.20.0/24 .* --as-of DATE takes it"):
        put("digitalocean-sample.csv", new, "google.csv")

    row, _ = tables.import_ranges("digitalocean", new, as_of=date(2024, 2, 1))
    assert tables.tables_in_force() == [row]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows[:-1], "it ends before 192.0.119.0/24"),
        (lambda rows: [("192.1.0.0/24", "Clifton"), *rows[1:]], "by a slip: 192.1.0.0/24"),
        (
            lambda rows: [(rows[0][0], "Clifxon"), *rows[1:]],
            "by a slip: 192.0.0.0/24 DigitalOcean US Clifxon",
        ),
        (lambda rows: [*rows, ("44.0.0.0/8", "Clifton")], "16,807,936 IPv4 addresses"),
    ],
)
def test_a_later_list_is_not_believed_when_damage_would_look_like_it(folder, change, reason):
    rows = [(f"192.0.{n}.0/24", "Clifton") for n in range(120)]
    put("digitalocean-sample.csv", feed(*rows), "google-2024-01-01.csv")

    with pytest.raises(BadInput) as caught:
        put("digitalocean-sample.csv", feed(*change(rows)), "google-2024-02-01.csv")
    assert reason in str(caught.value)
