import gzip
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.traffic.readers.line_blocks import Source
from cartography.traffic.tcp_sessions import Sessions
from tests.cartography.traffic.logs import ALICE, AZURE, V6_VIRGINIA, VIRGINIA, read
from tests.cartography.traffic.packets import (
    ACK,
    FIN,
    SYN,
    ethernet,
    hello,
    ipv4,
    ipv6,
    pcap,
    pcapng,
    tcp,
    udp,
)
from tests.examples import examples
from tests.shared import shared_file


def out(body, source=ALICE, target=VIRGINIA, protocol=6):
    return ethernet(ipv4(source, target, protocol, body))


def back(body, **more):
    return out(body, VIRGINIA, ALICE, **more)


TALK = [
    out(tcp(40000, 80, flags=SYN)),
    back(tcp(80, 40000, flags=SYN | ACK)),
    out(tcp(40000, 80, b"GET / HTTP/1.1\r\nAccept: x\r\nHost: www.shop.example\r\n\r\n")),
    back(tcp(80, 40000, b"HTTP/1.1 200 OK\r\n\r\n" + bytes(1000))),
    out(tcp(40000, 80, b"GET /b HTTP/1.1\r\nhost: img.shop.example:80\r\n\r\n")),
]
# Lengths of the IP packets above, without Ethernet's 14 bytes.
TALK_BYTES = sum(len(frame) - 14 for frame in TALK)


