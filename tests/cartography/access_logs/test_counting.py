"""Access logs of every form to counts by country, city and network; refusals; the floor."""

import gzip
import ipaddress
import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.access_logs.cells import MIN_CLIENTS, Cells
from cartography.access_logs.counting import ClientCounter, merge_small_cells
from cartography.access_logs.lines import REASONS, recognise
from cartography.traffic.readers.line_blocks import Block
from core.errors import BadInput
from tests.cartography.access_logs.logs import (
    FORMS,
    combined,
    nginx_json,
    place_table,
    route_table,
)
from tests.examples import examples

BERLIN = [f"192.0.2.{n}" for n in range(1, 31)]
MUNICH = [f"203.0.113.{n}" for n in range(1, 21)]
TOKYO = [f"2001:db8::{n:x}" for n in range(1, 13)]
FEW = [f"198.51.100.{n}" for n in range(1, MIN_CLIENTS)]
NOWHERE = ["10.0.0.1", "2001:db9::1"]
ADDRESSES = [*BERLIN, *MUNICH, *TOKYO, *FEW, *NOWHERE]


@pytest.fixture(scope="module")
def tables():
    return place_table(), [route_table()]


def count(tables, text, name="access.log"):
    counter = ClientCounter(*tables)
    data = text if isinstance(text, bytes) else text.encode()
    return counter.read_bytes(data, name, 1 << 24), counter.counts()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_counts(tables, form):
    head, line = FORMS[form]
    text = head + "".join(map(line, ADDRESSES))

    for data in (text, gzip.compress(text.encode()), text.replace("\n", "\r\n")):
        file, counts = count(tables, data)
        assert (file.n_lines, file.n_read, file.wrong) == (len(ADDRESSES), len(ADDRESSES), {})
        assert counts.countries == {"DE": 50, "JP": 12}
        assert (counts.withheld, counts.unmatched) == (len(FEW), 2)
        assert counts.weights("city") == {"DE/Berlin": 30, "DE/Munich": 20, "JP/Tokyo": 12}
        assert counts.weights("network") == {"DE/AS64500": 30, "DE/AS64502": 20, "JP/AS64503": 12}


def test_wrong_lines_are_counted_with_their_reason_and_place(tables):
    lines = [combined(address) for address in BERLIN]
    lines[3] = "GET / HTTP/1.1\n"
    lines[7] = combined("host.example")
    lines[9] = combined("192.0.2.999")
    file, _ = count(tables, "".join(lines))

    assert file.n_read == len(BERLIN) - 3
    assert file.wrong == {
        "no time at its place": {"count": 1, "first_lines": [4]},
        "the client is not an IP address": {"count": 2, "first_lines": [8, 10]},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DE 40\nUS 35\n", "line 1: no time at its place"),
        ("\n\ncountry,users\nGermany,40\n", "line 3: "),
        ('{"when": 1}\n{"when": 2}\n', "line 1: no field of the client"),
        ("#Fields: date time\n2023-10-10\t13:55\n", "line 1: the head names no field c-ip"),
        ("# nothing\n", "no lines but comments"),
        ("", "the log is empty"),
        (combined("a.example") * 3, "line 1: the client is not an IP address"),
        (combined("192.0.2.1") * 300 + "x\n" * 400, "line 301: no time at its place; 400 of 700"),
    ],
)
def test_a_file_in_a_wrong_form_is_refused_with_line_and_reason(tables, text, said):
    with pytest.raises(BadInput) as refusal:
        count(tables, text)
    assert said in str(refusal.value)


def test_a_large_upload_is_refused(tables):
    packed = gzip.compress(combined("192.0.2.1").encode() * 200_000)
    with pytest.raises(BadInput, match="too large"):
        count(tables, packed)


def test_without_a_route_table_there_are_countries_and_cities(tables):
    counter = ClientCounter(tables[0], [])
    counter.read_bytes("".join(map(combined, BERLIN)).encode(), "log", 1 << 20)

    assert counter.counts().weights("network") == {"DE": 30}


ADDRESS_TEXTS = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(str),
    st.ip_addresses(v=6).map(lambda a: a.exploded),
    st.sampled_from(["-", "host.example", "1.2.3", "1.2.3.4.5", "::g", "01.2.3.4", ""]),
    st.text("0123456789abcdef.:", min_size=1, max_size=45),
)


def read_as_halves(text):
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    number = int(address) if address.version == 6 else int(address) | 0xFFFF << 32
    return number >> 64, number & 0xFFFFFFFFFFFFFFFF


