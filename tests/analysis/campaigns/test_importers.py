import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.campaigns.aggregation.grid import summarise
from analysis.campaigns.importers import public_matrices
from analysis.campaigns.importers.globalping import convert, read_globalping
from analysis.campaigns.importers.mlab import read_mlab
from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.campaigns.importers.scamper import read_scamper
from analysis.campaigns.importers.wondernetwork import read_city_pings
from core.errors import BadInput
from tests.examples import examples
from tests.shared import shared_file

TRACE = {
    "type": "traceroute",
    "prb_id": 7,
    "timestamp": 1_675_968_283,
    "dst_name": "target.example",
    "dst_addr": "52.0.0.1",
    "src_addr": "192.168.1.2",
    "from": "4.1.0.9",
    "proto": "ICMP",
    "af": 4,
    "paris_id": 3,
    "result": [
        {"hop": 1, "result": [{"from": "192.168.1.1", "rtt": 1.5}, {"x": "*"}]},
        {"hop": 2, "result": [{"late": 2, "from": "192.168.1.1"}, {"x": "*"}]},
        {"hop": 3, "error": "sendto failed"},
        {"hop": 4, "result": [{"from": "52.0.0.1", "rtt": 20.25, "err": "H"}]},
    ],
}
PING = {
    "type": "ping",
    "prb_id": 7,
    "timestamp": 1_675_968_283,
    "dst_addr": "52.0.0.1",
    "proto": "ICMP",
    "sent": 4,
    "result": [{"rtt": 10.5}, {"x": "*"}, {"rtt": 12.5}],
}


