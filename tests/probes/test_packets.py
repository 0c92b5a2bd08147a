import struct
from hashlib import blake2b

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.kinds.system_traceroute import read_output
from probes.packets import headers
from probes.packets.hops import Reply, count_paths
from probes.packets.mda import MultipathDetection, flows_needed
from testbed.namespaces.multipath import UNEXPLAINED, chance_of, count_incomplete
from tests.examples import examples

ENDS4 = (bytes([192, 0, 2, 1]), bytes([198, 51, 100, 7]))
ENDS6 = (bytes(range(16)), bytes(range(16, 32)))
PORTS = (40_000, 33_434)


def summed(ends, protocol, packet):
    return headers.checksum(headers.pseudo_header(*ends, protocol, len(packet)) + packet)


@settings(deadline=None)
@given(st.sampled_from([ENDS4, ENDS6]), st.integers(1, 0xFFFE), st.integers(1, 0xFFFF))
def test_a_datagram_carries_its_tag_as_a_true_checksum(ends, tag, port):
    packet = headers.udp_datagram(ends, (port, 33_434), tag)
    assert struct.unpack("!HHHH", packet[:8]) == (port, 33_434, len(packet), tag)
    assert summed(ends, headers.UDP, packet) in (0, 0xFFFF)


@settings(deadline=None)
@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFE), st.integers(0, 0xFFFF))
def test_echo_requests_of_a_flow_share_their_checksum(identifier, flow, sequence):
    def sum_of(number):
        packet = headers.echo_request(4, identifier, number, headers.balanced_payload(number, flow))
        assert headers.checksum(packet) in (0, 0xFFFF)
        return packet[2:4]

    # Zero has two spellings in one's complement.
    same = {b"\0\0", b"\xff\xff"}
    assert sum_of(sequence) == sum_of(1) or {sum_of(sequence), sum_of(1)} <= same


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_syn_is_read_back(sequence):
    packet = headers.syn_segment(ENDS4, (40_000, 80), sequence)
    assert summed(ENDS4, headers.TCP, packet) in (0, 0xFFFF)
    found = headers.read_segment(packet)
    assert (found.source_port, found.port, found.flags) == (40_000, 80, headers.SYN)


@settings(deadline=None)
@given(st.binary(max_size=100), st.sampled_from([4, 6]))
def test_readers_survive_any_octets(data, family):
    headers.strip_ipv4(data)
    quote = headers.read_quote(family, data)
    assert quote is None or len(quote.transport) >= 8
    headers.read_echo(family, data)
    headers.read_segment(data)
    for kind in (headers.TIME_EXCEEDED[family], headers.UNREACHABLE[family]):
        headers.read_quote(family, bytes([kind]) + data)


def test_a_quote_tells_whose_packet_it_was():
    inner = bytes([0x45, *[0] * 8, 17, 0, 0, *ENDS4[0], *ENDS4[1]])
    datagram = headers.udp_datagram(ENDS4, PORTS, 77)
    found = headers.read_quote(4, bytes([11, 0, *[0] * 6]) + inner + datagram[:8])
    assert (found.protocol, found.destination) == (17, ENDS4[1])
    assert found.transport[6:8] == (77).to_bytes(2, "big")


def test_the_stopping_rule_is_the_published_one():
    assert [flows_needed(n, 0.05) for n in range(6)] == [6, 6, 11, 16, 21, 27]


class Network:
    """A world of hops: the next routers of each router, chosen by a hash of the flow."""

    def __init__(self, after, seed):
        self.after, self.seed, self.sent = after, seed, 0

    def send(self, places):
        self.sent += len(places)
        return [self.reply(ttl, flow) for ttl, flow in places]

    def reply(self, ttl, flow):
        at = "start"
        for hop in range(ttl):
            ways = self.after.get(at)
            if ways is None:
                break
            key = f"{self.seed} {at} {flow} {hop}".encode()
            at = ways[int.from_bytes(blake2b(key, digest_size=8).digest()) % len(ways)]
        if at.startswith("*"):
            return Reply(ttl, flow)
        return Reply(ttl, flow, at, 1.0, "target" if at == "end" else "hop")


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
def test_all_ways_of_a_balanced_network_are_found(seed, width, second):
    after = {"start": ["a"], "a": [f"b{i}" for i in range(width)]}
    for i in range(width):
        after[f"b{i}"] = [f"c{i}{j}" for j in range(second)]
        after |= {f"c{i}{j}": ["d"] for j in range(second)}
    after["d"] = ["end"]
    search = MultipathDetection(Network(after, seed).send, "end", risk=1e-9)
    search.explore(20, 3)
    assert count_paths(tuple(sorted(search.links))) == width * second
    assert {b for t, _, b in search.links if t == 2} == {
        f"c{i}{j}" for i in range(width) for j in range(second)
    }


