"""Routers as they are: silent, slow to answer, private, in another's addresses, refusing."""

import shutil
import subprocess
import time

import pytest

from core.clock import SystemClock
from probes.kinds import icmp_echo, tcp_ping, throughput, traceroute
from probes.records import ProbeStatus, Target
from testbed.namespaces import netns
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.topology import Link, LinkShape, Node, Topology
from tests.testbed.namespaces.conftest import need_laboratory

CLOCK = SystemClock()
BLOCKS = {n: n for n in (1, 2, 3, 4, 9)}


def row_of(*routers, extra=(), sprays=()):
    """here - r1 - r2 … - there, with links numbered from block 2, or as given."""
    names = ["here", *(n.name for n in routers), "there"]
    nodes = (Node("here", "vantage", 1), *routers, Node("there", "instance", 9))
    links = [Link(names[1], "here", 1), Link(names[-2], "there", 9)]
    links += [Link(a, b, 2) for a, b in zip(names[1:-2], names[2:-1], strict=True)]
    return Topology("row", "lab", 9, nodes, (*links, *extra), BLOCKS, sprays)


def router(name, **how):
    return Node(name, "router", 2, **how)


def trace(lab, end="there", family=4, **options):
    target = Target(lab.plan.home(end, family) if "." not in end else end)
    config = traceroute.Config(**{"timeout_s": 0.3, **options}, allow=("10.0.0.0/8",))
    return lab.run_inside("here", lambda: traceroute.run(target, config, CLOCK))


@pytest.fixture(scope="module")
def row():
    """Five routers: one silent, one that answers one error a second, one on private links."""
    need_laboratory()
    plan = row_of(
        router("r1"),
        router("r2", silent=True),
        router("r3", limited=True),
        router("r4"),
        router("r5"),
    )
    links = list(plan.links)
    private = next(n for n, k in enumerate(links) if {k.first, k.second} == {"r3", "r4"})
    links[private] = Link("r3", "r4", 0)
    with Laboratory(Topology("row", "lab", 9, plan.nodes, tuple(links), BLOCKS)) as lab:
        yield lab


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("protocol", ["udp", "icmp", "tcp"])
def test_silent_and_private_routers_are_reported(row, protocol, family):
    path = trace(row, family=family, protocol=protocol, attempts=2)
    (way,) = row.truth.paths("here", "there")
    true = row.truth.hops("here", way, family)
    assert [hop[0] if hop else None for hop in path.hops] == true
    assert true[1] is None
    assert true[3].startswith(("10.", "fd"))
    assert path.reached


def test_a_router_that_answers_seldom_is_found_and_its_silence_counted(row):
    """It gives one address six errors at once and then one a second."""
    path = trace(row, attempts=12, window=6, interval_s=0.001)
    third = [r for r in path.replies if r.ttl == 3]
    assert len(third) == 12
    assert {r.address for r in third} == {path.hops[2][0], None}
    assert path.hops[2] == (row.truth.hops("here", row.truth.paths("here", "there")[0])[2],)
    assert all(len(hop) <= 1 for hop in path.hops)


def test_multipath_detection_behind_a_rate_limited_router(row):
    path = trace(row, mda=True, interval_s=0.001, attempts=2, timeout_s=0.1, risk=0.2)
    assert path.reached
    assert [len(hop) for hop in path.hops] == [1, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("kind", "status", "why"),
    [
        ("unreachable", ProbeStatus.UNREACHABLE, "host"),
        ("blackhole", ProbeStatus.TIMEOUT, ""),
        ("prohibit", ProbeStatus.UNREACHABLE, "prohibited"),
    ],
)
@pytest.mark.parametrize("family", [4, 6])
def test_refusals_of_routers_have_their_reason(row, kind, status, why, family):
    home = row.plan.home("there", family)
    bits = 32 if family == 4 else 128
    name = row.prefix + "r5"
    netns.batch(name, [f"route add {kind} {home}/{bits} metric 1"])
    try:
        path = trace(row, family=family, attempts=2, silent_hops=2)
        if path.status is not status:
            # Linux gives one address one such error a second.
            time.sleep(1.2)
            path = trace(row, family=family, attempts=2, silent_hops=2)
        config = tcp_ping.Config(count=1, timeout_s=0.3, method="connect")
        ping = row.run_inside("here", lambda: tcp_ping.run(Target(home, 80), config, CLOCK))
    finally:
        netns.batch(name, [f"route del {kind} {home}/{bits} metric 1"])
    # Over IPv6, Linux says of such a route that there is none.
    why = "net" if (family, why) == (6, "host") else why
    assert (path.status, path.reason, path.reached) == (status, why, False)
    assert ping.lost == 1
    if why:
        fifth = {r.kind for r in path.replies if r.ttl == 5 and r.address}
        assert fifth == {why}


def narrow(lab, first, second, octets):
    """What fits through a link, at both of its ends."""
    for node, other in ((first, second), (second, first)):
        netns.batch(lab.prefix + node, [f"link set dev {other} mtu {octets}"])


def transfer(lab, family, timeout_s):
    target = Target(lab.plan.home("there", family), 80, family, "/octets/200000")
    config = throughput.Config(octets=200_000, timeout_s=timeout_s, allow=("10.0.0.0/8",))
    return lab.run_inside("here", lambda: throughput.run(target, config, CLOCK))


