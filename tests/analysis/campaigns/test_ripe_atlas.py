"""RIPE Atlas results are read fast, and exactly as a plain JSON reader reads them."""

import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.campaigns.importers.ripe_atlas_records import RecordReader
from core.errors import BadInput
from tests.examples import examples

TIMES = st.integers(0, 2_000_000_000)
ODD_TEXT = st.text(max_size=8) | st.sampled_from(['"', "\\", "\ufdd0", "ü.example", "\x00", "a\tb"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD_TEXT,
    lambda own: st.lists(own, max_size=3) | st.dictionaries(st.text(max_size=5), own, max_size=3),
    max_leaves=6,
)
ADDRESSES = st.sampled_from(["4.1.0.1", "52.0.0.1", "2001:db8::1", "4.1.0.10", ""]) | ODD_TEXT
RTTS = st.floats(0, 5000).map(lambda x: round(x, 3)) | st.integers(0, 300) | JSON
MARKS = st.booleans() | st.integers(0, 1) | JSON
REPLIES = st.fixed_dictionaries(
    {},
    optional={
        "from": ADDRESSES | JSON,
        "rtt": RTTS,
        "late": st.integers(0, 3) | JSON,
        "ttl": JSON,
        "x": st.just("*"),
        "err": JSON,
        "icmpext": JSON,
        "dup": MARKS,
    },
)
ELEMENTS = st.fixed_dictionaries(
    {},
    optional={
        "hop": st.integers(1, 30) | JSON,
        "rtt": RTTS,
        "x": st.just("*"),
        "error": JSON,
        "dup": MARKS,
        "result": st.lists(REPLIES | JSON, max_size=3) | JSON,
    },
)
RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["traceroute", "ping"]) | JSON,
        "prb_id": st.integers(1, 9) | JSON,
        "timestamp": TIMES | JSON,
        "result": st.lists(ELEMENTS | JSON, max_size=4) | JSON,
        "dst_addr": ADDRESSES | JSON,
        "dst_name": ADDRESSES | JSON,
        "src_addr": ADDRESSES | JSON,
        "from": ADDRESSES | JSON,
        "proto": st.sampled_from(["ICMP", "UDP", "tcp"]) | JSON,
        "paris_id": st.integers(0, 16) | JSON,
        "sent": st.integers(0, 10) | JSON,
        "fw": JSON,
        "timestamps": JSON,
        "dst_addx": JSON,
    },
)


def integer(value, least, greatest):
    return value if type(value) is int and least <= value <= greatest else None


def text(value):
    try:
        return value if isinstance(value, str) and value.encode() is not None else None
    except UnicodeEncodeError:
        return None


def real(value):
    if type(value) not in (int, float):
        return None
    with np.errstate(over="ignore"):
        try:
            small = float(np.float32(value))
        except OverflowError:
            return None
    return small if math.isfinite(small) else None


def dicts(value):
    return [v if isinstance(v, dict) else {} for v in value] if isinstance(value, list) else []


def twice(entry):
    mark = entry.get("dup")
    return mark is True or (type(mark) is int and mark != 0)


def expected(found, kind):
    """What a result says, by plain loops; nothing where it is none of that kind."""
    if not isinstance(found, dict) or found.get("type") != kind:
        return None
    probe = integer(found.get("prb_id"), -(1 << 40), 1 << 40)
    at = integer(found.get("timestamp"), 0, 253_402_300_799)
    if probe is None or at is None or not isinstance(found.get("result"), list):
        return None
    address = text(found.get("dst_addr"))
    name, source, own = (text(found.get(k)) for k in ("dst_name", "src_addr", "from"))
    row = {
        "vantage": f"atlas-{probe}",
        "round": at // 900,
        "target": next((t for t in (name, address) if t is not None), ""),
    }
    elements = [
        e
        for e in dicts(found["result"])
        if not twice(e) or any(not twice(r) for r in dicts(e.get("result")))
    ]
    if kind == "ping":
        values = [v for v in (real(e.get("rtt")) for e in elements) if v is not None]
        sent = integer(found.get("sent"), -(1 << 31), (1 << 31) - 1) or 0
        return {**row, "values": values, "sent": max(sent, len(elements))}
    hops = []
    for element in elements:
        ttl = integer(element.get("hop"), 0, 255) or 0
        for reply in (r for r in dicts(element.get("result")) if not twice(r)):
            late = integer(reply.get("late"), -(1 << 31) + 1, (1 << 31) - 1) is not None
            hops.append(
                (
                    ttl,
                    None if late else text(reply.get("from")),
                    None if late else real(reply.get("rtt")),
                )
            )
    flow = integer(found.get("paris_id"), -(1 << 31), (1 << 31) - 1) or 0
    reached = address is not None and any(a == address for _, a, _ in hops)
    row["source"] = next((t for t in (source, own) if t is not None), "")
    return {**row, "flow": flow, "destination": address or "", "reached": reached, "hops": hops}