def write(path, *results, lines=False):
    text = "\n".join(map(json.dumps, results)) if lines else json.dumps(list(results), indent=1)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    ("name", "lines"),
    [("a.json", False), ("a.json", True), ("a.json.gz", False), ("a.jsonl.gz", True)],
)
def test_atlas_traceroutes_become_paths(tmp_path, name, lines):
    files = AtlasFiles([write(tmp_path / name, TRACE, PING, lines=lines)])
    (found,) = (row for table in files.traceroutes() for row in table.to_pylist())
    assert (files.seen, files.read, files.malformed) == (2, 1, 1)
    assert (found["vantage"], found["target"], found["flow"]) == ("atlas-7", "target.example", 3)
    assert (found["source"], found["destination"]) == ("192.168.1.2", "52.0.0.1")
    assert (found["round"], found["reached"], found["status"]) == (1_675_968_283 // 900, True, "OK")
    assert [(h["ttl"], h["address"], h["rtt_ms"]) for h in found["hops"]] == [
        (1, "192.168.1.1", 1.5),
        (1, None, None),
        (2, None, None),
        (2, None, None),
        (4, "52.0.0.1", 20.25),
    ]


def test_atlas_pings_become_samples_and_lost_ones_are_counted(tmp_path):
    dead = {**PING, "prb_id": 8, "sent": 3, "result": [{"x": "*"}] * 3}
    error = {**PING, "prb_id": 9, "result": [{"error": "connect failed"}]}
    files = AtlasFiles([write(tmp_path / "p.json", PING, TRACE, dead, error)])
    found = [row for table in files.pings() for row in table.to_pylist()]
    assert [(r["vantage"], r["sent"], r["values"], r["status"]) for r in found] == [
        ("atlas-7", 4, [10.5, 12.5], "OK"),
        ("atlas-8", 3, [], "TIMEOUT"),
        ("atlas-9", 4, [], "UNREACHABLE"),
    ]
    assert files.malformed == 1


def test_second_replies_to_one_packet_are_not_counted(tmp_path):
    twice = {
        **PING,
        "sent": 3,
        "result": [
            {"rtt": 10.0},
            {"dup": 1, "rtt": 10.5},
            {"rtt": 11.0, "dup": 0},
            {"x": "*"},
        ],
    }
    trace = {
        **TRACE,
        "result": [
            {
                "hop": 1,
                "result": [
                    {"from": "4.1.0.1", "rtt": 1.0},
                    {"dup": True, "from": "4.1.0.2", "rtt": 2.0},
                    {"from": "4.1.0.1", "rtt": 1.5, "dup": False},
                ],
            }
        ],
    }
    # The second form has a letter that only the slower reader takes.
    for extra in ({}, {"dst_name": "ü.example"}):
        path = write(tmp_path / "d.json", {**twice, **extra}, {**trace, **extra})
        (ping,) = (row for table in AtlasFiles([path]).pings() for row in table.to_pylist())
        assert (ping["sent"], ping["values"]) == (3, [10.0, 11.0])
        (found,) = (r for t in AtlasFiles([path]).traceroutes() for r in t.to_pylist())
        assert [h["address"] for h in found["hops"]] == ["4.1.0.1", "4.1.0.1"]


def test_what_a_probe_could_not_do_is_told_from_what_did_not_answer(tmp_path):
    nameless = {k: v for k, v in TRACE.items() if k != "dst_addr"}
    error = [{"error": "name resolution failed: non-recoverable failure (1)"}]
    path = write(
        tmp_path / "e.json",
        {**nameless, "result": error},
        {**TRACE, "result": error},
        {**TRACE, "result": [{"hop": 1, "result": [{"x": "*"}]}]},
    )
    found = [row for table in AtlasFiles([path]).traceroutes() for row in table.to_pylist()]
    assert [r["status"] for r in found] == ["NO_NAME", "UNREACHABLE", "TIMEOUT"]
    assert [r["hops"] for r in found[:2]] == [[], []]


def test_results_with_wrong_types_lose_only_what_is_wrong(tmp_path):
    odd = {
        **TRACE,
        "paris_id": "seven",
        "result": [
            {"hop": 1, "result": [{"from": "4.1.0.1", "rtt": "fast"}]},
            {"hop": "two", "result": "nothing"},
            5,
        ],
    }
    no_probe = {**TRACE, "prb_id": "who"}
    dns = {"type": "dns", "prb_id": 1, "timestamp": 2, "result": {"abuf": "x"}}
    files = AtlasFiles([write(tmp_path / "o.json", odd, no_probe, dns)])
    (found,) = (row for table in files.traceroutes() for row in table.to_pylist())
    assert (found["flow"], files.malformed) == (0, 2)
    assert [(h["ttl"], h["address"], h["rtt_ms"]) for h in found["hops"]] == [(1, "4.1.0.1", None)]
    broken = tmp_path / "broken.json"
    broken.write_text('[{"type": "ping", ')
    with pytest.raises(BadInput, match="cannot be read"):
        list(AtlasFiles([broken]).pings())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-300, 300) | st.floats(allow_nan=False) | st.text(),
    lambda own: st.lists(own, max_size=3) | st.dictionaries(st.text(max_size=5), own, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.just("traceroute"),
                "prb_id": st.integers(0, 9) | JSON,
                "timestamp": st.integers(0, 2**31) | JSON,
                "result": JSON,
            },
            optional={"dst_addr": JSON, "paris_id": JSON, "proto": JSON},
        ),
        max_size=4,
    )
)
def test_no_atlas_result_of_whatever_shape_breaks_the_others(tmp_path_factory, odd):
    path = write(tmp_path_factory.mktemp("a") / "x.json", *odd, TRACE)
    files = AtlasFiles([path])
    found = [row for table in files.traceroutes() for row in table.to_pylist()]
    assert found[-1]["vantage"] == "atlas-7"
    assert files.seen == len(odd) + 1
    assert files.read == len(found)


