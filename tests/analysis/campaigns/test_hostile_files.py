"""Imports of others' files: whatever they hold, a table comes out or a refusal that says why."""

import contextlib
import csv
import gzip
import io
import json
import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.campaigns.importers import public_matrices
from analysis.campaigns.importers.globalping import convert, read_globalping
from analysis.campaigns.importers.mlab import read_mlab
from analysis.campaigns.importers.scamper import read_scamper
from analysis.campaigns.importers.wondernetwork import read_city_pings
from core.errors import BadInput
from tests.examples import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda own: st.lists(own, max_size=3) | st.dictionaries(st.text(max_size=6), own, max_size=3),
    max_leaves=6,
)
HOPS = st.fixed_dictionaries(
    {}, optional={"addr": JSON, "probe_ttl": st.integers(0, 300) | JSON, "rtt": st.floats() | JSON}
)
LINKS = st.lists(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "addr": JSON,
                "probes": st.lists(
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "ttl": st.integers(0, 300) | JSON,
                            "flowid": st.integers(0, 9) | JSON,
                            "replies": JSON,
                        },
                    ),
                    max_size=2,
                )
                | JSON,
            },
        ),
        max_size=2,
    )
    | JSON,
    max_size=2,
)
TRACES = st.fixed_dictionaries(
    {"type": st.sampled_from(["trace", "tracelb", "ping"]) | JSON},
    optional={
        "src": st.just("1.1.1.1") | JSON,
        "dst": st.just("2.2.2.2") | JSON,
        "start": st.just({"sec": 5, "usec": 1}) | JSON,
        "hops": st.lists(HOPS, max_size=3) | JSON,
        "firsthop": JSON,
        "hop_count": JSON,
        "method": JSON,
        "ping_sent": JSON,
        "responses": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "seq": JSON,
                    "rtt": JSON,
                    "icmp_type": JSON,
                    "icmp_code": JSON,
                    "from": JSON,
                },
            ),
            max_size=2,
        )
        | JSON,
        "nodes": st.lists(
            st.fixed_dictionaries({}, optional={"addr": JSON, "links": LINKS}), max_size=2
        )
        | JSON,
    },
)
GOOD_TRACE = {
    "type": "trace",
    "src": "1.1.1.1",
    "dst": "2.2.2.2",
    "start": {"sec": 5},
    "hops": [{"addr": "2.2.2.2", "probe_ttl": 1, "rtt": 1.0}],
}


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(TRACES | JSON, max_size=4))
def test_no_trace_of_scamper_breaks_the_others(tmp_path_factory, odd):
    path = tmp_path_factory.mktemp("s") / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, [*odd, GOOD_TRACE])))
    found = read_scamper([path])
    rows = found.paths.to_pylist()
    assert (rows[-1]["destination"], rows[-1]["reached"]) == ("2.2.2.2", True)
    assert 0 <= found.malformed <= sum(len(o) if isinstance(o, list) else 1 for o in odd)


def test_a_cut_file_of_scamper_gives_what_came(tmp_path):
    whole = "\n".join([json.dumps(GOOD_TRACE)] * 50)
    path = tmp_path / "x.jsonl"
    path.write_text(whole[:-20])
    found = read_scamper([path])
    assert (len(found.paths), found.malformed) == (49, 1)
    packed = gzip.compress(whole.encode() * 400)
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    found = read_scamper([path])
    assert len(found.paths) > 1000
    assert found.malformed >= 1