@pytest.mark.parametrize("family", [4, 6])
def test_a_narrow_link_slows_nothing_down_and_a_black_hole_is_a_time_out(row, family):
    """The router before the first says what fits; that before the second is silent."""
    narrow(row, "r3", "r2", 1400)
    try:
        fits = transfer(row, family, 3.0)
        narrow(row, "r2", "r1", 1280)
        lost = transfer(row, family, 0.6)
    finally:
        narrow(row, "r3", "r2", 1500)
        narrow(row, "r2", "r1", 1500)
    assert (fits.status, fits.octets) == (ProbeStatus.OK, 200_000)
    assert (lost.status, lost.values) == (ProbeStatus.TIMEOUT, ())


def test_multipath_detection_behind_a_silent_branch():
    need_laboratory()
    middle = [router(f"m{n}", silent=n == 1) for n in range(4)]
    nodes = (
        Node("here", "vantage", 1),
        router("r1"),
        *middle,
        router("r2"),
        Node("there", "instance", 9),
    )
    links = [Link("r1", "here", 1), Link("r2", "there", 9)]
    links += [Link("r1", m.name, 2) for m in middle] + [Link(m.name, "r2", 3) for m in middle]
    with Laboratory(Topology("beside", "lab", 9, nodes, tuple(links), BLOCKS)) as lab:
        path = trace(lab, mda=True, interval_s=0.0, timeout_s=0.1, risk=1e-7, attempts=2)
        ways = [lab.truth.hops("here", way) for way in lab.truth.paths("here", "there")]
    assert path.reached
    assert [set(hop) for hop in path.hops] == [
        {way[n] for way in ways} - {None} for n in range(len(ways[0]))
    ]
    assert [len(hop) for hop in path.hops] == [1, 3, 4, 1]


def test_missing_route_is_unreachable_or_timeout(row):
    path = trace(row, end="28.77.0.1", attempts=1, silent_hops=2)
    assert not path.reached
    assert path.status in (ProbeStatus.UNREACHABLE, ProbeStatus.TIMEOUT)


def test_a_router_may_answer_from_anothers_addresses():
    """A border link numbered by the neighbour: the hop is right, though its AS is another's."""
    need_laboratory()
    plan = row_of(router("r1"), Node("r2", "router", 3), Node("r3", "router", 4))
    with Laboratory(plan) as lab:
        path = trace(lab, attempts=1)
        true = lab.truth.hops("here", lab.truth.paths("here", "there")[0])
        assert [h[0] for h in path.hops] == true
        assert plan.by_name["r3"].asn == 4
        assert path.hops[2][0].startswith("28.2.")


@pytest.fixture(scope="module")
def sprayed():
    """r1 sends each packet over one of two links to r2 or r3, whatever its flow."""
    need_laboratory()
    nodes = (
        Node("here", "vantage", 1),
        Node("there", "instance", 9),
        *(router(f"r{n}") for n in range(1, 5)),
    )
    links = (
        Link("r1", "here", 1),
        Link("r4", "there", 9),
        Link("r1", "r2", 2, LinkShape(1.0)),
        Link("r1", "r3", 2, LinkShape(1.0)),
        Link("r2", "r4", 2),
        Link("r3", "r4", 2),
    )
    with Laboratory(Topology("spray", "lab", 9, nodes, links, BLOCKS, ((2, 3),))) as lab:
        # All packets take the first link; the link itself then takes one or the other.
        first = lab.plan.address(2, "r2", 4)
        home = lab.plan.subnet(1, 4)
        device = "r2"
        netns.batch(lab.prefix + "r1", [f"route replace {home} via {first} dev {device}"])
        yield lab


def test_a_balancer_per_packet_shows_both_hops_of_one_flow(sprayed):
    path = trace(sprayed, attempts=20, interval_s=0.001)
    both = {sprayed.plan.address(2, "r2", 4), sprayed.plan.address(3, "r3", 4)}
    assert set(path.hops[1]) == both
    assert path.reached
    echo = icmp_echo.Config(count=20, interval_s=0.0)
    found = sprayed.run_inside(
        "here", lambda: icmp_echo.run(Target(sprayed.plan.home("there")), echo, CLOCK)
    )
    assert found.lost == 0


@pytest.mark.parametrize("program", ["traceroute", "mtr", "scamper"])
def test_other_programs_see_the_same_hops(lab, program):
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    start, end = "berlin", "br-a"
    home = lab.plan.home(end)
    words = {
        "traceroute": ["traceroute", "-n", "-q", "1", home],
        "mtr": ["mtr", "-n", "-r", "-c", "1", "-i", "0.2", "-G", "1", home],
        "scamper": ["scamper", "-c", "trace -P udp-paris", "-i", home],
    }[program]
    said = lab.run_inside(
        start, lambda: subprocess.run(words, capture_output=True, text=True, check=True).stdout
    )
    config = traceroute.Config(timeout_s=0.3)
    own = lab.run_inside(start, lambda: traceroute.run(Target(home), config, CLOCK))
    places = [said.find(hop[0], said.index("\n")) for hop in own.hops]
    assert -1 not in places
    assert places == sorted(places)
