import gzip
import io
import json

import dns.zone
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput, MissingData
from core.statuses import Technique
from crawlers.sources.base import Zone
from crawlers.sources.hostnames import clean_host, is_plain
from crawlers.sources.imports import ImportConfig, Imports, collect_names
from crawlers.sources.lists.json_stream import JsonStream
from crawlers.sources.lists.list_formats import guess_form
from tests.examples import examples

DOMAINS = ("alder.test", "birch.test", "shop.birch.test")


@pytest.fixture
def read(tmp_path):
    def run(data, name="list", **options):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        imported = collect_names(ImportConfig((path,), **options), DOMAINS)
        return imported, imported.reports[0]

    return run


def test_names_in_surveyed_domains_are_kept_and_others_counted(read):
    imported, report = read(
        "www.alder.test\nWWW.Alder.TEST.\r\n\n# mine\napi.alder.test\nx.shop.birch.test\n"
        "elsewhere.test\nnotalder.test\nbirch.test"
    )
    assert imported.names_of("alder.test") == ("www.alder.test", "api.alder.test")
    assert imported.names_of("birch.test") == ("x.shop.birch.test", "birch.test")
    assert imported.names_of("shop.birch.test") == ("x.shop.birch.test",), "in both domains"
    assert imported.names_of("cedar.test") == ()
    assert (report.names, report.outside, report.bad, report.lines) == (7, 2, 0, 9)
    assert report.form == "text"


def test_the_source_gives_one_harvest_per_zone(read):
    imported, _ = read("www.alder.test\nalder.test\n")
    source = Imports(imported)
    full, empty = source.harvest([Zone("alder.test"), Zone("birch.test")], None)
    assert (full.names, full.status, full.complete) == (("www.alder.test",), "OK", True)
    assert (empty.names, empty.queries) == ((), 0)
    assert (source.technique, source.is_zone_data) == (Technique.IMPORT, False)


BAD_LINES = {
    "192.0.2.1": "IP address",
    "[2001:db8::1]:53": "IP address",
    "2001:db8::1": "IP address",
    "a..alder.test": "empty label",
    "me@alder.test": "e-mail",
    "-a.alder.test": "not letters",
    "a.*.alder.test": "wildcard",
    "localhost": "no dot",
    "a" * 64 + ".alder.test": "64 characters",
    ".".join(["abcdefg"] * 40): "at most 253",
    "www.alder.1": "ends in a number",
    "\\046.alder.test": "not letters",
    "xn--a\u00fc.test\u00df..": "",
}


@pytest.mark.parametrize("bad", BAD_LINES)
def test_each_bad_line_has_its_number_and_reason(read, bad):
    imported, report = read(f"www.alder.test\n{bad}\napi.alder.test\n")
    assert len(imported.names_of("alder.test")) == 2
    assert report.bad == 1
    assert report.rejected[0].line == 2
    assert BAD_LINES[bad] in report.rejected[0].reason


def test_what_people_write_is_cleaned(read):
    imported, report = read(
        "https://user:pw@one.alder.test:8443/path?q\n*.two.alder.test\n"
        "three.alder.test. A 192.0.2.1\nfour.alder.test:443\nb\u00fccher.alder.test\n"
        "_dmarc.alder.test"
    )
    names = [n.removesuffix(".alder.test") for n in imported.names_of("alder.test")]
    assert names == ["one", "two", "three", "four", "xn--bcher-kva", "_dmarc"]
    assert report.bad == 0


def test_bytes_that_are_no_utf8_are_a_bad_line(read):
    imported, report = read(b"www.alder.test\nb\xfc.alder.test\n")
    assert (report.bad, report.rejected[0].reason) == (1, "is not UTF-8")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("name,ip\nwww.alder.test,192.0.2.1\n", ""),
        ("rank;hostname\n1;www.alder.test\n", ""),
        ("1\twww.alder.test\t5\n", ""),
        ("192.0.2.1,www.alder.test\n", ""),
        ('ip,"the name"\n"192.0.2.1","www.alder.test"\n', "the name"),
        ("\ufeffdomain,host\nalder.org,www.alder.test\n", ""),
    ],
)
def test_csv_columns_are_found(read, text, field):
    imported, report = read(text, field=field)
    assert (report.form, report.bad) == ("csv", 0)
    assert imported.names_of("alder.test") == ("www.alder.test",)


def test_a_csv_column_that_is_missing_is_named(read):
    with pytest.raises(BadInput, match="no column 'fqdn'"):
        read("name,ip\nwww.alder.test,192.0.2.1\n", field="fqdn")
    _, report = read("rank,name\n1\n2,www.alder.test\n")
    assert [(r.line, r.reason) for r in report.rejected] == [(2, "has no column 2")]
    _, report = read('rank,name\n1,"www.alder.test\n2,www.alder.test\n')
    assert report.rejected[0].line == 2
    assert report.names == 1