def test_real_atlas_files_are_read_as_their_own_words_say():
    for name, kind in (("trace_49857308", "trace"), ("ping-sample-2023", "ping")):
        path = shared_file(f"traceroute/ripe-atlas-{name}.json.gz")
        raw = json.loads(gzip.decompress(path.read_bytes()))
        files = AtlasFiles([path])
        if kind == "trace":
            rows = [r for t in files.traceroutes() for r in t.to_pylist()]
            own = [x for r in raw for h in r["result"] for x in h["result"]]
            assert sum(len(r["hops"]) for r in rows) == len(own)
            named = sum("from" in x and "late" not in x for x in own)
            assert sum(h["address"] is not None for r in rows for h in r["hops"]) == named
        else:
            rows = [r for t in files.pings() for r in t.to_pylist()]
            assert sum(r["sent"] for r in rows) == sum(r["sent"] for r in raw)
            rtts = [x["rtt"] for r in raw for x in r["result"] if "rtt" in x]
            assert sum(map(len, (r["values"] for r in rows))) == len(rtts)
        assert (len(rows), files.malformed) == (len(raw), 0)


SCAMPER = {
    "type": "trace",
    "method": "udp-paris",
    "src": "52.0.0.9",
    "dst": "4.2.0.9",
    "firsthop": 1,
    "hop_count": 4,
    "start": {"sec": 1800, "usec": 5},
    "hops": [
        {"addr": "10.0.0.1", "probe_ttl": 1, "rtt": 0.5},
        {"addr": "10.0.0.1", "probe_ttl": 1, "rtt": 0.6},
        {"addr": "4.1.0.1", "probe_ttl": 3, "rtt": 9.0},
        {"addr": "4.2.0.9", "probe_ttl": 4, "rtt": 11.0},
    ],
}


def test_scamper_traces_become_paths_with_their_silent_hops(tmp_path):
    path = write(
        tmp_path / "s.jsonl", {"type": "cycle-start"}, SCAMPER, {"type": "trace"}, lines=True
    )
    found = read_scamper([path])
    assert found.reasons == {"odd": 1}
    (found,) = found.paths.to_pylist()
    assert (found["round"], found["reached"], found["destination"]) == (2, True, "4.2.0.9")
    assert [(h["ttl"], h["address"]) for h in found["hops"]] == [
        (1, "10.0.0.1"),
        (1, "10.0.0.1"),
        (2, None),
        (3, "4.1.0.1"),
        (4, "4.2.0.9"),
    ]


def test_scamper_pings_become_samples(tmp_path):
    def reply(seq, **extra):
        usual = {"icmp_type": 0, "icmp_code": 0, "rtt": 10.0 + seq, "from": "4.2.0.9"}
        return {"seq": seq, **usual, **extra}

    ping = {
        "type": "ping",
        "version": "0.4",
        "method": "icmp-echo",
        "src": "::ffff:52.0.0.9",
        "dst": "::ffff:4.2.0.9",
        "start": {"sec": 1800, "usec": 5},
        "ping_sent": 4,
        "responses": [
            reply(0),
            reply(0, rtt=99.0),
            reply(1),
            reply(2, icmp_type=3, icmp_code=1),
        ],
    }
    udp = {**ping, "method": "udp", "responses": [reply(1, icmp_type=3, icmp_code=3)]}
    tcp = {**ping, "method": "tcp-ack", "responses": [{"seq": 0, "rtt": 7.5, "tcp_flags": 4}]}
    gone = {**ping, "responses": [reply(0, icmp_type=11, **{"from": "4.1.0.1"})]}
    dead = {**ping, "responses": []}
    framed = {"Metadata": {"UUID": "x"}, "Ping": tcp}
    dealias = {"type": "dealias"}
    found = read_scamper([write(tmp_path / "p.jsonl.gz", ping, udp, framed, gone, dead, dealias)])
    rows = found.samples.to_pylist()
    assert [(r["probe"], r["sent"], r["values"], r["status"]) for r in rows] == [
        ("ping-icmp-echo", 4, [10.0, 11.0], "OK"),
        ("ping-udp", 4, [11.0], "OK"),
        ("ping-tcp-ack", 4, [7.5], "OK"),
        ("ping-icmp-echo", 4, [], "UNREACHABLE"),
        ("ping-icmp-echo", 4, [], "TIMEOUT"),
    ]
    assert {(r["vantage"], r["target"]) for r in rows} == {("52.0.0.9", "4.2.0.9")}
    assert found.reasons == {"other_kind": 1}