PROBE = st.fixed_dictionaries({}, optional={"country": JSON, "city": JSON, "asn": JSON})
OUTCOMES = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["finished", "failed", "offline"]) | JSON,
        "rawOutput": JSON,
        "timings": st.lists(st.fixed_dictionaries({}, optional={"rtt": JSON}), max_size=3) | JSON,
        "stats": JSON,
        "resolvedAddress": JSON,
        "hops": st.lists(
            st.fixed_dictionaries({}, optional={"resolvedAddress": JSON, "timings": JSON}),
            max_size=3,
        )
        | JSON,
    },
)
MEASUREMENTS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["ping", "traceroute", "mtr", "http", "dns"]) | JSON,
        "target": JSON,
        "createdAt": st.just("2026-01-02T03:04:05.678Z") | JSON,
        "results": st.lists(
            st.fixed_dictionaries({}, optional={"probe": PROBE | JSON, "result": OUTCOMES | JSON}),
            max_size=2,
        )
        | JSON,
    },
)
GOOD = {
    "type": "ping",
    "target": "a.example",
    "createdAt": "2026-01-02T03:04:05.678Z",
    "results": [
        {
            "probe": {"country": "DE", "city": "Berlin", "asn": 1},
            "result": {"status": "finished", "timings": [{"rtt": 1.5}]},
        }
    ],
}


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(MEASUREMENTS | JSON, max_size=3))
def test_no_measurement_of_globalping_breaks_the_others(odd):
    found = convert([*odd, GOOD])
    assert found.samples.to_pylist()[-1]["values"] == [1.5]
    assert len(found.samples) + len(found.paths) + found.malformed >= 1


OCTETS = st.binary(max_size=120) | st.text(
    alphabet='{}[]",:0123456789.e-\t\n ab', max_size=120
).map(str.encode)
READERS = {
    "globalping": lambda path: read_globalping([path]),
    "scamper": lambda path: read_scamper([path]),
    "planetlab": lambda path: public_matrices.read_planetlab([path]),
    "wondernetwork": lambda path: read_city_pings(path, regions=["Berlin"]),
    "pairs": public_matrices.read_pairs,
    "cloudping": public_matrices.read_cloudping,
    "mlab": read_mlab,
}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=examples(60), deadline=None)
@given(OCTETS)
def test_any_octets_are_read_or_refused(tmp_path_factory, name, octets):
    path = tmp_path_factory.mktemp("o") / "x.txt"
    path.write_bytes(octets)
    with contextlib.suppress(BadInput):
        READERS[name](path)


@pytest.mark.parametrize("name", ["planetlab", "wondernetwork", "pairs", "mlab"])
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_tables_that_are_cut_are_refused(tmp_path, name, pack):
    text = "\n".join("0 " * 200 for _ in range(200)).encode()
    path = tmp_path / ("x.gz" if pack is gzip.compress else "x.xz")
    path.write_bytes(pack(text)[:-40])
    with pytest.raises(BadInput):
        READERS[name](path)
    with pytest.raises(BadInput):
        READERS[name](tmp_path / "nowhere.txt")


@settings(max_examples=examples(60), deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=4),
        st.dictionaries(st.text(max_size=4), JSON, max_size=3) | JSON,
        max_size=3,
    )
    | JSON
)
def test_any_matrix_of_regions_is_read_or_refused(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("m") / "x.json"
    path.write_text(json.dumps(document))
    try:
        table = public_matrices.read_cloudping(path)
    except BadInput:
        return
    for row in table.to_pylist():
        assert all(v == v and abs(v) != float("inf") and v >= 0 for v in row["values"])


CELLS = st.sampled_from(
    ["2026-01-02T03:04:05", "AS1", "fra", "10.5", "", "nan", "inf", "-1", "x", "1e400", '"']
) | st.text(max_size=5)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.lists(CELLS, min_size=0, max_size=7), max_size=4))
def test_any_speed_test_is_read_or_refused(tmp_path_factory, rows):
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["TestTime", "client", "site", "MeanThroughputMbps", "MinRTT", "LossRate"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("l") / "x.csv"
    path.write_text(stream.getvalue())
    try:
        rates, rtts = read_mlab(path)
    except BadInput:
        return
    for row in [*rates.to_pylist(), *rtts.to_pylist()]:
        assert all(v == v and abs(v) != float("inf") and v >= 0 for v in row["values"])