ROWS = [
    {"host": "www.alder.test", "input": "alder.test", "source": "crtsh"},
    {"name": "www.alder.test", "domain": "alder.test", "addresses": []},
    {"name": "www.alder.test", "results": {"A": {"status": "NOERROR", "data": {}}}},
    {"name": "www.alder.test.", "type": "A", "status": "NOERROR", "data": {"answers": []}},
    {"domain": "alder.test", "name": "www.alder.test", "technique": "axfr"},
    {"common_name": "www.alder.test", "name_value": "www.alder.test\n*.www.alder.test"},
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row))
def test_rows_of_known_tools_are_read(read, row):
    for text in (json.dumps(row) + "\n", json.dumps([row], indent=1), json.dumps([row, row])):
        imported, report = read(text)
        assert (report.form, report.bad) == ("json", 0)
        assert imported.names_of("alder.test") == ("www.alder.test",)


def test_rows_that_do_not_exist_are_not_asked_again(read):
    gone = {"name": "gone.alder.test", "results": {"A": {"status": "NXDOMAIN"}}}
    old = {"name": "old.alder.test", "status": "NXDOMAIN"}
    imported, report = read("\n".join(map(json.dumps, (gone, old, ROWS[0]))))
    assert imported.names_of("alder.test") == ("www.alder.test",)
    assert (report.absent, report.names, report.bad) == (2, 1, 0)


def test_bad_json_is_counted_by_line(read):
    text = '{"host":"www.alder.test"}\n{"host":\n[1]\n{"x":1}\n"api.alder.test"\n{"host":5}\n'
    imported, report = read(text)
    assert imported.names_of("alder.test") == ("www.alder.test", "api.alder.test")
    assert [r.line for r in report.rejected] == [2, 3, 4, 6]
    assert read('{"h": ["a.alder.test", "b.alder.test"]}', field="h")[1].names == 2


def test_an_array_that_breaks_off_gives_what_is_whole(read):
    imported, report = read('["a.alder.test",\n"b.alder.test",\n"c.ald')
    assert imported.names_of("alder.test") == ("a.alder.test", "b.alder.test")
    assert (report.status, report.bad, report.rejected[0].line) == ("TRUNCATED", 1, 3)
    (harvest,) = Imports(imported).harvest([Zone("alder.test")], None)
    assert (harvest.status, harvest.complete, len(harvest.names)) == ("TRUNCATED", False, 2)