def link(address, ttl, flows):
    replies = [{"rtt": 5.0}]
    probes = [{"ttl": ttl, "flowid": f, "replies": replies if address else []} for f in flows]
    return {"addr": address or "*", "probes": probes}


def test_multipath_traces_become_one_path_per_flow(tmp_path):
    trace = {
        **{k: SCAMPER[k] for k in ("src", "dst", "start", "firsthop")},
        "type": "tracelb",
        "method": "udp-sport",
        "nodes": [
            {"addr": "10.0.0.1", "links": [[link("4.1.0.1", 2, [1]), link("4.2.0.1", 2, [2, 3])]]},
            {"addr": "4.1.0.1", "links": [[link("4.2.0.9", 3, [1])]]},
            {"addr": "4.2.0.1", "links": [[link("4.2.0.9", 3, [2])]]},
        ],
    }
    told = read_scamper([write(tmp_path / "m.jsonl", trace, lines=True)])
    found = {r["flow"]: [h["address"] for h in r["hops"]] for r in told.paths.to_pylist()}
    assert told.malformed == 0
    assert found == {
        1: ["10.0.0.1", "4.1.0.1", "4.2.0.9"],
        2: ["10.0.0.1", "4.2.0.1", "4.2.0.9"],
        # Flow 3 was not sent to the last hop, where there is one router only.
        3: ["10.0.0.1", "4.2.0.1", "4.2.0.9"],
    }


def test_real_multipath_traces_are_read():
    for name, flows in (("complex", 6), ("star", 6)):
        path = shared_file(f"traceroute/scamper-mda-valid-{name}.jsonl")
        found = read_scamper([path])
        assert (found.paths.num_rows, found.malformed) == (flows, 0)
    complex_one = read_scamper([shared_file("traceroute/scamper-mda-valid-complex.jsonl")]).paths
    first = complex_one.to_pylist()[0]["hops"]
    assert [h["address"] for h in first][:3] == [
        "2001:550:1b01:1::1",
        "2001:550:3::1ca",
        "2600:803::79",
    ]
    with pytest.raises(BadInput, match="line 1"):
        read_scamper([shared_file("traceroute/imc21-asn-paths-BH.csv.gz")])


PROBE = {"country": "DE", "city": "Falkenstein", "asn": 24940}
MEASUREMENT = {
    "id": "x",
    "type": "ping",
    "status": "finished",
    "target": "t.example",
    "createdAt": "2024-03-01T12:00:00.000Z",
    "results": [
        {
            "probe": PROBE,
            "result": {
                "status": "finished",
                "resolvedAddress": "52.0.0.1",
                "timings": [{"ttl": 50, "rtt": 10.0}, {"ttl": 50, "rtt": 11.0}],
                "stats": {"total": 3, "rcv": 2, "drop": 1},
            },
        },
        {"probe": PROBE, "result": {"status": "failed", "rawOutput": "ping: unknown host"}},
        {"probe": PROBE, "result": {"status": "finished", "timings": [], "stats": {"total": 3}}},
        {"probe": PROBE},
    ],
}


def test_globalping_measurements_become_samples(tmp_path):
    found = read_globalping([write(tmp_path / "g.json", MEASUREMENT)])
    rows = found.samples.to_pylist()
    assert [(r["status"], r["sent"], r["values"]) for r in rows] == [
        ("OK", 3, [10.0, 11.0]),
        ("NETWORK", 0, []),
        ("TIMEOUT", 3, []),
    ]
    assert rows[0]["vantage"] == "globalping-DE/Falkenstein/24940/0"
    assert len({r["vantage"] for r in rows}) == 3
    assert "unknown host" in rows[1]["reason"]
    assert (found.malformed, found.paths.num_rows) == (1, 0)


