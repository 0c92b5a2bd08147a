"""Versions of range tables in the store: in force by date, refused on doubt, fetched, compiled."""

import json
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from core.errors import BadInput, MissingData
from core.providers import PROVIDER_BY_ID
from tests.cartography.asn.test_tables import PYASN
from tests.cartography.ranges.files import REAL, sample
from tests.cartography.ranges.test_fetching import Publisher
from tests.shared import shared_file
from webapp.store.models import RangeTable
from webapp.store.ranges import compiled, fetching, tables

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """A data folder of the test's own."""
    before = settings.RANGES_DIR
    settings.RANGES_DIR = tmp_path / "ranges"
    yield settings.RANGES_DIR
    settings.RANGES_DIR = before


@pytest.fixture
def publisher():
    found = Publisher()
    yield found
    found.close()


def aws(day, count=20, region="us-east-1", extra=()):
    """An AWS file of ``count`` blocks in one region."""
    prefixes = [f"198.51.{n}.0/24" for n in range(count)] + list(extra)
    rows = [{"ip_prefix": p, "region": region, "service": "AMAZON"} for p in prefixes]
    return json.dumps({"createDate": f"{day}-00-00-00", "prefixes": rows}).encode()


def put(data, provider="aws", **more):
    return tables.import_ranges(provider, data, **more)[0]


def in_force(day=None):
    return {(t.provider, t.variant): t.as_of for t in tables.tables_in_force(as_of=day)}


def run(*arguments):
    out = StringIO()
    call_command("ranges", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_it_works():
    put(aws("2013-03-29"))
    put(aws("2014-05-01", region="eu-west-1"))
    observed = [("198.51.3.1", date(2013, 4, 1)), ("198.51.3.1", date(2014, 6, 1))]

    placed = tables.place_by_date(observed)
    assert [placed[row].region for row in observed] == ["us-east-1", "eu-west-1"]
    assert [placed[row].as_of for row in observed] == [date(2013, 3, 29), date(2014, 5, 1)]


def test_an_observation_before_every_table_has_none():
    put(aws("2013-03-29"))

    with pytest.raises(MissingData, match="no range table as of 2013-03-28"):
        tables.place_by_date([("198.51.3.1", date(2013, 3, 28))])


def test_an_older_version_fills_the_past_and_changes_nothing_today():
    put(aws("2014-05-01"))
    put(aws("2013-03-29", count=2), file_name="ip-ranges-2013-03.json")
    put(aws("2013-03-28", count=2), as_of=date(2013, 3, 28))

    assert in_force() == {("aws", ""): date(2014, 5, 1)}
    assert in_force(date(2013, 12, 31)) == {("aws", ""): date(2013, 3, 29)}


def test_files_of_both_families_are_in_force_together():
    put(sample("cloudflare-v4-sample.txt"), "cloudflare", file_name="ips-v4-2024-06.txt")
    put(sample("cloudflare-v6-sample.txt"), "cloudflare", file_name="ips-v6-2024-06.txt")

    assert in_force() == {
        ("cloudflare", "v4"): date(2024, 6, 30),
        ("cloudflare", "v6"): date(2024, 6, 30),
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ServiceTags_Public_20240624.json", date(2024, 6, 24)),
        ("azure-PublicIPs-2017-09-11.xml", date(2017, 9, 11)),
        ("ips-v4-2024-06.txt", date(2024, 6, 30)),
        ("list-2023-12.txt", date(2023, 12, 31)),
        ("list-2024-02.txt", date(2024, 2, 29)),
        ("ip2asn-v4-sample-2020.tsv", date(2020, 12, 31)),
        ("list-2024-13.txt", None),
        ("top-2099.txt", None),
        ("list-20241399.txt", None),
        ("list-120240624.txt", None),
        ("list.txt", None),
    ],
)
def test_dates_in_file_names(name, expected):
    assert tables.date_in_name(name) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (aws("2014-01-01", count=5), "it ends before 198.51.5.0/24"),
        (aws("2014-01-01", extra=["203.0.113.7/24"]), "host bits"),
        (aws("2014-01-01")[:-40], "damaged or cut off"),
        (aws("2913-03-29"), "is yet to come"),
        (b"<html>not found</html>", "no aws range file"),
        (b"", "is empty"),
    ],
)
def test_on_any_doubt_the_table_in_force_stays(data, reason):
    put(aws("2013-03-29"))

    with pytest.raises(BadInput) as caught:
        put(data)
    assert reason in str(caught.value)
    assert in_force() == {("aws", ""): date(2013, 3, 29)}
    assert RangeTable.objects.count() == 1


def test_a_doubtful_file_may_be_forced():
    put(aws("2013-03-29"))
    put(aws("2014-01-01", count=3), force=True)

    assert in_force() == {("aws", ""): date(2014, 1, 1)}


def test_worlds_of_the_testbed_replace_their_own_tables():
    put(aws("2013-03-29"), origin="tiny")
    put(aws("2013-03-29", count=2), origin="tiny")

    assert [t.counts["entries"] for t in tables.tables_in_force("tiny")] == [2]


