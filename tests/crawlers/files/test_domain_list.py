import gzip
import time

import idna
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors import BadInput
from crawlers.dns.idna import to_ascii
from crawlers.files.domain_list import Limit, normalise_domain, read_domain_list
from tests.shared import shared_file


def domains(text):
    data = text if isinstance(text, bytes) else text.encode()
    return [e.domain for e in read_domain_list(data).entries]


def test_it_works():
    found = read_domain_list(b"example.com\nexample.org\n")
    assert [(e.domain, e.rank, e.line) for e in found.entries] == [
        ("example.com", 1, 1),
        ("example.org", 2, 2),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rank,domain\n7,a.com\n9,b.com\n", ["a.com", "b.com"]),
        ("A.com,http://a.com\n", ["a.com"]),
        ('var t = ["a.com", "b.com",\n"c.com"];', ["a.com", "b.com", "c.com"]),
        ('["a.com", "b.com"]', ["a.com", "b.com"]),
        ("# a list\n\nhttps://user@www.a.com:8080/x?y#z\n", ["www.a.com"]),
        ("*.a.com.\n", ["a.com"]),
        ("münchen.de\n", ["xn--mnchen-3ya.de"]),
        ("﻿a.com\n", ["a.com"]),
    ],
)
def test_the_usual_forms(text, expected):
    assert domains(text) == expected


def test_ranks_of_the_list_are_kept():
    assert [e.rank for e in read_domain_list(b"7,a.com\n9,b.com").entries] == [7, 9]


def test_other_encodings():
    assert domains("a.com\nb.com".encode("utf-16")) == ["a.com", "b.com"]
    assert domains(gzip.compress(b"a.com\n")) == ["a.com"]


def test_each_unusable_line_is_named_and_the_rest_goes_on():
    label = "x" * 64
    text = f"good.com\n{label}.com\n10.0.0.1\nlocalhost\na..com\nb_c.com\n\xe9.com\ngood.com\n"
    found = read_domain_list(text.encode("latin-1"))
    assert [e.domain for e in found.entries] == ["good.com"]
    assert [r.line for r in found.rejected] == [2, 3, 4, 5, 6, 7]
    assert "at most 63" in found.rejected[0].reason
    assert "IP address" in found.rejected[1].reason
    assert "no dot" in found.rejected[2].reason
    assert "UTF-8" in found.rejected[5].reason
    assert found.duplicates == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\x7fELF\0\0\1\2" * 50, "binary"),
        (b"PK\x03\x04rest", "spreadsheet"),
        (b"\x1f\x8b\x08broken", "gzip"),
        (b"no\nnames\n", "no usable"),
        (b"a" * (33 * 2**20), "MiB"),
        (gzip.compress(b"0" * (40 * 2**20), mtime=0), "MiB"),
    ],
)
def test_unusable_input_is_one_clear_error(data, reason):
    with pytest.raises(BadInput, match=reason):
        read_domain_list(data)


@given(st.binary(max_size=400))
def test_any_bytes_give_a_list_or_bad_input(data):
    try:
        found = read_domain_list(data)
    except BadInput:
        return
    assert all(normalise_domain(e.domain) == e.domain for e in found.entries)


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("domains-dns/alexa-top-1000-2013-11.csv", 1000),
        ("domains-dns/alexa-top-500-2016-08.csv", 500),
        ("domains-dns/opendns-top-domains-2014.txt", 10000),
        ("domains-dns/top-65535-2023-02.csv.gz", 65535),
    ],
)
def test_real_lists(path, count):
    found = read_domain_list(shared_file(path).read_bytes())
    assert (len(found.entries), found.n_rejected) == (count, 0)


def test_the_majestic_million_and_lists_of_origins_are_read():
    majestic = (
        b"GlobalRank,TldRank,Domain,TLD,RefSubNets\n1,1,a.example,example,9\n2,2,b.example,x,8\n"
    )
    origins = b"origin,rank\nhttps://www.a.example,1000\n"

    assert [(e.domain, e.rank) for e in read_domain_list(majestic).entries] == [
        ("a.example", 1),
        ("b.example", 2),
    ]
    assert [e.domain for e in read_domain_list(origins).entries] == ["www.a.example"]
    assert not read_domain_list(origins).rejected


def refused(data, domains=100):
    with pytest.raises(BadInput) as error:
        read_domain_list(data, Limit(domains))
    return str(error.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [(b"a.com\n", "repetitions"), (b"10.0.0.1\n", "unusable"), (b"\n", "goes on")],
)
def test_a_list_is_not_read_much_further_than_its_limit(line, reason):
    packed = gzip.compress(line * 4_000_000)
    started = time.process_time()
    assert reason in refused(packed)
    spent_s = time.process_time() - started
    started = time.process_time()
    read_domain_list(b"\n".join(b"%d.example" % i for i in range(20_000)))
    # It was as long as reading all four million lines.
    assert spent_s < 2 * (time.process_time() - started)


def test_more_domains_than_the_limit_are_refused():
    lines = [b"n%d.example" % i for i in range(101)]
    assert len(read_domain_list(b"\n".join(lines[:100]), Limit(100)).entries) == 100
    assert "more than 100 domains" in refused(b"\n".join(lines))


def test_the_reader_can_be_stopped_between_lines():
    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        read_domain_list(b"a.com\n" * 20_000, Limit(100, stop))


def test_repeated_lines_have_the_same_outcome_again():
    found = read_domain_list(b"7,a.com\n10.0.0.1\n7,a.com\n10.0.0.1\na.com\n")
    assert (len(found.entries), found.duplicates, found.n_rejected) == (1, 2, 2)
    assert [r.line for r in found.rejected] == [2, 4]


# Scripts with marks, joiners, digits of their own, and both directions of writing.
_SCRIPTS = "aB1-.ßéñ·ͷбאاب٣۴فー・テ例한à́\u200c\u200d\u094dक्षｗＷ。﷼İı🙂\u0640"


@given(st.text(alphabet=st.one_of(st.sampled_from(_SCRIPTS), st.characters()), max_size=12))
@example("xn--p1ai.рф")
@example("büch-er.a--b")
@example("a" * 60 + "ü.de")
def test_international_names_are_those_of_the_idna_package(text):
    host = f"{text}.example".lower()
    try:
        expected = idna.encode(host, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        expected = None
    try:
        found = to_ascii(host)
    except BadInput:
        found = None
    assert found == (host if host.isascii() else expected)