@given(st.lists(ADDRESS_TEXTS, min_size=1, max_size=8), st.sampled_from(sorted(FORMS)))
@settings(deadline=None, max_examples=examples(120))
def test_clients_are_read_as_the_standard_library_reads_them(texts, form):
    head, line = FORMS[form]
    data = head + "".join(map(line, [*BERLIN, *texts]))
    block = Block(data.encode(), np.arange(1, data.count("\n") + 1))

    clients = recognise(block).read(block)
    skipped = head.count("\n") + len(BERLIN)
    for n, text in enumerate(texts, skipped):
        expected = read_as_halves(text)
        found = tuple(clients.halves[:, n].tolist()) if clients.reasons[n] == 0 else None
        assert found == expected, text


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.just("remote_addr"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=6), JSON_VALUES, max_size=5),
    st.ip_addresses(v=4).map(str) | JSON_VALUES,
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]),
    st.booleans(),
)
@settings(deadline=None, max_examples=examples(200))
def test_objects_are_read_as_the_standard_library_reads_them(others, client, separators, ascii_):
    document = {**others, "remote_addr": client}
    line = json.dumps(document, separators=separators, ensure_ascii=ascii_) + "\n"
    data = (nginx_json("192.0.2.1") * 3 + line).encode("utf-8", "surrogatepass")
    block = Block(data, np.arange(1, 5))
    clients = recognise(block).read(block)

    expected = read_as_halves(client) if isinstance(client, str) else None
    found = tuple(clients.halves[:, 3].tolist()) if clients.reasons[3] == 0 else None
    assert found == expected


@given(st.binary(max_size=300), st.sampled_from(sorted(FORMS)))
@settings(deadline=None, max_examples=examples(150))
def test_damaged_lines_are_counted_and_never_read_beyond(tail, form):
    head, line = FORMS[form]
    data = (head + line("192.0.2.1") * 5).encode() + tail.replace(b"\n", b" ")
    block = Block(data, np.arange(1, data.count(b"\n") + 1 + (not data.endswith(b"\n"))))
    clients = recognise(block).read(block)

    assert clients.reasons.max() < len(REASONS)
    assert (clients.reasons[head.count("\n") : head.count("\n") + 5] == 0).all()


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), min_size=1, max_size=600))
@settings(deadline=None, max_examples=examples(40))
def test_cells_count_as_a_dictionary_does(rows):
    cells, expected = Cells(most_clients=5), {}
    for begin in range(0, len(rows), 100):
        part = rows[begin : begin + 100]
        keys = np.array([k << 32 for k, _ in part], np.int64)
        cells.add(keys, np.array([c for _, c in part], np.uint64))
    for key, client in rows:
        known = expected.setdefault(key << 32, [0, set()])
        known[0] += 1
        known[1].add(client)

    assert cells.rows() == sorted((k, n, min(5, len(c))) for k, (n, c) in expected.items())


def test_cells_grow_and_keep_what_they_count():
    cells, keys = Cells(), np.arange(20_000, dtype=np.int64)
    for client in range(3):
        cells.add(keys, np.full(len(keys), client, np.uint64))

    assert cells.rows() == [(key, 3, 3) for key in range(20_000)]


CELLS = st.lists(
    st.tuples(st.integers(1, 10_000), st.integers(1, MIN_CLIENTS)), min_size=1, max_size=12
)


@given(CELLS, st.booleans())
def test_no_difference_of_totals_tells_of_few_clients(cells, has_rest):
    rows = [(f"AS{n}" if n or not has_rest else "", *cell) for n, cell in enumerate(cells)]
    found = merge_small_cells(rows)

    assert sum(found.values()) == sum(count for _, count, _ in rows)
    clients = {name: n for name, _, n in rows}
    assert all(clients[name] >= MIN_CLIENTS for name in found if name)
    rest = sum(n for name, _, n in rows if name not in found or not name)
    assert "" not in found or rest >= MIN_CLIENTS or len(found) == 1


def test_a_hundred_thousand_lines_take_less_than_their_share_of_a_minute(tables):
    data = "".join(combined(a) for a in ADDRESSES).encode() * 2_000
    count(tables, data[: 1 << 16])
    begun = time.process_time()
    file, _ = ClientCounter(*tables).read_bytes(data, "log", 1 << 30), None
    spent_s = time.process_time() - begun

    # Ten million lines may take 60 seconds of the processor.
    assert spent_s < 60.0 * file.n_lines / 10_000_000
