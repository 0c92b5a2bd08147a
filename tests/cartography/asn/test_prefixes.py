"""Announced prefixes around an address: equal to py-radix on tables that anybody can draw."""

import ipaddress

import pytest
import radix
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.asn.files import read_origins
from cartography.asn.names import is_name_file, read_as_names
from cartography.asn.prefixes import OriginPrefixes
from core.errors import BadInput
from tests.examples import examples

networks4 = st.builds(
    lambda n, length: ipaddress.ip_network((n >> (32 - length) << (32 - length), length)),
    st.integers(0, 2**32 - 1),
    st.integers(1, 32),
)
networks6 = st.builds(
    lambda n, length: ipaddress.ip_network((n >> (128 - length) << (128 - length), length)),
    st.integers(2**64, 2**128 - 1),
    st.integers(16, 128),
)


def table_of(text: str) -> OriginPrefixes:
    return OriginPrefixes.build(read_origins(text.encode()))


def test_it_works():
    table = table_of("10.0.0.0/8\t64500\n10.1.0.0/16\t64500\n10.1.2.0/24\t64501_64502\n")
    found = table.find_many(
        ["10.1.2.3", "10.1.9.9", "10.9.9.9", "11.0.0.1", "::ffff:10.1.2.3", "x"]
    )
    assert [hit and hit.prefix for hit in found] == [
        "10.1.2.0/24",
        "10.1.0.0/16",
        "10.0.0.0/8",
        None,
        "10.1.2.0/24",
        None,
    ]
    assert found[0].origins == (64501, 64502)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.dictionaries(networks4 | networks6, st.integers(1, 2**32 - 1), min_size=1, max_size=30),
    st.data(),
)
def test_the_longest_prefix_is_that_of_py_radix(table, data):
    tree = radix.Radix()
    for network, asn in table.items():
        tree.add(str(network)).data["asn"] = asn
    inside = [data.draw(st.integers(int(n[0]), int(n[-1]))) for n in table]
    kinds = [type(n[0]) for n in table]
    edges = [str(kind(number)) for kind, number in zip(kinds, inside, strict=True)]
    built = table_of("".join(f"{network}\t{asn}\n" for network, asn in table.items()))
    for address, hit in zip(edges, built.find_many(edges), strict=True):
        best = tree.search_best(address)
        mapped = ipaddress.ip_address(address)
        if getattr(mapped, "ipv4_mapped", None):
            continue
        assert (hit.prefix, hit.origins) == (best.prefix, (best.data["asn"],))


def test_a_range_gives_the_widest_prefix_within_it():
    table = table_of(
        "1.1.1.2\t1.1.1.255\t13335\tUS\tCLOUDFLARENET\n"
        "2001:db8::\t2001:db8::ff\t64500\tNO\tEXAMPLE\n"
    )
    low, high, six = table.find_many(["1.1.1.3", "1.1.1.200", "2001:db8::9"])
    assert low.prefix_of("1.1.1.3") == "1.1.1.2/31"
    assert high.prefix_of("1.1.1.200") == "1.1.1.128/25"
    assert six.prefix_of("2001:db8::9") == "2001:db8::/120"
    assert low.bounds == ("1.1.1.2", "1.1.1.255")


@pytest.mark.parametrize(
    "text",
    [
        '{"64500": "EXAMPLE-AS Example Net, NO", "64501": "-Reserved AS-, ZZ"}',
        "AS64500  EXAMPLE-AS Example Net, NO\n# a remark\n",
        "10.0.0.0\t10.0.0.255\t64500\tNO\tEXAMPLE-AS Example Net, NO\n"
        "10.0.1.0\t10.0.1.255\t0\tNone\tNot routed\n",
    ],
)
def test_lists_of_names(text):
    assert read_as_names(text.encode()) == {64500: "EXAMPLE-AS Example Net, NO"}


def test_a_name_is_text_for_a_page_and_no_more():
    (name,) = read_as_names(b'{"1": "A\\u202eB\\n<script>' + b"x" * 500 + b'"}').values()
    assert name.startswith("A B <script>x")
    assert len(name) == 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"x": "A"}', "'x' is not a number"),
        ('{"1": 2}', "'1' is not a number with a name"),
        ('{"4294967296": "A"}', "4294967296 is not an AS number"),
        ('{"1": "A"', "not sound JSON"),
        ("64500 A\nhello\n", "line 2"),
        ("{}", "names no autonomous system"),
        ("[" * 100_000, "not a number and a name"),
    ],
)
def test_a_damaged_list_is_refused_with_the_entry(text, said):
    with pytest.raises(BadInput, match=said):
        read_as_names(text.encode())


@given(st.binary(max_size=300))
def test_any_bytes_are_names_or_refused(data):
    try:
        found = read_as_names(data)
    except BadInput:
        return
    assert all(0 < asn < 2**32 and 0 < len(name) <= 200 for asn, name in found.items())


def test_lists_are_told_from_route_tables():
    assert is_name_file(b'{"1": "A"}')
    assert is_name_file(b"AS1 LVLT-1, US\n")
    assert not is_name_file(b"; IP-ASN32-DAT file\n1.0.0.0/24\t13335\n")
    assert not is_name_file(b"1.1.1.0\t1.1.1.0\t13335\tUS\tCLOUDFLARENET\n")