@pytest.mark.parametrize("width", [2, 3, 5])
def test_balancers_are_incomplete_no_more_often_than_the_stopping_rule_states(width):
    """For two next hops the rule is exact: 6 flows on one side, 1 in 32, are as frequent."""
    risk, runs, incomplete = 0.05, 2_000, 0
    after = {"start": ["a"], "a": [f"b{i}" for i in range(width)]}
    after |= {f"b{i}": ["end"] for i in range(width)}
    ways = [["a", f"b{i}", "end"] for i in range(width)]
    for seed in range(runs):
        search = MultipathDetection(Network(after, seed).send, "end", risk=risk)
        search.explore(5, 3)
        seen = {(t + 1, b) for t, _, b in search.links}
        balancers, missed = count_incomplete(ways, seen)
        assert balancers == 1
        incomplete += missed
    assert chance_of(incomplete, runs, risk) > UNEXPLAINED
    assert incomplete > 0
    if width == 2:
        assert abs(incomplete - runs / 32) < 4 * (runs / 32) ** 0.5


def test_hops_behind_a_missed_hop_are_not_counted_again():
    ways = [["a", "b", "d", "end"], ["a", "c", "e", "end"], ["a", "c", "f", "end"]]
    everything = {(t, hop) for way in ways for t, hop in enumerate(way, 1)}
    assert count_incomplete(ways, everything) == (2, 0)
    behind = {(2, "c"), (3, "e"), (3, "f")}
    assert count_incomplete(ways, everything - behind) == (1, 1)
    assert count_incomplete(ways, everything - {(3, "f")}) == (2, 1)
    assert chance_of(0, 100, 0.001) == 1.0
    assert chance_of(1, 100, 0.001) == pytest.approx(1 - 0.999**100)


def test_a_silent_hop_does_not_end_the_search_and_endless_silence_does():
    through = Network({"start": ["a"], "a": ["*"], "*": ["b", "c"], "b": ["end"], "c": ["end"]}, 1)
    search = MultipathDetection(through.send, "end", risk=1e-6)
    search.explore(20, 3)
    assert {b for t, _, b in search.links if t == 2} == {"b", "c"}
    silent = Network({"start": ["a"], "a": ["*1"], "*1": ["*1"]}, 1)
    search = MultipathDetection(silent.send, "end")
    search.explore(200, 3)
    assert silent.sent < 100


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_what_lies_behind_a_silent_router_beside_others_is_found(seed, width):
    """One way of a balancer is silent, and leads to a router of its own."""
    ways = ["*0", *(f"b{i}" for i in range(1, width))]
    after = {"start": ["a"], "a": ways, **{w: [f"c{i}"] for i, w in enumerate(ways)}}
    after |= {f"c{i}": ["end"] for i in range(width)}
    search = MultipathDetection(Network(after, seed).send, "end", risk=1e-9)
    search.explore(20, 3)
    assert {(a, b) for t, a, b in search.links if t == 2} == {
        ("*", "c0"),
        *((f"b{i}", f"c{i}") for i in range(1, width)),
    }


def test_a_packet_that_was_lost_makes_no_router_of_its_own():
    """One flow's answer never came: what it leads to has been found behind who answered."""
    network = Network({"start": ["a"], "a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["end"]}, 3)

    def send(places):
        return [
            Reply(*p) if p == (2, 11) else r
            for p, r in zip(places, network.send(places), strict=True)
        ]

    search = MultipathDetection(send, "end", risk=1e-6)
    search.explore(20, 3)
    assert search.silent_at == {2}
    assert {(a, b) for t, a, b in search.links if t == 2 and a != "*"} == {("b", "d"), ("c", "d")}
    assert {b for t, _, b in search.links if t == 2} == {"d"}


OUTPUT = """traceroute to 198.51.100.7 (198.51.100.7), 30 hops max, 60 byte packets
 1  192.0.2.1  0.461 ms  0.423 ms  0.398 ms
 2  * * *
 3  203.0.113.1  10.5 ms 203.0.113.2  11.5 ms  12.5 ms
 4  203.0.113.9  9.0 ms !X * *
 5  198.51.100.7  20.0 ms  21.0 ms  22.0 ms
"""


def test_the_systems_own_text_is_read():
    found = read_output(OUTPUT, "198.51.100.7")
    assert [(r.ttl, r.address, r.rtt_ms, r.kind) for r in found] == [
        (1, "192.0.2.1", 0.461, "hop"),
        (1, "192.0.2.1", 0.423, "hop"),
        (1, "192.0.2.1", 0.398, "hop"),
        *[(2, None, None, "silent")] * 3,
        (3, "203.0.113.1", 10.5, "hop"),
        (3, "203.0.113.2", 11.5, "hop"),
        (3, "203.0.113.2", 12.5, "hop"),
        (4, "203.0.113.9", 9.0, "prohibited"),
        *[(4, None, None, "silent")] * 2,
        (5, "198.51.100.7", 20.0, "target"),
        (5, "198.51.100.7", 21.0, "target"),
        (5, "198.51.100.7", 22.0, "target"),
    ]


@settings(deadline=None)
@given(st.text(max_size=200))
def test_text_of_any_kind_is_survived(text):
    read_output(text, "198.51.100.7")
    read_output(f" 1  {text}", "198.51.100.7")