def test_gzip_whole_cut_and_bounded(read):
    text = b"".join(b"host%06d.alder.test\n" % i for i in range(50_000))
    packed = gzip.compress(text)
    assert len(read(packed)[0].names_of("alder.test")) == 50_000
    imported, report = read(packed[: len(packed) // 2])
    assert report.status == "TRUNCATED"
    assert 10_000 < report.names < 50_000
    imported, report = read(packed, max_octets=100_000)
    assert (report.status, report.octets) == ("BUDGET", 100_000)
    bomb = gzip.compress(bytes(50_000_000).replace(b"\0", b"a"))
    _, report = read(bomb)
    assert (report.names, report.bad) == (0, 1)


def test_a_zone_of_too_many_names_is_bounded_and_says_so(read):
    text = "".join(f"h{i}.alder.test\n" for i in range(5_000)) * 3 + "a.birch.test\n"
    imported, _ = read(text, max_names_per_zone=1_000)
    alder, birch = Imports(imported).harvest([Zone("alder.test"), Zone("birch.test")], None)
    assert (alder.status, len(alder.names), alder.complete) == ("BUDGET", 1_000, False)
    assert (birch.status, birch.complete) == ("OK", True)
    imported, _ = read(text)
    assert len(imported.names_of("alder.test")) == 5_000


def test_utf16_is_read_and_what_is_no_text_is_refused(read, tmp_path):
    imported, _ = read("www.alder.test\r\nb\u00fc.alder.test\n".encode("utf-16"))
    assert len(imported.names_of("alder.test")) == 2
    for data in (b"PK\x03\x04rest", b"BZh91AY", b"PAR1", b"\0\1\2\3"):
        with pytest.raises(BadInput, match="is a"):
            read(data)
    with pytest.raises(MissingData, match="cannot be read"):
        collect_names(ImportConfig((tmp_path / "nowhere",)), DOMAINS)
    with pytest.raises(BadInput, match="is not a form"):
        read("a", form="xml")
    assert read("")[1].names == 0


ZONE = """\
$TTL 300
@  IN SOA ns1 hostmaster (
        1 ; serial; with "things"
        7200 900 ) 1209600 300
   IN NS ns1
ns1 A 192.0.2.1
www 600 IN CNAME web
web IN 600 A 192.0.2.2
    AAAA 2001:db8::1
txt TXT "a ( b ; c"
*.wild A 192.0.2.3
$ORIGIN sub
deep A 192.0.2.4
out.birch.test. A 192.0.2.5
$GENERATE 1-3 gen$ A 192.0.2.$
"""


def test_owners_of_a_zone_file_agree_with_dnspython(read):
    text = ZONE.replace("*.wild", "wild")
    imported, report = read(text, origin="alder.test")
    zone = dns.zone.from_text(
        io.StringIO(text.replace("out.birch.test. A 192.0.2.5\n", "")), "alder.test"
    )
    wanted = {
        name.derelativize(zone.origin).to_text(omit_final_dot=True)
        for name, _, rdata in zone.iterate_rdatas()
        if rdata.rdtype.name in ("A", "AAAA", "CNAME")
    }
    assert set(imported.names_of("alder.test")) == wanted
    assert "gen2.sub.alder.test" in wanted
    assert imported.names_of("birch.test") == ("out.birch.test",)
    assert (report.form, report.bad) == ("zone", 0)


def test_bad_entries_of_a_zone_file_leave_the_rest(read):
    text = ZONE + (
        "bad1 A 192.0.2.256\nbad2 AAAA 192.0.2.1\nbad3 IN WAS 1\nbad4 A\n$INCLUDE other\n"
        '$GENERATE 1-999999999 x$ A 192.0.2.1\nbad5 TXT "open\nlast A 192.0.2.9\nopen SOA (\n'
    )
    imported, report = read(text, origin="alder.test.")
    assert "last.sub.alder.test" in imported.names_of("alder.test")
    first = ZONE.count("\n") + 1
    assert [r.line - first for r in report.rejected] == [0, 1, 2, 3, 4, 5, 6, 8]
    assert not any("bad" in n for n in imported.names_of("alder.test"))


def test_relative_names_need_an_origin(read):
    _, report = read("$TTL 5\nwww A 192.0.2.1\n")
    assert "no origin" in report.rejected[0].reason
    imported, report = read("alder.test. 5 IN SOA a. b. 1 2 3 4 5\nwww A 192.0.2.1\n")
    assert imported.names_of("alder.test") == ("www.alder.test",)


@pytest.mark.parametrize(
    ("first", "form"),
    [
        (b"# c\nwww.alder.test\n", "text"),
        (b"a,b\n", "csv"),
        (b'\n {"a":1}\n', "json"),
        (b"$ORIGIN x.\n", "zone"),
        (b"; head\nalder.test. 300 in soa a. b. 1 2 3 4 5\n", "zone"),
        (b"www.alder.test. A 192.0.2.1\n", "text"),
        (b"", "text"),
    ],
)
def test_forms_are_told_apart(first, form):
    assert guess_form(first) == form


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["", "text", "csv", "json", "zone"]))
def test_no_bytes_break_the_reading(tmp_path_factory, data, form):
    path = tmp_path_factory.mktemp("any") / "list"
    path.write_bytes(data)
    try:
        imported = collect_names(ImportConfig((path,), form=form), ("test",))
    except BadInput:
        return
    report = imported.reports[0]
    assert report.bad == len(report.rejected)
    assert report.names >= report.outside


@given(st.text(alphabet="aB1-_.*@:/[]\u00fc \n\\", max_size=70) | st.text(max_size=70))
def test_what_is_cleaned_is_a_name(text):
    try:
        name = clean_host(text)
    except BadInput:
        return
    assert is_plain(name.encode()), name
    assert clean_host(name) == name


LINES = st.lists(st.from_regex(r"[a-z0-9_.-]{0,70}", fullmatch=True), max_size=12)


@settings(max_examples=examples(200), deadline=None)
@given(LINES)
def test_blocks_that_are_read_at_once_are_judged_like_single_lines(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("any") / "list"
    path.write_text("\n".join(lines))
    report = collect_names(ImportConfig((path,), form="text"), ("test",)).reports[0]
    good = [line for line in lines if is_plain(line.removesuffix(".").encode())]
    assert report.names >= len(good)
    for line in lines:
        if line and not line.startswith("*"):
            try:
                clean_host(line)
            except BadInput:
                assert report.bad
    assert report.names + report.bad == len([line for line in lines if line])


VALUES = st.recursive(
    st.text(max_size=8) | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(VALUES, max_size=6), st.integers(1, 20), st.booleans())
def test_json_comes_out_as_it_went_in_however_it_is_cut(values, size, indented):
    data = json.dumps(values, indent=2 if indented else None).encode()
    stream, out = JsonStream(), []
    for at in range(0, len(data), size):
        out += stream.feed(data[at : at + size])
    out += stream.feed(b"", last=True)
    assert (out, stream.broken, stream.is_whole) == (values, 0, True)


def test_a_broken_value_is_stepped_over():
    stream = JsonStream()
    out = list(stream.feed(b'[{"a":1},\n{"a":nul,"b":"x"},\n{"a":2}]', last=True))
    assert (out, stream.broken, stream.is_whole, stream.line) == ([{"a": 1}, {"a": 2}], 1, True, 3)