def test_globalping_page_loads_and_traceroutes():
    timings = {"total": 30, "dns": 5, "tcp": 6, "tls": 7, "firstByte": 8, "download": 4}
    page = {
        **MEASUREMENT,
        "type": "http",
        "results": [{"probe": PROBE, "result": {"status": "finished", "timings": timings}}],
    }
    trace = {
        **MEASUREMENT,
        "type": "traceroute",
        "results": [
            {
                "probe": PROBE,
                "result": {
                    "status": "finished",
                    "resolvedAddress": "52.0.0.1",
                    "hops": [
                        {"resolvedAddress": "10.0.0.1", "timings": [{"rtt": 1.0}, {"rtt": 2.0}]},
                        {"resolvedAddress": None, "timings": []},
                        {"resolvedAddress": "52.0.0.1", "timings": [{"rtt": 9.0}]},
                    ],
                },
            }
        ],
    }
    found = convert([page, trace, {"type": "ping"}])
    (sample,), (path,) = found.samples.to_pylist(), found.paths.to_pylist()
    assert (sample["values"], json.loads(sample["detail"])) == ([30.0], timings)
    assert [(h["ttl"], h["address"]) for h in path["hops"]] == [
        (1, "10.0.0.1"),
        (1, "10.0.0.1"),
        (2, None),
        (3, "52.0.0.1"),
    ]
    assert (path["reached"], found.malformed) == (True, 1)


def test_globalping_steps_without_an_answer_are_packets_all_the_same():
    def stats(total, heard):
        return {"total": total, "rcv": heard, "drop": total - heard, "loss": 0}

    hops = [
        {"resolvedAddress": "10.0.0.1", "stats": stats(3, 3), "timings": [{"rtt": 1.0}] * 3},
        {"resolvedAddress": "4.1.0.1", "stats": stats(3, 1), "timings": [{"rtt": 2.0}]},
        {"resolvedAddress": None, "stats": stats(3, 0), "timings": []},
        {"resolvedAddress": "52.0.0.1", "stats": stats(2, 2), "timings": [{"rtt": 9.0}] * 2},
    ]
    mtr = {
        **MEASUREMENT,
        "type": "mtr",
        "results": [
            {
                "probe": PROBE,
                "result": {"status": "finished", "resolvedAddress": "52.0.0.1", "hops": hops},
            }
        ],
    }
    steps = [
        {"resolver": None, "timings": {"total": 4}, "answers": []},
        {"resolver": "192.0.2.1", "timings": {"total": 6}, "answers": []},
    ]
    names = {
        **MEASUREMENT,
        "type": "dns",
        "results": [{"probe": PROBE, "result": {"status": "finished", "hops": steps}}],
    }
    found = convert([mtr, names])
    (path,), (sample,) = found.paths.to_pylist(), found.samples.to_pylist()
    assert [(h["ttl"], h["address"]) for h in path["hops"]] == [
        *[(1, "10.0.0.1")] * 3,
        (2, "4.1.0.1"),
        (2, None),
        (2, None),
        *[(3, None)] * 3,
        *[(4, "52.0.0.1")] * 2,
    ]
    assert (sample["values"], sample["sent"], found.malformed) == ([10.0], 1, 0)


def test_globalping_measurements_may_stand_one_a_line_and_packed(tmp_path):
    lines = write(tmp_path / "g.jsonl.gz", MEASUREMENT, MEASUREMENT, lines=True)
    found = read_globalping([lines, write(tmp_path / "g.json", MEASUREMENT)])
    assert (len(found.samples), found.reasons) == (9, {"odd": 3})
    (tmp_path / "bad.json").write_text('[\n {"type":\n ]')
    with pytest.raises(BadInput, match="line 3"):
        read_globalping([tmp_path / "bad.json"])


