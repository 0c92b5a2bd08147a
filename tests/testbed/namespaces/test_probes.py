"""What probes measure in the laboratory, beside what is configured and what others' tools say."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from core.clock import SystemClock
from probes.kinds import dns_latency, icmp_echo, jitter, tcp_ping, throughput, traceroute
from probes.packets.hops import count_paths
from probes.records import ProbeStatus, Target
from tests.testbed.namespaces import parallel_http
from tests.testbed.namespaces.conftest import ROOT, everywhere
from tests.testbed.namespaces.parallel_ping import is_right
from tests.testbed.namespaces.reference import curl

CLOCK = SystemClock()
# One instance of each region.
ENDS = ("us-a", "eu-b", "asia-a", "br-b")
# Vantage points that measure at once: more would only wait for each other on two cores.
AT_ONCE, COUNT, TRIES = 3, 10, 4


def run_parallel_ping(lab, start):
    """What a process of its own saw at a vantage point, our probes and ``ping`` taking turns."""
    ends = {end: (lab.plan.home(end), lab.truth.rtt_ms(start, end)) for end in ENDS}
    asked = json.dumps({"ends": ends, "count": COUNT, "tries": TRIES})
    command = [sys.executable, "-m", "tests.testbed.namespaces.parallel_ping", asked]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def test_rtt_equals_ping_and_topology(lab):
    """Other work on the machine only ever slows packets down: a pair has some tries."""
    found = everywhere(lab, lambda start: run_parallel_ping(lab, start), at_once=AT_ONCE)
    wrong = {
        (start, end): (lab.truth.rtt_ms(start, end), tries)
        for start, own in found.items()
        for end, tries in own.items()
        if not is_right(tries[-1], lab.truth.rtt_ms(start, end))
    }
    assert wrong == {}
    assert sum(map(len, found.values())) == 6 * 4


def test_loss_is_within_its_binomial_interval(lab):
    link = next(n for n in lab.plan.links_by_node["berlin-gw"] if not lab.plan.links[n].line.plain)
    line = lab.plan.links[link].line
    lab.shape(link, replace(line, loss=0.1, rate_mbit=0.0))
    target, sent = Target(lab.plan.home("eu-a")), 500
    stream = jitter.Config(count=sent, interval_s=0.002, timeout_s=0.5)
    found = lab.run_inside("berlin", lambda: jitter.run(target, stream, CLOCK))
    echoes = icmp_echo.Config(count=100, interval_s=0.0, timeout_s=0.04)
    other = lab.run_inside("berlin", lambda: icmp_echo.run(target, echoes, CLOCK))
    lab.shape(link, line)
    # Lost on the way there or back: 0.19, with 4 standard deviations.
    for result in (found, other):
        spread = 4 * (0.19 * 0.81 / result.sent) ** 0.5
        assert result.lost / result.sent == pytest.approx(0.19, abs=spread)


def test_reply_after_retransmission_time_counts_as_lost(lab):
    """After a second, servers answer a SYN again: as late, both methods count it as lost."""
    link = next(n for n in lab.plan.links_by_node["berlin-gw"] if not lab.plan.links[n].line.plain)
    line = lab.plan.links[link].line
    lab.shape(link, replace(line, delay_ms=600.0))
    target = Target(lab.plan.home("eu-a"), 80)
    configs = [tcp_ping.Config(count=1, method=m) for m in ("syn", "connect")]
    found = [lab.run_inside("berlin", lambda c=c: tcp_ping.run(target, c, CLOCK)) for c in configs]
    lab.shape(link, line)
    assert [(f.method, f.lost) for f in found] == [("syn", 1), ("connect", 1)]


@pytest.mark.parametrize(
    ("start", "end", "family"),
    [("berlin", "us-a", 4), ("berlin", "br-a", 6), ("mumbai", "asia-a", 4)],
)
def test_throughput_is_that_of_curl(lab, start, end, family):
    home, octets = lab.plan.home(end, family), 1_000_000
    if shutil.which("curl") is None:
        pytest.skip("there is no curl to compare with")
    path = f"/octets/{octets}"
    own, reference = [], []
    # Other work on the machine only ever slows transfers down: the fastest of up to thirty counts.
    while len(own) < 30 and not (own and max(own) == pytest.approx(max(reference), rel=0.05)):
        target = Target(home, 80, family, path)
        config = throughput.Config(octets=octets)
        found = lab.run_inside(start, lambda t=target, c=config: throughput.run(t, c, CLOCK))
        assert found.status is ProbeStatus.OK
        own.append(found.bytes_per_s)
        reference.append(lab.run_inside(start, lambda: curl(home, path)))
    assert max(own) == pytest.approx(max(reference), rel=0.05), (own, reference)
    # No faster than the narrowest link, headers included.
    assert max(own) < lab.truth.rate_mbit(end, start) * 1e6 / 8


def test_steps_of_http_are_those_of_curl_and_of_the_plan(lab):
    """Name, connection, TLS and first octet of 24 pairs; the server waits for 30 ms."""
    for tool in ("curl", "openssl"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")

    def measure(start):
        ends = {end: (lab.plan.home(end), lab.truth.rtt_ms(start, end)) for end in ENDS}
        asked = json.dumps({"ends": ends, "wait_ms": 30, "least": 2, "tries": 60})
        command = [sys.executable, "-m", "tests.testbed.namespaces.parallel_http", asked]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    found = everywhere(lab, measure, at_once=AT_ONCE)
    wrong = {
        (start, end): result
        for start, own in found.items()
        for end, result in own.items()
        if not parallel_http.is_right(*result[:3])
    }
    assert wrong == {}
    assert sum(map(len, found.values())) == 6 * 4


def test_every_hop_of_every_traceroute_is_right(lab):
    def trace(start):
        wrong = {}
        for end in ENDS:
            for family in (4, 6):
                own = [
                    (p, end, family, path_of(lab, start, end, family, p))
                    for p in ("udp", "icmp", "tcp")
                ]
                wrong |= {row[:3]: row[3] for row in own if row[3]}
        return wrong

    found = everywhere(lab, trace)
    assert found == {start: {} for start in found}


def path_of(lab, start, end, family, protocol):
    """What is wrong with a traceroute: nothing, where its hops are one of the true ways."""
    target = Target(lab.plan.home(end, family), 80 if protocol == "tcp" else 0)
    config = traceroute.Config(protocol=protocol, timeout_s=0.15, window=8)
    path = traceroute.run(target, config, CLOCK)
    ways = [lab.truth.hops(start, w, family) for w in lab.truth.paths(start, end)]
    return (
        ""
        if path.reached and [list(h) for h in path.hops] in [[[a] for a in w] for w in ways]
        else (path.hops, ways)
    )


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_a_flow_keeps_its_path(lab, protocol):
    target = Target(lab.plan.home("us-a"), 80 if protocol == "tcp" else 0)
    seen = set()
    for flow in range(8):
        config = traceroute.Config(
            protocol=protocol, attempts=5, flow=flow, timeout_s=0.5, window=8, interval_s=0.001
        )
        path = lab.run_inside("toronto", lambda c=config: traceroute.run(target, c, CLOCK))
        assert all(len(hop) == 1 for hop in path.hops), path.hops
        seen.add(path.hops)
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("start", "end", "protocol", "family", "ways"),
    [
        ("berlin", "us-a", "udp", 4, 3),
        ("tokyo", "asia-a", "tcp", 4, 2),
        ("toronto", "eu-a", "udp", 6, 3),
        ("sydney", "br-b", "icmp", 4, 1),
    ],
)
def test_all_paths_are_found(lab, start, end, protocol, family, ways):
    target = Target(lab.plan.home(end, family), 80 if protocol == "tcp" else 0)
    # The kernel chooses source ports: at a risk of 0.001, one balancer in 1,000 is incomplete.
    config = traceroute.Config(
        protocol=protocol, mda=True, risk=1e-7, timeout_s=0.5, interval_s=0.001
    )
    path = lab.run_inside(start, lambda: traceroute.run(target, config, CLOCK))
    true = [["", *lab.truth.hops(start, w, family)] for w in lab.truth.paths(start, end)]
    links = {(t, a, b) for way in true for t, (a, b) in enumerate(zip(way, way[1:], strict=False))}
    assert set(path.links) == links
    assert (len(true), count_paths(path.links)) == (ways, ways)


def test_names_are_answered_by_the_instance(lab):
    target = Target(lab.plan.home("us-a"), 53)
    found = lab.run_inside(
        "berlin", lambda: dns_latency.run(target, dns_latency.Config(count=1), CLOCK)
    )
    assert found.status is ProbeStatus.OK