def test_large_tables_are_mapped_and_small_ones_are_not(folder):
    rows = [put(aws("2013-03-29"))]
    tables.prefix_table(rows).place("198.51.3.1")
    assert not (folder / "compiled").exists()

    many = [f"203.{n // 256}.{n % 256}.0/24" for n in range(6_000)]
    rows = [put(aws("2014-01-01", extra=many))]
    assert tables.prefix_table(rows).place("203.3.3.3").prefix == "203.3.3.0/24"
    (path,) = (folder / "compiled").glob("*.map")

    written = path.stat().st_mtime_ns
    compiled._prefix_table.cache_clear()
    assert tables.prefix_table(rows).place("203.3.3.3").prefix == "203.3.3.0/24"
    assert path.stat().st_mtime_ns == written


def test_a_damaged_compiled_table_is_made_anew(folder):
    many = [f"203.{n // 256}.{n % 256}.0/24" for n in range(6_000)]
    rows = [put(aws("2013-03-29", extra=many))]
    tables.prefix_table(rows)
    (path,) = (folder / "compiled").glob("*.map")
    path.write_bytes(path.read_bytes()[:-1000])
    compiled._prefix_table.cache_clear()

    assert tables.prefix_table(rows).place("203.3.3.3").prefix == "203.3.3.0/24"
    compiled._prefix_table.cache_clear()
    assert tables.prefix_table(rows).place("203.3.3.3").prefix == "203.3.3.0/24"


def test_a_route_table_stands_beside_the_providers():
    put(aws("2013-03-29"))
    row, _ = tables.import_origins(PYASN, file_name="ipasn_20140513.dat")

    assert (row.provider, row.as_of) == ("asn", date(2014, 5, 13))
    assert row.counts == {"entries": 5, "ipv4": 4, "ipv6": 1, "origins": 6}
    assert in_force() == {("aws", ""): date(2013, 3, 29)}
    assert tables.origins_of(["192.0.2.1", "198.51.100.1", "x"]) == [(64500,), (64502, 64503), ()]
    assert tables.origins_of(["192.0.2.1"], date(2014, 5, 12)) is None


# The command


def test_lookup_tells_the_origins_where_there_is_a_route_table(tmp_path):
    put(aws("2013-03-29"))
    assert "origins" not in json.loads(run("lookup", "198.51.3.1"))

    path = tmp_path / "ipasn_20130401.dat"
    path.write_bytes(PYASN)
    assert json.loads(run("import", "asn", str(path), "--json"))["as_of"] == "2013-04-01"
    found = [json.loads(line) for line in run("lookup", "198.51.100.1", "x").splitlines()]
    assert [row["origins"] for row in found] == [[64502, 64503], []]
    assert found[1]["error"] == "not an IP address"


def test_diff_tells_what_changed_between_versions():
    put(aws("2013-03-29"))
    put(aws("2014-01-01", extra=["203.0.113.0/24"]))
    put(aws("2015-01-01", count=19, extra=["203.0.113.0/24"]))

    newest = json.loads(run("diff", "aws", "--json"))
    assert (newest["old"], newest["new"]) == ("2014-01-01", "2015-01-01")
    assert newest["counts"] == {"removed": 1}
    early = json.loads(run("diff", "aws", "2013-06-01", "2014-06-01", "--json"))
    assert early["changes"] == [
        {"kind": "added", "prefix": "203.0.113.0/24", "before": [], "after": ["AMAZON us-east-1"]}
    ]
    assert "1 removed" in run("diff", "aws")
    with pytest.raises(CommandError, match="not two versions of google cloud"):
        run("diff", "google", "--variant", "cloud")


# Fetching


def visit(url):
    return fetching.fetch_one("aws", url)


def test_fetching_takes_what_is_new_and_then_nothing(publisher):
    mark = publisher.publish("/a.json", aws("2013-03-29"), ETag='"one"')

    assert (visit(mark.url).outcome, visit(mark.url).outcome) == ("new", "unchanged")
    publisher.publish("/a.json", b"", status=304)
    assert visit(mark.url).outcome == "unchanged"
    assert publisher.asked[-1]["If-None-Match"] == '"one"'

    publisher.publish("/a.json", aws("2014-01-01"), ETag='"two"')
    found = visit(mark.url)
    assert (found.outcome, found.as_of) == ("new", "2014-01-01")
    assert in_force() == {("aws", ""): date(2014, 1, 1)}


@pytest.mark.parametrize(
    ("body", "status", "outcome", "reason"),
    [
        (aws("2014-01-01", count=5), 200, "doubtful", "it ends before 198.51.5.0/24"),
        (aws("2014-01-01")[:-9], 200, "doubtful", "damaged or cut off"),
        (aws("2012-01-01"), 200, "doubtful", "it is of 2012-01-01"),
        (b"<html>", 200, "doubtful", "no aws range file"),
        (b"", 404, "doubtful", "404"),
        (b"", 503, "unreachable", "503"),
    ],
)
def test_fetching_keeps_the_table_on_any_doubt(publisher, body, status, outcome, reason):
    mark = publisher.publish("/a.json", aws("2013-03-29"), ETag='"one"')
    visit(mark.url)
    publisher.publish("/a.json", body, status=status, ETag='"two"')

    for n_failures in (1, 2):
        found = visit(mark.url)
        assert (found.outcome, reason in found.reason) == (outcome, True)
        assert [v.as_json() for v in fetching.last_results()] == [found.as_json()]
        assert found.n_failures == n_failures
        # A file that was refused is asked for again: its mark is not kept.
        assert publisher.asked[-1]["If-None-Match"] == '"one"'
    assert in_force() == {("aws", ""): date(2013, 3, 29)}