def rows_of(files, kind):
    tables = files.traceroutes() if kind == "traceroute" else files.pings()
    for row in (r for t in tables for r in t.to_pylist()):
        own = {k: row[k] for k in ("vantage", "round", "target")}
        if kind == "ping":
            yield {**own, "values": row["values"], "sent": row["sent"]}
        else:
            hops = [(h["ttl"], h["address"], h["rtt_ms"]) for h in row["hops"]]
            names = ("source", "flow", "destination", "reached")
            yield {**own, **{name: row[name] for name in names}, "hops": hops}


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(RESULTS, max_size=6),
    st.sampled_from(["lines", "array", "indented", "ascii"]),
    st.sampled_from(["traceroute", "ping"]),
)
@example(
    [{"type": "ping", "prb_id": 1, "timestamp": 1, "result": [{"rtt": 1e-7}, {"rtt": 0.1}]}],
    "lines",
    "ping",
)
def test_what_is_read_is_what_plain_json_says(tmp_path_factory, results, form, kind):
    # JSON knows no infinity; Python writes one all the same, and then nobody can read it.
    results = json.loads(
        json.dumps(results)
        .replace("NaN", "null")
        .replace("-Infinity", "null")
        .replace("Infinity", "null")
    )
    path = tmp_path_factory.mktemp("a") / "x.json"
    indent = 2 if form == "indented" else None
    ascii_only = form == "ascii"
    if form == "lines":
        whole = "\n".join(json.dumps(r, separators=(",", ":"), ensure_ascii=True) for r in results)
    else:
        whole = json.dumps(results, indent=indent, ensure_ascii=True)
        if not ascii_only:
            try:
                whole = json.dumps(results, indent=indent, ensure_ascii=False)
                whole.encode()
            except UnicodeEncodeError:
                whole = json.dumps(results, indent=indent)
    path.write_bytes(whole.encode())
    files = AtlasFiles([path])
    found = list(rows_of(files, kind))
    assert found == [row for r in results if (row := expected(r, kind)) is not None]
    assert (files.seen, files.read) == (len(results), len(found))
    assert files.reasons.total() == files.malformed


def result(number, **extra):
    return {
        "type": "traceroute",
        "prb_id": number,
        "timestamp": 900,
        "dst_addr": "52.0.0.1",
        "result": [{"hop": 1, "result": [{"from": f"4.0.0.{number}", "rtt": 1.25}]}],
        **extra,
    }


def vantages(files):
    return [r["vantage"] for t in files.traceroutes() for r in t.to_pylist()]


def test_lines_that_are_broken_are_counted_by_reason_and_the_others_are_read(tmp_path):
    good = [json.dumps(result(n)) for n in range(6)]
    lines = [
        good[0],
        '{"type": "traceroute", "prb_id": ',
        good[1],
        "no JSON at all",
        good[2],
        '{"type": "traceroute", "prb_id": 7, "result": [}',
        good[3],
        '{"type": "dns", "prb_id": 1}',
        '{"type": "traceroute"}',
        '{"type": "traceroute", "prb_id": 1}',
        '{"type": "traceroute", "prb_id": 1, "timestamp": 2}',
        good[4],
        '{"type": "traceroute", "prb_id": 8, "x": NaN, "result": []}',
        good[5][:-9],
    ]
    path = tmp_path / "x.json"
    path.write_text("\n".join(lines))
    files = AtlasFiles([path])
    assert vantages(files) == [f"atlas-{n}" for n in range(5)]
    assert files.reasons == {
        "not_json": 2,
        "other_kind": 1,
        "no_probe": 1,
        "no_time": 1,
        "no_result": 1,
        "cut": 3,
    }
    assert files.malformed == files.reasons.total() == 9