def test_square_tables_leave_out_nodes_to_themselves(tmp_path):
    for number in (1, 2):
        (tmp_path / f"{number}.txt").write_text(f"0 {number}0\n{number}5 0\n")
    table = public_matrices.read_planetlab([tmp_path / "1.txt", tmp_path / "2.txt"])
    found = summarise(table).to_pylist()
    assert [(r["region"], r["vantage"], r["n"], r["mean"]) for r in found] == [
        ("0", "1", 2, 15.0),
        ("1", "0", 2, 20.0),
    ]


def test_seconds_become_milliseconds_and_gaps_are_lost(tmp_path):
    (tmp_path / "s.txt").write_text("0 0.25\n0 0\n")
    found = summarise(public_matrices.read_planetlab([tmp_path / "s.txt"], scale=1e3)).to_pylist()
    assert sorted((r["n"], r["sent"], r["mean"]) for r in found if r["n"]) == [(1, 1, 250.0)]
    assert sum(r["lost"] for r in found) == 1


def test_real_matrices_are_read():
    ping = public_matrices.read_cloudping(
        shared_file("latency/aws-interregion-cloudping-p50-1y-2022-04.json")
    )
    grid = {(r["vantage"], r["region"]): r["mean"] for r in summarise(ping).to_pylist()}
    assert grid["aws/af-south-1", "us-east-1"] == pytest.approx(221.1, abs=1e-4)
    cities = shared_file("latency/wondernetwork/pings-2018-11-sources-odd.csv.xz")
    wonder = read_city_pings(cities, regions=["Albany", "Adelaide"])
    means = {(r["vantage"], r["region"]): r["mean"] for r in summarise(wonder).to_pylist()}
    assert means["Adelaide", "Albany"] == pytest.approx(266.75, abs=1e-4)