def find(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capture"
        path.write_bytes(data)
        source = Source(path)
        rows = {"conn": [], "http": [], "ssl": []}
        for kind, table in Sessions().read(source):
            rows[kind] += table.to_pylist()
    return rows, source


@pytest.mark.parametrize(
    "data",
    [
        pcap(TALK),
        pcap(TALK, order=">"),
        pcap(TALK, nanoseconds=True),
        pcapng(TALK),
        pcapng(TALK, order=">"),
        pcapng(TALK, resolution=9),
        gzip.compress(pcap(TALK), mtime=0),
    ],
    ids=["little", "big", "nanoseconds", "ng", "ng big", "ng nanoseconds", "packed"],
)
def test_it_works(data):
    rows, source = find(data)
    (row,) = rows["conn"]
    assert (row["id.orig_h"], row["id.resp_h"], row["id.resp_p"]) == (ALICE, VIRGINIA, "80")
    assert (row["proto"], row["service"]) == ("tcp", "http")
    assert int(row["orig_ip_bytes"]) + int(row["resp_ip_bytes"]) == TALK_BYTES
    assert (row["orig_pkts"], row["resp_pkts"], row["resp_bytes"]) == ("3", "2", "1019")
    assert row["ts"].startswith("1719792000.")
    assert [r["host"] for r in rows["http"]] == ["www.shop.example", "img.shop.example:80"]
    assert (source.damage, source.tally.total) == ("", 0)


def test_a_capture_is_imported_like_a_log(tmp_path):
    (account,), parts = read(tmp_path, pcap(TALK))
    assert account.clouds.total()["aws"].as_json() == {"rows": 1, "bytes": TALK_BYTES, "flows": 1}
    assert [r["domain"] for r in parts["http"]] == ["shop.example"] * 2
    assert {r["key"] for r in parts["http"]} == {parts["conn"][0]["key"]}


def test_connections_of_two_captures_are_told_apart(tmp_path):
    _, parts = read(tmp_path, pcap(TALK), pcap(TALK))
    assert len({r["key"] for r in parts["conn"]}) == 2


@pytest.mark.parametrize("cuts", [[], [100], [6, 700, 1400]])
def test_a_server_name_is_found_however_the_hello_is_cut(cuts):
    said = hello("secret.shop.example", padding=1800)
    edges = [0, *cuts, len(said)]
    frames = [out(tcp(40000, 443, flags=SYN, sequence=9))] + [
        out(tcp(40000, 443, said[a:b], sequence=10 + a))
        for a, b in zip(edges, edges[1:], strict=False)
    ]
    # What is sent again must not be heard twice.
    frames.insert(3, frames[1])
    rows, _ = find(pcap(frames))
    assert [r["server_name"] for r in rows["ssl"]] == ["secret.shop.example"]
    assert rows["conn"][0]["service"] == "ssl"


def test_a_hello_of_many_records_is_joined():
    said = hello("a.shop.example")
    half = (len(said) - 5) // 2
    parts = [said[5 : 5 + half], said[5 + half :]]
    data = b"".join(b"\x16\x03\x01" + len(p).to_bytes(2) + p for p in parts)
    rows, _ = find(pcap([out(tcp(40000, 443, data))]))
    assert rows["ssl"][0]["server_name"] == "a.shop.example"


def test_tags_links_and_families():
    packet = ipv6(V6_VIRGINIA, "2001:db8:9::1", 17, udp(53, 5353, bytes(20)))
    cooked = bytes(14) + b"\x86\xdd" + packet
    for data in (
        pcap([ethernet(packet)]),
        pcap([ethernet(packet, 5, 6)]),
        pcap([packet], link=101),
        pcap([cooked], link=113),
        pcap([b"\x86\xdd" + bytes(18) + packet], link=276),
        pcap([bytes(4) + packet], link=0),
    ):
        rows, source = find(data)
        (row,) = rows["conn"]
        # The first packet seen is an answer: its port listens.
        assert (row["id.resp_h"], row["id.resp_p"]) == (V6_VIRGINIA, "53")
        assert (row["resp_ip_bytes"], row["service"], source.tally.total) == ("68", "dns", 0)


def test_what_is_no_packet_of_ip_is_counted():
    frames = [
        out(tcp(40000, 80)),
        bytes(12) + b"\x08\x06" + bytes(28),
        bytes(10),
        out(b"\x01"),
        ethernet(ipv4(ALICE, AZURE, 1, b"\x08\x00" + bytes(6))),
    ]
    rows, source = find(pcap(frames))
    assert source.tally.as_json() == {
        "broken or cut within its headers": {"count": 2, "first_lines": [3, 4]},
        "not IP": {"count": 1, "first_lines": [2]},
    }
    assert sorted(r["proto"] for r in rows["conn"]) == ["icmp", "tcp"]
    _, source = find(pcap([b"x"], link=147))
    assert list(source.tally.counts) == ["link type 147, which is not read"]


def test_ports_used_again_are_another_connection():
    end = out(tcp(40000, 80, flags=FIN | ACK))
    rows, _ = find(pcap([*TALK, end, *TALK]))
    assert [r["orig_pkts"] for r in rows["conn"]] == ["4", "3"]
    silent = [(100, out(udp(5000, 99), protocol=17)), (200, out(udp(5000, 99), protocol=17))]
    rows, _ = find(pcap(silent))
    assert len(rows["conn"]) == 2


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_a_cut_or_mangled_capture_never_breaks(data):
    whole = bytearray(data.draw(st.sampled_from([pcap(TALK), pcapng(TALK)])))
    for at in data.draw(st.lists(st.integers(4, len(whole) - 1), max_size=6)):
        whole[at] = data.draw(st.integers(0, 255))
    rows, source = find(bytes(whole[: data.draw(st.integers(4, len(whole)))]))
    assert sum(int(r["orig_pkts"]) + int(r["resp_pkts"]) for r in rows["conn"]) <= len(TALK)


def test_a_cut_capture_says_so():
    for data in (pcap(TALK), pcapng(TALK)):
        rows, source = find(data[:-30])
        assert "ends within" in source.damage
        assert rows["conn"][0]["orig_pkts"] == "2"


@pytest.mark.parametrize("name", ["ndpi-netflix", "ndpi-443-firefox"])
def test_real_captures_have_the_packets_bytes_and_flows_that_another_tool_counts(name):
    """nDPI counts whole frames: Ethernet's header, and what fills frames up to 60 bytes."""
    rows, source = find(shared_file(f"pcap/{name}.pcap.gz").read_bytes())
    text = gzip.decompress(shared_file(f"pcap/{name}.pcap.expected.txt.gz").read_bytes()).decode()
    table = re.findall(r"^[\w.]+\t(\d+)\t(\d+)\t(\d+)", text, re.MULTILINE)
    packets, n_bytes, flows = (sum(int(row[i]) for row in table) for i in range(3))
    own = sum(int(r["orig_pkts"]) + int(r["resp_pkts"]) for r in rows["conn"])
    size = sum(int(r["orig_ip_bytes"]) + int(r["resp_ip_bytes"]) for r in rows["conn"]) + 14 * own
    assert (own, len(rows["conn"]), source.tally.total) == (packets, flows, 0)
    assert 0 <= n_bytes - size <= 0.001 * n_bytes