def test_azures_file_is_found_by_its_page(publisher):
    name = "/d/ServiceTags_Public_20130401.json"
    publisher.publish(name, sample("azure-tags-sample.json"))
    page = publisher.publish("/page", f'<a href="{publisher.url(name)}">file</a>'.encode())

    found = fetching.fetch_one("azure", page.url)
    assert (found.outcome, found.as_of) == ("new", "2013-04-01")
    assert fetching.fetch_one("azure", page.url).outcome == "unchanged"


def test_every_published_file_has_its_source():
    found = fetching.sources()

    assert found == [(p.id, url) for p in PROVIDER_BY_ID.values() for url in p.range_urls]
    assert fetching.sources(["aws"]) == [row for row in found if row[0] == "aws"]
    with pytest.raises(BadInput, match="at a known address"):
        fetching.sources(["akamai"])


def test_the_command_tells_what_became_of_each_source(publisher):
    mark = publisher.publish("/a.json", aws("2013-03-29"))

    row = json.loads(run("fetch", "aws", "--url", mark.url, "--json"))
    assert (row["provider"], row["outcome"], row["as_of"]) == ("aws", "new", "2013-03-29")
    assert datetime.fromisoformat(row["at"]).tzinfo == UTC

    publisher.publish("/a.json", b"<html>")
    with pytest.raises(CommandError, match="1 of 1 files were refused") as caught:
        run("fetch", "aws", "--url", mark.url)
    assert caught.value.returncode == 2
    publisher.publish("/a.json", status=503)
    with pytest.raises(CommandError, match="did not answer") as caught:
        run("fetch", "aws", "--url", mark.url)
    assert caught.value.returncode == 1


def test_a_repeated_refusal_is_seen_until_a_file_is_accepted(publisher, client):
    mark = publisher.publish("/a.json", aws("2013-03-29"), ETag='"one"')
    visit(mark.url)
    assert "was refused" not in client.get("/about/").content.decode()

    publisher.publish("/a.json", aws("2014-01-01")[:-9], ETag='"two"')
    for _ in range(3):
        with pytest.raises(CommandError, match="1 of 1 files were refused"):
            run("fetch", "aws", "--url", mark.url)
    page = client.get("/about/").content.decode()
    assert "Of 29 Mar 2013" in page
    assert "A newer file was refused 3 times since" in page
    said = StringIO()
    call_command("ranges", "list", stdout=StringIO(), stderr=said)
    assert "doubtful (3 times since" in said.getvalue()
    assert "damaged or cut off" in said.getvalue()

    publisher.publish("/a.json", aws("2014-01-01"), ETag='"three"')
    assert (visit(mark.url).outcome, visit(mark.url).n_failures) == ("new", 0)
    assert "was refused" not in client.get("/about/").content.decode()


def test_the_command_warns_of_what_is_unusual(publisher, tmp_path):
    put(aws("2013-03-29"))
    rows = [f"203.0.{n}.0/24" for n in range(8)]
    path = tmp_path / "ip-ranges.json"
    path.write_bytes(aws("2013-04-29", count=8, extra=rows))
    out, said = StringIO(), StringIO()
    call_command("ranges", "import", "aws", str(path), "--json", stdout=out, stderr=said)

    warning = "it has 16 entries, and the table of 2013-03-29 has 20"
    assert json.loads(out.getvalue())["warnings"] == [warning]
    assert said.getvalue() == f"warning: {warning}\n"

    mark = publisher.publish("/a.json", aws("2013-05-29", count=5, extra=[*rows, "192.0.2.0/24"]))
    assert "new: it has 14 entries" in run("fetch", "aws", "--url", mark.url)


# Real files


def cut(data):
    return data[: len(data) * 2 // 3]


def strew(data):
    return data[: len(data) // 2] + b"\x00\xff{nonsense" + data[len(data) // 2 + 11 :]


@pytest.mark.parametrize("damage", [cut, strew])
@pytest.mark.parametrize("name", REAL)
def test_a_damaged_copy_of_a_real_file_changes_nothing(name, damage):
    provider, as_of, *_ = REAL[name]
    path = Path(shared_file(f"ip-ranges/{name}"))
    good = put(path.read_bytes(), provider, as_of=as_of, file_name=path.name)

    with pytest.raises(BadInput) as caught:
        put(damage(path.read_bytes()), provider, file_name="20240715")
    assert len(str(caught.value)) > 20
    assert list(RangeTable.objects.all()) == [good]
