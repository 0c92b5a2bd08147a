"""Origin ASes: three formats of route tables, sets of origins, and refusals."""

import gzip
import ipaddress
import random

import pyarrow as pa
import pytest
import radix
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from core.errors import BadInput
from tests.shared import shared_file

PYASN = b"""; IP-ASN32-DAT file
; Prefixes      : 5
;
192.0.2.0/24\t64500
192.0.2.128/25\t64501
198.51.100.0/24\t64502
198.51.100.0/24\t64503
2001:db8::/32\t{64504,64505}
"""
PFX2AS = b"192.0.2.0\t24\t64500\n198.51.100.0\t24\t64502_64503\n2001:db8::\t32\t64504,64505\n"
RANGES = (
    b"192.0.2.0\t192.0.2.127\t64500\tZZ\tEXAMPLE-A\n"
    b"192.0.2.128\t192.0.2.199\t0\tNone\tNot routed\n"
    b"192.0.2.200\t192.0.2.200\t64501\tZZ\tEXAMPLE-B\n"
    b"2001:db8::\t2001:db8::ffff\t64504\tZZ\tEXAMPLE-C\n"
)


def table_of(data):
    return OriginTable.build(read_origins(data))


def test_it_works():
    table = table_of(PYASN)

    asked = ["192.0.2.1", "192.0.2.129", "198.51.100.1", "2001:db8::1", "10.0.0.1", "nephos"]
    expected = [(64500,), (64501,), (64502, 64503), (64504, 64505), (), ()]
    assert table.find_many(asked) == expected
    assert [table.find(address) for address in asked] == expected
    labels = table.addresses.match_text(pa.array(asked)).tolist()
    assert [table.origins[n] if n >= 0 else () for n in labels] == expected


def test_prefix_length_and_origin_in_three_columns():
    found = table_of(PFX2AS).find_many(["192.0.2.1", "198.51.100.1", "2001:db8::1"])

    assert found == [(64500,), (64502, 64503), (64504, 64505)]


def test_ranges_of_addresses():
    asked = [f"192.0.2.{n}" for n in (0, 127, 128, 199, 200, 201)]
    asked += ["2001:db8::ffff", "2001:db8::1:0"]

    found = table_of(RANGES).find_many(asked)
    assert found == [(64500,), (64500,), (), (), (64501,), (), (64504,), ()]


def test_neighbours_of_one_origin_are_one_interval():
    table = table_of(b"192.0.2.0/25\t64500\n192.0.2.128/25\t64500\n192.0.2.16/28\t64500\n")

    assert len(table.addresses.families[4].labels) == 3


def test_gzip_is_read_as_plain():
    assert read_origins(gzip.compress(PYASN)).n_lines == read_origins(PYASN).n_lines == 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no file of prefixes"),
        (b"<html>", "no file of prefixes"),
        (b"192.0.2.0/24\t64500\n192.0.2.0/33\t64500\n", "line 2: '192.0.2.0/33'"),
        (b"192.0.2.0/24\t64500\n192.0.2.1/24\t64500\n", "line 2: '192.0.2.1/24'"),
        (b"192.0.2.0/24\t64500\n192.0.02.0/24\t64500\n", "line 2: '192.0.02.0/24'"),
        (b"192.0.2.0/24\t64500\n192.0.256.0/24\t64500\n", "line 2: '192.0.256.0/24'"),
        (b"192.0.2.0/24\t64500\n192.0.3.0/2", "line 2: a prefix and its AS"),
        (b"192.0.2.0/24\t64500\n192.0.3.0\t64500\n", "line 2: '192.0.3.0' has no length"),
        (b"192.0.2.0/24\t4294967296\n", "line 1: '4294967296' is not an AS number"),
        (b"192.0.2.0/24\tAS64500\n", "line 1: 'AS64500' is not an AS number"),
        (b"192.0.2.0/24\t64500\n192.0.3.0/24\t_\n", "line 2: '_' is not an AS number"),
        (PYASN[: PYASN.index(b"2001")], "the header says 5 prefixes and 4 follow"),
        (PFX2AS[:-20], "line 3: it has"),
        (RANGES[:-14], "line 4: it has 3 columns"),
        (b"192.0.2.9\t192.0.2.0\t64500\tZZ\tA\n", "line 1: the first two columns"),
        (RANGES + RANGES[:40], "the file contradicts itself"),
    ],
)
def test_what_is_refused(data, message):
    with pytest.raises(BadInput, match="^[^\n]*$") as caught:
        table_of(data)

    assert message in str(caught.value)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 255), st.integers(22, 32), st.integers(1, 4)),
        min_size=1,
        max_size=30,
    )
)
def test_nested_routes_agree_with_a_linear_search(rows):
    base = int(ipaddress.ip_address("198.18.0.0"))
    routes: dict = {}
    for offset, length, asn in rows:
        network = ipaddress.ip_network((base + offset, length), strict=False)
        routes.setdefault(network, set()).add(asn)
    lines = [f"{net}\t{asn}" for net, asns in routes.items() for asn in asns]
    asked = [ipaddress.ip_address(base + n) for n in range(-1, 1026)]

    found = table_of("\n".join(lines).encode() + b"\n").find_many([str(a) for a in asked])

    for address, origins in zip(asked, found, strict=True):
        around = [net for net in routes if address in net]
        best = max(around, key=lambda net: net.prefixlen, default=None)
        assert origins == (tuple(sorted(routes[best])) if best else ())


def test_a_real_route_table_agrees_with_an_independent_match():
    data = gzip.decompress(shared_file("ip-asn/ipasn_20140513.dat.gz").read_bytes())
    table, tree = table_of(data), radix.Radix()
    for line in data.decode().splitlines():
        if not line.startswith(";"):
            prefix, asn = line.split("\t")
            tree.add(prefix).data["asn"] = int(asn)
    generator = random.Random(2014)
    edges = generator.sample(table.addresses.families[4].starts.numbers(), 30_000)
    asked = [n + step for n in edges for step in (-1, 0, 1) if 0 <= n + step < 1 << 32]
    asked += [generator.getrandbits(32) for _ in range(50_000)]
    texts = [str(ipaddress.IPv4Address(n)) for n in asked]

    for text, origins in zip(texts, table.find_many(texts), strict=True):
        node = tree.search_best(text)
        assert origins == ((node.data["asn"],) if node else ()), text
    assert table.addresses.nbytes <= 20_000_000