def test_speed_tests_become_rates_and_round_trips(tmp_path):
    path = tmp_path / "ndt.csv"
    path.write_text(
        "TestTime,ClientASN,Site,MeanThroughputMbps,MinRTT,LossRate\n"
        "2024-01-01 00:15:00 UTC,64500,lga01,80.0,12.5,0.01\n"
        "2024-01-01T00:16:00Z,64500,lga01,,,\n"
    )
    rates, rtts = read_mlab(path)
    assert rates.column("values").to_pylist() == [[10_000_000.0], []]
    assert rtts.column("values").to_pylist() == [[12.5], []]
    assert rates.column("round").to_pylist() == [1_704_068_100 // 900] * 2
    path.write_text("TestTime,ClientASN,Site,MeanThroughputMbps\n2024-01-01,1,x,fast\n")
    with pytest.raises(BadInput, match="line 2"):
        read_mlab(path)
    path.write_text("TestTime,Site,MeanThroughputMbps\n")
    with pytest.raises(BadInput, match=r"ClientASN.*there are: TestTime, Site, MeanThroughputMbps"):
        read_mlab(path)


@pytest.mark.parametrize(
    "heading",
    [
        "a.TestTime,client.Geo.CountryCode,server.Site,a.MeanThroughputMbps,a.MinRTT,a.LossRate",
        "a_TestTime,client_Network_ASNumber,server_Site,a_MeanThroughputMbps,a_MinRTT,a_LossRate",
        "test_time,client_country,metro,download_mbps,min_rtt_ms,packet_retransmit_rate",
        "log_time,Country,Server,Mbps,RTT,Packet Loss",
    ],
)
def test_speed_tests_are_read_under_the_names_of_any_export(tmp_path, heading):
    path = tmp_path / "ndt.csv"
    path.write_text(
        heading + "\n2024-01-01 00:15:00.123456 UTC,DE,fra,8,12.5,0.5\n"
        "1704067200,DE,fra,null,NaN,\n1704067200000000,DE,fra,16,9,0\n"
    )
    rates, rtts = read_mlab(path)
    assert rates.column("values").to_pylist() == [[1_000_000.0], [], [2_000_000.0]]
    assert rtts.column("values").to_pylist() == [[12.5], [], [9.0]]
    assert rates.column("round").to_pylist() == [1_893_409, 1_893_408, 1_893_408]
    assert rates.column("status").to_pylist() == ["OK", "TIMEOUT", "OK"]


def test_speed_tests_without_round_trips_give_none(tmp_path):
    path = tmp_path / "ndt.csv"
    path.write_text("date,country,site,mbps\n2024-01-01,DE,fra,8\n")
    rates, rtts = read_mlab(path)
    assert (len(rates), len(rtts)) == (1, 0)


def test_daily_pings_of_wondernetwork_make_rounds(tmp_path):
    (tmp_path / "servers.csv").write_text('"id","name","title"\n"4","Albany","x"\n"5","Oslo",y\n')
    path = tmp_path / "pings.csv.gz"
    path.write_bytes(
        gzip.compress(
            b'"source","destination","timestamp","min","avg","max","mdev"\n'
            b'"4","5","2020-07-19 00:03:18","10.1","10.5","11.0","0.2"\n'
            b'"4","4","2020-07-19 00:03:18","0.1","0.1","0.1","0.0"\n'
            b'"4","5","2020-07-19 01:03:18","","","",""\n'
            b'"5","4","2020-07-19 01:04:18","10.1","12.5","11.0","0.2"\n'
        )
    )
    rows = read_city_pings(path, tmp_path / "servers.csv").to_pylist()
    assert [(r["vantage"], r["region"], r["values"]) for r in rows] == [
        ("Albany", "Oslo", [10.5]),
        ("Albany", "Oslo", []),
        ("Oslo", "Albany", [12.5]),
    ]
    assert [r["round"] - rows[0]["round"] for r in rows] == [0, 1, 1]
    path.write_bytes(gzip.compress(b"source,destination,avg\na,b,1\na,c,slow\n"))
    with pytest.raises(BadInput, match="line 3"):
        read_city_pings(path)


def test_lists_of_pairs_are_read_in_their_unit(tmp_path):
    path = tmp_path / "king.txt"
    path.write_text("node 1\nnode 2\n# a word\n1,2 14000\n2,1 16000\n1,1 0\n1,3 -1\n")
    rows = public_matrices.read_pairs(path, scale=1e-3).to_pylist()
    assert [(r["vantage"], r["region"], r["values"], r["status"]) for r in rows] == [
        ("1", "2", [14.0], "OK"),
        ("2", "1", [16.0], "OK"),
        ("1", "3", [], "TIMEOUT"),
    ]
    path.write_text("src;dst;rtt\n1;2;14\n1;2\n")
    with pytest.raises(BadInput, match="line 3"):
        public_matrices.read_pairs(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"metadata": {"unit": "milliseconds"}, "data": {"a-1": {"a-1": 2.5, "b-1": 70}}}',
        '{"a-1": {"a-1": 2.5, "b-1": 70}}',
        '[{"region": "a-1", "averages": [{"regionTo": "a-1", "regionToName": "A", "average": 2.5},'
        ' {"regionTo": "b-1", "average": "70.0"}]}]',
        ",a-1,b-1\na-1,2.5,70\n",
    ],
)
def test_matrices_of_regions_are_read_in_every_form_that_was_published(tmp_path, text):
    path = tmp_path / "m.txt"
    path.write_text(text)
    rows = public_matrices.read_cloudping(path).to_pylist()
    assert [(r["vantage"], r["region"], r["values"]) for r in rows] == [
        ("aws/a-1", "a-1", [2.5]),
        ("aws/a-1", "b-1", [70.0]),
    ]


def test_values_below_zero_are_lost(tmp_path):
    (tmp_path / "s.txt").write_text("0 -1\n5 0\n")
    rows = public_matrices.read_planetlab([tmp_path / "s.txt"]).to_pylist()
    assert sorted((r["values"], r["status"]) for r in rows) == [([], "TIMEOUT"), ([5.0], "OK")]