@pytest.mark.parametrize("indent", [None, 1])
def test_a_broken_result_of_an_array_costs_no_other(tmp_path, indent):
    whole = json.dumps([result(n) for n in range(5)], indent=indent)
    middle = whole.index("4.0.0.2")
    path = tmp_path / "x.json"
    path.write_text(whole[:middle] + whole[middle + 8 :])
    files = AtlasFiles([path])
    assert vantages(files) == ["atlas-0", "atlas-1", "atlas-3", "atlas-4"]
    assert files.reasons == {"cut": 1}


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 4000), st.integers(1, 300), st.booleans())
def test_wherever_a_file_is_cut_all_before_is_read(tmp_path_factory, cut, piece, packed):
    results = [result(n, dst_name="ü" if n % 3 == 0 else "u") for n in range(20)]
    lines = [json.dumps(r, ensure_ascii=False).encode() for r in results]
    data = b"\n".join(lines)
    path = tmp_path_factory.mktemp("c") / "x.json"
    path.write_bytes(gzip.compress(data[:cut]) if packed else data[:cut])
    reader = RecordReader(piece_bytes=piece)
    rows = sum(map(len, reader.read(path)))
    ends = np.cumsum([len(line) + 1 for line in lines]) - 1
    whole = int((ends <= cut).sum())
    assert rows == whole
    starts = np.concatenate([[0], ends + 1])[whole]
    assert reader.lost.total() == int(cut < len(data) and cut > starts)


def test_a_packed_file_that_is_cut_gives_what_came(tmp_path):
    data = "\n".join(json.dumps(result(n)) for n in range(3000)).encode()
    path = tmp_path / "x.json.gz"
    packed = gzip.compress(data)
    path.write_bytes(packed[: len(packed) // 2])
    files = AtlasFiles([path])
    found = vantages(files)
    assert found == [f"atlas-{n}" for n in range(len(found))]
    assert len(found) > 100
    assert files.reasons["damaged"] == 1
    path.write_bytes(gzip.compress(data[:1000]) + gzip.compress(data[1000:]))
    assert len(vantages(AtlasFiles([path]))) == 3000


def test_what_is_no_result_at_all_is_told(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"\x00\xff<html>" * 50)
    with pytest.raises(BadInput, match="no JSON object"):
        list(AtlasFiles([path]).pings())
    with pytest.raises(BadInput, match="cannot be read"):
        list(AtlasFiles([tmp_path / "nowhere.json"]).pings())
    for empty in (b"", b"[]", b"[\n]\n"):
        path.write_bytes(empty)
        assert list(AtlasFiles([path]).pings()) == []


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:ab1\\\n ', max_size=80).map(str.encode))
def test_no_octets_stop_the_results_behind_them(tmp_path_factory, junk):
    path = tmp_path_factory.mktemp("j") / "x.json"
    good = json.dumps(result(1)).encode()
    path.write_bytes(good + b"\n" + junk + b"\n" + good + b"\n" + good)
    files = AtlasFiles([path])
    found = vantages(files)
    # An open quote or bracket may take the next line with it, never the last.
    assert found[0] == found[-1] == "atlas-1"
    assert len(found) >= 2


def test_results_within_an_object_of_somebodys_script_are_read(tmp_path):
    for frame in (
        {"info": [result(1), result(2)]},
        {"filter": {"msm_id": 1}, "results": [result(1), result(2)], "probes": {}},
    ):
        path = tmp_path / "framed.json"
        path.write_text(json.dumps(frame, indent=1))
        files = AtlasFiles([path])
        rows = list(rows_of(files, "traceroute"))
        assert [r["vantage"] for r in rows] == ["atlas-1", "atlas-2"]
        assert (files.seen, files.malformed) == (2, 0)
    path.write_text(json.dumps({"meta": {"n": 1}, "results": []}))
    files = AtlasFiles([path])
    assert list(files.traceroutes()) == []
    assert files.reasons == {"other_kind": 1}
