"""Compiled loops over whole columns beside the standard library, one address at a time."""

import ipaddress
import random
import socket

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartography.addresses import kernels
from cartography.addresses.matching import AddressMap
from cartography.addresses.parsing import LONGEST_TEXT, READ_BYTES, read_ipv4, read_ipv6
from cartography.addresses.prefixes import BITS, pack_address, write_address
from cartography.placement.cloud_table import PrefixTable
from tests.cartography.ranges.files import read_sample

assert kernels  # every column goes through the compiled loops once they are loaded


@pytest.fixture(scope="module")
def table():
    return PrefixTable.build(
        [
            read_sample(n)
            for n in (
                "aws-sample.json",
                "azure-tags-sample.json",
                "google-cloud-sample.json",
                "fastly-sample.json",
            )
        ]
    )


@pytest.fixture(scope="module")
def addresses(table) -> AddressMap:
    return table.addresses


def inet_pton(family, text):
    try:
        return socket.inet_pton(family, text)
    except (OSError, ValueError):
        return None


def read_both(text):
    """What the compiled readers make of a text that is followed by other bytes."""
    data = text.encode()
    row = np.full(READ_BYTES, ord("7"), dtype=np.uint8)
    row[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    number = int(read_ipv4(row, 0, len(data)))
    high, low, sound = read_ipv6(row, 0, len(data))
    wide = int(high).to_bytes(8) + int(low).to_bytes(8)
    return None if number >> 32 else number.to_bytes(4), wide if sound else None


def quads():
    part = st.one_of(st.integers(0, 255).map(str), st.sampled_from(["", "00", "01", "256", "999"]))
    return st.lists(part, min_size=3, max_size=5).map(".".join)


def groups():
    part = st.one_of(
        st.integers(0, 65535).map(lambda n: f"{n:x}"),
        st.sampled_from(["", "0000", "00000", "g", "FFFF", "1.2.3.4", "1.2.3.256"]),
    )
    return st.lists(part, min_size=1, max_size=9).map(":".join)


@given(
    st.one_of(
        st.ip_addresses().map(str),
        st.ip_addresses(v=6).map(lambda a: a.exploded),
        st.text("0123456789.:af/ ", max_size=20),
        quads(),
        groups(),
        groups().map(lambda text: text.replace(":", "::", 1)),
    )
)
@example("::")
@example("1::")
@example("::1:2:3:4:5:6:7")
@example("1:2:3:4:5:6:7::")
@example("1:2:3:4:5:6:7:8::")
@example(":::")
@example("1:")
@example("::1.2.3.4")
@example("1:2:3:4:5:6:1.2.3.4")
@example("1:2:3:4:5:6:7:1.2.3.4")
@example("255.255.255.255")
@example("0.0.0.0")
@example("1.2.3.4.")
@example(".1.2.3.4")
def test_readers_agree_with_the_c_library(text):
    if len(text.encode()) > LONGEST_TEXT:
        return
    expected = inet_pton(socket.AF_INET, text), inet_pton(socket.AF_INET6, text)

    assert read_both(text) == expected


def mixed_texts(count=3_000):
    generator = random.Random(7)
    made = [
        "",
        " ",
        "x",
        "1.2.3",
        "::ffff:198.51.100.7",
        "::ffff:c633:6407",
        "1.2.3.4 ",
        "☂",
        "2001:db8:1::1",
        "9" * 200,
        "198.51.100.40",
        "0.0.0.0",
        "255.255.255.255",
    ]
    corners = ("198.51.100.0", "192.0.2.0", "203.0.113.0", "2001:db8:1::", "2001:db8:7::")
    for _ in range(count):
        base = int(ipaddress.ip_address(generator.choice(corners)))
        family = 6 if base >> 32 else 4
        made.append(write_address(family, base + generator.getrandbits(9)))
        made.append(write_address(family, generator.getrandbits(BITS[family])))
    generator.shuffle(made)
    return made


def test_it_works(addresses):
    texts = mixed_texts()

    assert addresses.match_text(pa.array(texts)).tolist() == [addresses.find(t) for t in texts]
    assert set(addresses.match_text(pa.array(texts)).tolist()) > {-1, 0, 1}


@pytest.mark.parametrize(
    "shape",
    [
        lambda texts: pa.array(texts, pa.large_string()),
        lambda texts: pa.chunked_array([texts[:700], [], texts[700:]]),
        lambda texts: pa.array(texts).dictionary_encode(),
        lambda texts: pa.array([*texts[:5], *texts]).slice(5),
        lambda texts: pa.array(texts, pa.string_view()),
        lambda texts: pa.chunked_array([pa.array(texts).dictionary_encode()]),
    ],
    ids=["large", "chunks", "dictionary", "slice", "view", "dictionary chunks"],
)
def test_every_form_of_a_text_column(addresses, shape):
    texts = mixed_texts(1_000)

    assert addresses.match_text(shape(texts)).tolist() == [addresses.find(t) for t in texts]


def test_nulls_have_no_label(addresses):
    texts = [None, "198.51.100.7", None, "2001:db8:1::1", None]
    found = addresses.match_text(pa.array(texts))

    assert (found == -1).tolist() == [True, False, True, False, True]
    dictionary = addresses.match_text(pa.array(texts).dictionary_encode())
    assert dictionary.tolist() == found.tolist()


def test_empty_columns(addresses):
    assert addresses.match_text(pa.array([], pa.string())).tolist() == []
    assert addresses.match_text(pa.chunked_array([], pa.string())).tolist() == []
    assert addresses.match_text(pa.array(["", ""])).tolist() == [-1, -1]
    assert addresses.match_ipv4(np.array([], dtype=np.uint32)).tolist() == []


def test_a_buffer_that_ends_with_its_last_address(addresses):
    # The fast reader loads more bytes than an address has: it must not read behind the buffer.
    for text in ("198.51.100.7", "1.2.3.4", "2001:db8:1::1", "::"):
        data = pa.py_buffer(text.encode())
        offsets = pa.py_buffer(np.array([0, len(text)], dtype=np.int32).tobytes())
        column = pa.StringArray.from_buffers(1, offsets, data)
        assert addresses.match_text(column).tolist() == [addresses.find(text)]


def test_columns_of_numbers(addresses):
    texts = [t for t in mixed_texts() if pack_address(t)]
    packed = {t: pack_address(t) for t in texts}
    four = [t for t in texts if len(packed[t]) == 4]
    numbers = np.array([int.from_bytes(packed[t]) for t in four], dtype=np.uint32)

    assert addresses.match_ipv4(numbers).tolist() == [addresses.find(t) for t in four]
    assert addresses.match_ipv4(numbers[::3]).tolist() == [addresses.find(t) for t in four[::3]]


def test_mapped_addresses_in_columns_are_read_as_ipv4(addresses):
    high = np.array([0, 0, 0, 0x20010DB800010000], dtype=np.uint64)
    low = np.array([0xFFFF_C633_6407, 0xC633_6407, 0xFFFF_0000_0000, 1], dtype=np.uint64)

    expected = [
        addresses.find(t) for t in ("198.51.100.7", "::c633:6407", "0.0.0.0", "2001:db8:1::1")
    ]
    assert addresses.match_ipv6(high, low).tolist() == expected
    assert expected[0] >= 0 > expected[1]


def test_numpy_alone_gives_the_same(addresses):
    high = np.array([0, 0, 0x20010DB800010000], dtype=np.uint64)
    low = np.array([0xFFFF_C633_6407, 0xC633_6407, 1], dtype=np.uint64)

    assert addresses._match_halves(high, low).tolist() == addresses.match_ipv6(high, low).tolist()


def test_labels_join_with_what_they_mean(table):
    found = table.addresses.match_text(pa.array(["198.51.100.40", "10.0.0.1", "2001:db8:7::1"]))
    meanings = table.label_table()

    rows = [meanings.slice(int(n), 1).to_pylist()[0] if n >= 0 else None for n in found]
    assert rows[1] is None
    assert [rows[0][k] for k in ("prefix", "provider", "service", "services", "region")] == [
        "198.51.100.32/28",
        "aws",
        "S3",
        ["S3", "EC2", "AMAZON", "Fastly"][:3],
        "us-east-1",
    ]
    assert (rows[2]["prefix"], rows[2]["provider"]) == ("2001:db8:7::/48", "fastly")
