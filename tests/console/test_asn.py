"""``manage.py asn`` from files to lines, versions by day and refusals included."""

import gzip
import json
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from webapp.store.ranges import tables as range_tables

pytestmark = pytest.mark.django_db

OLD = "192.0.2.0/24\t64500\n198.51.100.0/24\t64501_64502\n"
NEW = "192.0.2.0/25\t64510\n192.0.2.0/24\t64500\n2001:db8::/32\t64503\n"
NAMES = json.dumps({"64500": "EXAMPLE-AS Example Net, NO", "64510": "OTHER-AS, SE"})


@pytest.fixture(autouse=True)
def folder(tmp_path):
    before = settings.RANGES_DIR
    settings.RANGES_DIR = tmp_path / "ranges"
    yield tmp_path
    settings.RANGES_DIR = before


def asn(*arguments):
    out = StringIO()
    call_command("asn", *map(str, arguments), stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def tables(folder):
    (folder / "a.dat.gz").write_bytes(gzip.compress(OLD.encode()))
    (folder / "b-20240601.dat").write_text(NEW)
    (folder / "names.json").write_text(NAMES)
    asn("import", folder / "a.dat.gz", "--as-of", "2014-05-13", "--json")
    asn("import", folder / "b-20240601.dat", "--json")
    asn("import", folder / "names.json", "--as-of", "2020-01-01", "--json")
    return folder


def test_it_works(tables):
    found = asn("lookup", "192.0.2.1", "2001:db8::1", "203.0.113.1", "host.example")
    assert [(r["asn"], r["prefix"], r["name"]) for r in found] == [
        (64510, "192.0.2.0/25", "OTHER-AS, SE"),
        (64503, "2001:db8::/32", None),
        (None, None, None),
        (None, None, None),
    ]
    assert {r["as_of"] for r in found} == {"2024-06-01"}
    assert found[3]["error"] == "not an IP address"


def test_an_older_day_has_its_own_table(tables):
    both, one = asn("lookup", "198.51.100.9", "192.0.2.1", "--as-of", "2015-01-01")
    assert (both["asn"], both["origins"]) == (64501, [64501, 64502])
    assert (one["prefix"], one["name"]) == ("192.0.2.0/24", "EXAMPLE-AS Example Net, NO")
    with pytest.raises(CommandError, match="no route table as of 2001-01-01"):
        asn("lookup", "192.0.2.1", "--as-of", "2001-01-01")


def test_what_an_import_says(tables):
    (said,) = asn("import", tables / "b-20240601.dat", "--json")
    assert said == {
        "provider": "asn",
        "kind": "origins",
        "as_of": "2024-06-01",
        "entries": 3,
        "ipv4": 2,
        "ipv6": 1,
        "origins": 3,
    }
    assert [row["as_of"] for row in asn("list", "--json")[0]] == [
        "2014-05-13",
        "2024-06-01",
        "2020-01-01",
    ]


def test_a_damaged_file_is_refused_and_the_table_stays(tables):
    broken = tables / "c.dat"
    broken.write_text(NEW + "192.0.3.0/24\n")
    with pytest.raises(CommandError, match="line 4"):
        asn("import", broken, "--as-of", "2025-01-01")
    assert asn("lookup", "192.0.2.1")[0]["as_of"] == "2024-06-01"


def test_names_come_from_a_table_of_ranges_where_no_list_is(folder):
    (folder / "r.tsv").write_text("192.0.2.0\t192.0.2.255\t64500\tNO\tEXAMPLE-AS\n")
    asn("import", folder / "r.tsv", "--as-of", "2020-02-02", "--json")
    (row,) = asn("lookup", "192.0.2.200")
    assert (row["name"], row["prefix"]) == ("EXAMPLE-AS", "192.0.2.0/24")
    assert row["range"] == "192.0.2.0-192.0.2.255"


@pytest.mark.parametrize(
    "command",
    [
        ("asn", "lookup", "192.0.2.1", "--as-of", "yesterday"),
        ("ranges", "lookup", "192.0.2.1", "--as-of", "yesterday"),
        ("ranges", "diff", "aws", "yesterday"),
        ("packets", "import", "conn.log", "--as-of", "yesterday"),
        ("isp-diversity", "traces.json", "--asn-as-of", "yesterday"),
    ],
)
def test_a_day_that_is_none_is_refused_in_one_line(command):
    with pytest.raises(CommandError, match="'yesterday' is not a date like 2024-06-29"):
        call_command(*command)


def prefixes(count, first=0):
    return "".join(f"203.{n // 256}.{n % 256}.0/24\t{64500 + n}\n" for n in range(first, count))


def ranges_of(count):
    return "".join(
        f"203.{n // 256}.{n % 256}.0\t203.{n // 256}.{n % 256}.255\t{n + 1}\tNO\tNET\n"
        for n in range(count)
    )


def said_by(capsys, *arguments):
    call_command("asn", *map(str, arguments))
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "rows", "used"),
    [
        ("ip2asn-v4-sample-2020.tsv", ranges_of(4), 64503),
        ("ip2asn-v4-2020.tsv", ranges_of(4), 64503),
        ("ip2asn-v4-sample-2020.tsv", ranges_of(400), 64503),
        ("ip2asn-v4-2020.tsv", ranges_of(400), 4),
    ],
)
def test_a_part_of_a_table_is_not_used_instead_of_a_whole_one(folder, capsys, name, rows, used):
    (folder / "ipasn_20140513.dat").write_text(prefixes(600))
    (folder / name).write_text(rows)
    asn("import", folder / "ipasn_20140513.dat", "--json")
    said = said_by(capsys, "import", folder / name)

    (row,) = asn("lookup", "203.0.3.1")
    assert (row["asn"], row["as_of"]) == (used, "2014-05-13" if used > 64500 else "2020-12-31")
    told = capsys.readouterr().err
    if used == 4:
        assert said == told == ""
        return
    n_rows = rows.count("\n")
    expected = (
        "origin ASes are those of 2014-05-13 (600 entries); not used is what is newer, but only a"
        f" part: 2020-12-31 ({n_rows} entries)\n"
    )
    assert (said, told) == (f"warning: {expected}", expected)
    assert asn("lookup", "203.0.3.1", "--as-of", "2019-01-01")[0]["asn"] == 64503
    assert {row["as_of"] for row in asn("list", "--json")[0]} == {"2014-05-13", "2020-12-31"}


def test_a_sample_is_used_where_there_is_nothing_else(folder, capsys):
    (folder / "ip2asn-v4-sample-2020.tsv").write_text(ranges_of(4))
    assert said_by(capsys, "import", folder / "ip2asn-v4-sample-2020.tsv") == ""

    assert asn("lookup", "203.0.3.1")[0]["asn"] == 4


def test_a_table_of_one_family_leaves_the_other_as_it_was(folder):
    (folder / "v4-20240101.dat").write_text(prefixes(50))
    (folder / "v6-20240601.dat").write_text("2001:db8::/32\t64503\n" * 1)
    asn("import", folder / "v4-20240101.dat", "--json")
    asn("import", folder / "v6-20240601.dat", "--json")

    found = asn("lookup", "203.0.3.1", "2001:db8::1")
    assert [(r["asn"], r["as_of"]) for r in found] == [(64503, "2024-01-01"), (64503, "2024-06-01")]
    assert range_tables.origins_of(["2001:db8::1", "203.0.4.1", "x"]) == [(64503,), (64504,), ()]
