import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from cartography.addresses import pack_address, read_prefix, write_prefix
from cartography.intervals import find_parents, flatten

# A small corner of each family, dense enough that prefixes nest, touch and fill their parents.
CORNER = {4: int(ipaddress.ip_address("198.51.100.0")), 6: int(ipaddress.ip_address("2001:db8::"))}


@st.composite
def prefixes(draw, family):
    """Distinct (first, last) of prefixes within 256 addresses, in order."""
    drawn = draw(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 8)), max_size=25))
    spans = set()
    for offset, host_bits in drawn:
        size = 1 << host_bits
        first = CORNER[family] + offset // size * size
        spans.add((first, first + size - 1))
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def smallest_around(spans, first, last, skip=-1):
    around = [
        (b - a, i) for i, (a, b) in enumerate(spans) if a <= first and last <= b and i != skip
    ]
    return min(around)[1] if around else -1


def packed(family, numbers):
    return [number.to_bytes(4 if family == 4 else 16) for number in numbers]


def test_it_works():
    spans = [(0, 255), (16, 31), (20, 23)]

    intervals = flatten(4, spans, [7, 8, 9])

    assert find_parents(spans) == [-1, 0, 1]
    assert intervals.numbers() == [0, 16, 20, 24, 32, 256]
    assert intervals.find(packed(4, [15, 16, 23, 24, 32, 255, 256])).tolist() == [
        7, 8, 9, 8, 7, 7, -1,
    ]  # fmt: skip


def test_no_span_holds_nothing():
    for family in (4, 6):
        assert flatten(family, [], []).find(packed(family, [0, 1])).tolist() == [-1, -1]


def test_both_ends_of_the_address_space():
    last = 2**128 - 1
    intervals = flatten(6, [(0, 0), (last - 1, last)], [1, 2])

    assert intervals.find(packed(6, [0, 1, last - 2, last])).tolist() == [1, -1, -1, 2]


@given(st.sampled_from([4, 6]), st.data())
def test_flattening_agrees_with_a_linear_search(family, data):
    spans = data.draw(prefixes(family))
    corner = CORNER[family]
    asked = range(corner - 2, corner + 258)

    intervals = flatten(family, spans, range(len(spans)))

    expected = [smallest_around(spans, number, number) for number in asked]
    assert intervals.find(packed(family, asked)).tolist() == expected
    assert find_parents(spans) == [
        smallest_around(spans, *span, skip=i) for i, span in enumerate(spans)
    ]


@given(st.one_of(st.ip_addresses(), st.text(max_size=20)))
def test_packing_agrees_with_the_standard_library(value):
    try:
        address = ipaddress.ip_address(str(value))
    except ValueError:
        assert pack_address(str(value)) == b""
        return
    if getattr(address, "scope_id", None):
        return
    mapped = getattr(address, "ipv4_mapped", None)
    assert pack_address(str(value)) == (mapped or address).packed


@given(st.ip_addresses(), st.integers(0, 128))
def test_prefixes_agree_with_the_standard_library(address, length):
    text = f"{address}/{length}"
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        network = None
    try:
        found = read_prefix(text)
    except ValueError:
        found = None

    assert (found is None) == (network is None)
    if found:
        assert write_prefix(*found) == str(network)
        assert found[1] == int(network.network_address)


def test_an_address_alone_is_a_prefix_of_full_length():
    assert write_prefix(*read_prefix("198.51.100.7")) == "198.51.100.7/32"
    assert write_prefix(*read_prefix("2001:DB8:0::7")) == "2001:db8::7/128"
