import ipaddress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.addresses.intervals import Column, Intervals, flatten, join_ranges
from cartography.addresses.matching import AddressMap
from cartography.addresses.prefixes import (
    BITS,
    pack_address,
    read_prefix,
    write_address,
    write_prefix,
)

# A small corner of each family, dense enough that prefixes nest, touch and fill their parents.
CORNER = {4: int(ipaddress.ip_address("198.51.100.0")), 6: int(ipaddress.ip_address("2001:db8::"))}


@st.composite
def prefixes(draw, family):
    """Distinct (first, length) of prefixes within 256 addresses."""
    drawn = draw(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 8)), max_size=25))
    found = {(offset >> bits << bits, bits) for offset, bits in drawn}
    return [(CORNER[family] + first, BITS[family] - bits) for first, bits in found]


def smallest_around(spans, first, last, skip=-1):
    around = [
        (b - a, i) for i, (a, b) in enumerate(spans) if a <= first and last <= b and i != skip
    ]
    return min(around)[1] if around else -1


def nest_of(family, rows):
    firsts = Column.of(family, [first for first, _ in rows])
    return flatten(firsts, np.array([length for _, length in rows], dtype=np.uint8))


def span_of(family, first, length):
    return first, first + (1 << (BITS[family] - length)) - 1


def found_by_every_way(intervals, numbers):
    """Labels by bisection, by column, and through the bucket index; all agree."""
    family = intervals.family
    column = Column.of(family, numbers)
    found = [intervals.find(number) for number in numbers]
    assert intervals.find_column(column).tolist() == found
    other = Intervals(Column.of(10 - family, [0]), np.array([-1], dtype=np.int32))
    both = AddressMap(*((intervals, other) if family == 4 else (other, intervals)))
    texts = [write_address(family, number) for number in numbers]
    assert both.match_text(pa.array(texts)).tolist() == found
    assert both.find_texts(texts).tolist() == found
    assert [both.find(text) for text in texts] == found
    columns = (column.low,) if family == 4 else (column.high, column.low)
    match = both.match_ipv4 if family == 4 else both.match_ipv6
    assert match(*columns).tolist() == found
    return found


def test_it_works():
    nest = nest_of(4, [(0, 24), (16, 28), (20, 30)])

    assert nest.parents.tolist() == [-1, 0, 1]
    assert nest.intervals.starts.numbers() == [0, 16, 20, 24, 32, 256]
    assert found_by_every_way(nest.intervals, [15, 16, 23, 24, 32, 255, 256]) == [
        0,
        1,
        2,
        1,
        0,
        0,
        -1,
    ]


def test_the_order_of_prefixes_does_not_matter():
    nest = nest_of(4, [(20, 30), (0, 24), (16, 28)])

    assert nest.parents.tolist() == [2, -1, 1]
    assert nest.intervals.labels.tolist() == [1, 2, 0, 2, 1, -1]


def test_no_prefix_holds_nothing():
    for family in (4, 6):
        assert found_by_every_way(nest_of(family, []).intervals, [0, 1]) == [-1, -1]


def test_both_ends_of_the_address_space():
    for family in (4, 6):
        last = 2 ** BITS[family] - 1
        nest = nest_of(family, [(0, BITS[family]), (last - 1, BITS[family] - 1)])
        assert found_by_every_way(nest.intervals, [0, 1, last - 2, last - 1, last]) == [
            0,
            -1,
            -1,
            1,
            1,
        ]


def test_the_whole_space_is_a_prefix_too():
    for family in (4, 6):
        nest = nest_of(family, [(0, 0)])
        assert found_by_every_way(nest.intervals, [0, 2 ** BITS[family] - 1]) == [0, 0]


def test_ipv6_prefixes_around_64_bits():
    base = int(ipaddress.ip_address("2001:db8::"))
    rows = [(base, 63), (base, 64), (base, 65), (base, 128), (base + (1 << 64), 127)]
    asked = [
        base - 1,
        base,
        base + 1,
        base + (1 << 63),
        base + (1 << 64) - 1,
        base + (1 << 64),
        base + (1 << 64) + 1,
        base + (1 << 64) + 2,
        base + (1 << 65),
    ]

    assert found_by_every_way(nest_of(6, rows).intervals, asked) == [
        -1,
        3,
        2,
        1,
        1,
        4,
        4,
        0,
        -1,
    ]


@settings(deadline=None)
@given(st.sampled_from([4, 6]), st.data())
def test_flattening_agrees_with_a_linear_search(family, data):
    rows = data.draw(prefixes(family))
    corner = CORNER[family]
    asked = range(corner - 2, corner + 258)

    nest = nest_of(family, rows)

    spans = [span_of(family, *row) for row in rows]
    expected = [smallest_around(spans, number, number) for number in asked]
    assert nest.intervals.find_column(Column.of(family, asked)).tolist() == expected
    assert nest.parents.tolist() == [
        smallest_around(spans, *span, skip=i) for i, span in enumerate(spans)
    ]


def test_ranges_join_to_intervals():
    intervals = join_ranges(4, [(0, 9, 5), (10, 10, 6), (20, 2**32 - 1, 7)])

    assert found_by_every_way(intervals, [0, 9, 10, 11, 19, 20, 2**32 - 1]) == [
        5,
        5,
        6,
        -1,
        -1,
        7,
        7,
    ]


def test_ranges_that_overlap_are_refused():
    with pytest.raises(ValueError, match="overlap"):
        join_ranges(4, [(0, 9, 5), (9, 10, 6)])


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
