"""Files of zone inference: every form reads alike, and a bad line says where."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartography.zones.input_files import observe, read_round_trips, read_samples
from cartography.zones.observations import Sample, Target, ZoneId
from core.errors import BadInput

CSV = b"region,account,zone,address,zone_id\nus-east-1,me,a,10.1.2.3,use1-az1\n"
ROW = {
    "region": "us-east-1",
    "account": "me",
    "zone": "a",
    "address": "10.1.2.3",
    "zone_id": "use1-az1",
}


@pytest.mark.parametrize(
    "data",
    [
        CSV,
        b"\xef\xbb\xbf" + CSV,
        CSV.replace(b"\n", b"\r\n") + b"\r\n",
        json.dumps(ROW).encode(),
        (json.dumps(ROW) + "\n" + json.dumps(ROW)).encode(),
        json.dumps([ROW]).encode(),
        json.dumps({"samples": [ROW], "rtts": []}).encode(),
    ],
)
def test_every_form_reads_alike(data):
    samples, ids = read_samples(data)

    assert set(samples) == {Sample("us-east-1", "me", "a", "10.1.2.3")}
    assert ids == [ZoneId("us-east-1", "me", "a", "use1-az1")]


def test_a_ping_without_reply_is_kept():
    (trip,) = read_round_trips(b"target,account,zone,rtt_ms\n203.0.113.1,me,a,\n")

    assert trip.rtt_ms is None


def test_regions_of_round_trips_and_targets_may_be_left_out():
    rtts = b"target,account,zone,rtt_ms\n203.0.113.1,me,a,0.5\n10.1.2.3,me,a,0.4\n"

    found = observe([CSV], [], [rtts])
    assert {t.region for t in found.round_trips} == {"us-east-1"}
    assert found.targets == (Target("us-east-1", "203.0.113.1"),)


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (0, b"region,account,zone\nus-east-1,me,a\n", "line 2: address is missing"),
        (0, CSV.replace(b"10.1.2.3", b"10.1.2"), "line 2: '10.1.2' is not an address"),
        (0, b"", "the file is empty"),
        (0, b"\xff\xfe", "not UTF-8"),
        (0, b"[1]", "entry 1 is not an object"),
        (0, b'{"region": "us-east-1"\n', "this is not JSON"),
        (1, b"region,target,internal\nr,t,10.0.0.1\nr,t,10.0.0.2\n", "two internal addresses"),
        (2, b"target,zone,rtt_ms\nt,a,fast\n", "line 2: 'fast' is not a round-trip time"),
        (2, b"target,zone,rtt_ms\nt,a,-1\n", "line 2: '-1' is not a round-trip time"),
        (2, b"target,zone,rtt_ms\nt,a,nan\n", "line 2: 'nan' is not a round-trip time"),
        (3, b"region,account,zone,zone_id\nr,me,a,x\nr,me,a,y\n", "two zone IDs"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(kind, data, message):
    files = [[], [], [], []]
    files[kind] = [data]
    with pytest.raises(BadInput) as caught:
        observe(*files)

    assert message in str(caught.value)


@given(st.binary(max_size=300), st.integers(0, 3))
def test_any_bytes_are_read_or_refused(data, kind):
    files = [[], [], [], []]
    files[kind] = [data]
    with suppress(BadInput):
        assert observe(*files).samples == ()


texts = st.sampled_from(["", "a", " b ", "us-east-1a", '"c"'])
numbers = st.sampled_from(["", "0.5", " 1.25", "3", "0", "1e1", "x", "-1", "nan", "inf", "70000"])


@given(st.lists(st.tuples(texts, texts, texts, texts, numbers), max_size=8))
def test_files_of_pings_read_alike_by_column_and_by_line(rows):
    head = "region,target,account,zone,rtt_ms"
    rows = [row for row in rows if any(row)]
    data = "\n".join([head, *(",".join(row) for row in rows)]).encode()
    # A JSON list is never read by column.
    fields = [{k: v.strip(' "') for k, v in zip(head.split(","), r, strict=True)} for r in rows]

    assert outcome(data) == outcome(json.dumps(fields).encode())


def outcome(data):
    try:
        return sorted(read_round_trips(data), key=str)
    except BadInput as error:
        return str(error).split(": ", 1)[1]


def test_pings_count_by_the_smallest():
    data = b"target,account,zone,rtt_ms\nt,me,a,0.9\nt,me,a,\nt,me,a,0.5\nu,me,a,\n"

    assert [(t.target, t.rtt_ms) for t in read_round_trips(data)] == [("t", 0.5), ("u", None)]
