"""Probes between namespaces, where delay, loss, routers and balancers are known."""

import socket
from statistics import median

import pytest

from core.clock import SystemClock
from probes.kinds import icmp_echo, tcp_ping, traceroute
from probes.packets.hops import count_paths
from probes.records import ProbeStatus, Target
from tests.probes.netlab import Lab, need_namespaces

pytestmark = pytest.mark.timed

ALLOW = ("10.0.0.0/8", "fd00::/16")
CLOCK = SystemClock()


def least_rtt_ms(measure, tries=5):
    """The least round trip of some tries: other work only ever slows packets down."""
    found, most = [], 21.0
    for _ in range(tries):
        values = measure()
        found += values
        if median(values) <= most:
            break
    return min(found)


@pytest.fixture(scope="module")
def chain():
    """home - r1 - r2 - r3 - cloud, 10 ms each way between home and r1."""
    need_namespaces()
    with Lab("c") as lab:
        for name in ("home", "cloud"):
            lab.host(name)
        for name in ("r1", "r2", "r3"):
            lab.host(name, router=True)
        names = ["home", "r1", "r2", "r3", "cloud"]
        for i, (a, b) in enumerate(zip(names, names[1:], strict=False)):
            ends = [(n, f"10.0.{i}.{j}/24", f"fd00:{i + 1}::{j}/64") for j, n in ((1, a), (2, b))]
            lab.link(*ends, delay_ms=10.0 if i == 0 else 0.0)
        for i, name in enumerate(names):
            for net in range(4):
                if net not in (i - 1, i):
                    near, end = (i, 2) if net > i else (i - 1, 1)
                    lab.route(name, f"10.0.{net}.0/24", "via", f"10.0.{near}.{end}")
                    lab.route(name, f"fd00:{net + 1}::/64", "via", f"fd00:{near + 1}::{end}")
        yield lab


@pytest.fixture
def server(chain):
    sock = chain.inside("cloud", lambda: socket.create_server(("10.0.3.2", 8080)))
    yield sock.getsockname()[1]
    sock.close()


@pytest.mark.parametrize("method", ["connect", "syn"])
def test_tcp_pings_see_the_configured_delay(chain, server, method):
    config = tcp_ping.Config(count=10, interval_s=0.02, method=method, allow=ALLOW)

    def measure():
        target = Target("10.0.3.2", server)
        result = chain.inside("home", lambda: tcp_ping.run(target, config, CLOCK))
        assert (result.status, result.method, result.lost) == (ProbeStatus.OK, method, 0)
        return result.values

    assert least_rtt_ms(measure) == pytest.approx(20.0, abs=1.0)


@pytest.mark.parametrize("address", ["10.0.3.2", "fd00:4::2"])
def test_echoes_see_the_configured_delay(chain, address):
    config = icmp_echo.Config(count=10, interval_s=0.02, allow=ALLOW)

    def measure():
        result = chain.inside("home", lambda: icmp_echo.run(Target(address), config, CLOCK))
        assert (result.status, result.lost) == (ProbeStatus.OK, 0)
        return result.values

    assert least_rtt_ms(measure) == pytest.approx(20.0, abs=1.0)


def test_echo_and_tcp_ping_agree(chain, server):
    def both():
        ping = tcp_ping.Config(count=20, interval_s=0.02, allow=ALLOW)
        echo = icmp_echo.Config(count=20, interval_s=0.02, allow=ALLOW)
        return (
            median(tcp_ping.run(Target("10.0.3.2", server), ping, CLOCK).values),
            median(icmp_echo.run(Target("10.0.3.2"), echo, CLOCK).values),
        )

    # The least of up to three tries each, for the same reason as above.
    tries, apart = [], 1.0
    while len(tries) < 3 and apart > 0.4:
        tries.append(chain.inside("home", both))
        one, two = (min(values) for values in zip(*tries, strict=True))
        apart = abs(one - two)
    assert apart <= 0.4


@pytest.mark.parametrize(
    ("protocol", "method"),
    [("udp", "raw"), ("icmp", "raw"), ("tcp", "raw"), ("udp", "queue")],
)
@pytest.mark.parametrize("family", [4, 6])
def test_every_hop_of_the_chain_is_right(chain, server, protocol, method, family):
    target = Target("10.0.3.2" if family == 4 else "fd00:4::2", server if protocol == "tcp" else 0)
    config = traceroute.Config(protocol=protocol, method=method, timeout_s=1.0, allow=ALLOW)
    names = [f"10.0.{i}.2" if family == 4 else f"fd00:{i + 1}::2" for i in range(4)]

    def measure():
        path = chain.inside("home", lambda: traceroute.run(target, config, CLOCK))
        assert path.hops == tuple((n,) for n in names)
        assert (path.status, path.reached, path.method) == (ProbeStatus.OK, True, method)
        assert len(path.replies) == 12
        return [r.rtt_ms for r in path.replies]

    assert least_rtt_ms(measure) == pytest.approx(20.0, abs=1.0)


def test_a_target_that_nobody_has_is_not_reached(chain):
    config = traceroute.Config(attempts=1, timeout_s=0.3, silent_hops=3, window=8, allow=ALLOW)
    path = chain.inside("home", lambda: traceroute.run(Target("10.0.2.77"), config, CLOCK))
    assert not path.reached
    assert path.status in (ProbeStatus.TIMEOUT, ProbeStatus.UNREACHABLE)
    assert path.hops[:2] == (("10.0.0.2",), ("10.0.1.2",))


def test_without_a_way_the_reason_is_told(chain):
    config = tcp_ping.Config(count=2, interval_s=0.0, allow=ALLOW)
    result = chain.inside("home", lambda: tcp_ping.run(Target("10.9.9.9", 80), config, CLOCK))
    assert (result.status, result.lost) == (ProbeStatus.UNREACHABLE, 2)


def test_loss_lies_within_its_binomial_interval():
    need_namespaces()
    with Lab("l") as lab:
        lab.host("a")
        lab.host("b")
        lab.link(("a", "10.1.0.1/24"), ("b", "10.1.0.2/24"), delay_ms=1.0, loss=0.1, seed=7)
        config = icmp_echo.Config(count=400, interval_s=0.0, timeout_s=0.02, allow=ALLOW)
        result = lab.inside("a", lambda: icmp_echo.run(Target("10.1.0.2"), config, CLOCK))
    # One minus both ways: 0.19, with 4 standard deviations of 400 trials.
    assert result.sent == 400
    assert result.lost / 400 == pytest.approx(0.19, abs=4 * (0.19 * 0.81 / 400) ** 0.5)
    assert min(result.values) == pytest.approx(2.0, abs=1.0)


@pytest.fixture(scope="module")
def diamond():
    """home - r1 - (m1 | m2 | m3) - r2 - cloud: r1 spreads flows over three ways."""
    need_namespaces()
    with Lab("d") as lab:
        lab.host("home")
        lab.host("cloud")
        for name in ("r1", "m1", "m2", "m3", "r2"):
            lab.host(name, router=True)
        lab.link(("home", "10.2.0.1/24"), ("r1", "10.2.0.2/24"))
        lab.link(("r2", "10.2.9.1/24"), ("cloud", "10.2.9.2/24"))
        lab.route("home", "default", "via", "10.2.0.2")
        lab.route("cloud", "default", "via", "10.2.9.1")
        for i in (1, 2, 3):
            lab.link(("r1", f"10.2.{i}.1/24"), (f"m{i}", f"10.2.{i}.2/24"))
            lab.link((f"m{i}", f"10.2.1{i}.1/24"), ("r2", f"10.2.1{i}.2/24"))
            lab.route(f"m{i}", "10.2.9.0/24", "via", f"10.2.1{i}.2")
            lab.route(f"m{i}", "10.2.0.0/24", "via", f"10.2.{i}.1")
        ways = [w for i in (1, 2, 3) for w in ("nexthop", "via", f"10.2.{i}.2")]
        lab.route("r1", "10.2.9.0/24", *ways)
        lab.route("r2", "10.2.0.0/24", "via", "10.2.11.1")
        yield lab


def trace(lab, **options):
    config = traceroute.Config(timeout_s=0.5, allow=ALLOW, **options)
    return lab.inside("home", lambda: traceroute.run(Target("10.2.9.2"), config, CLOCK))


def test_a_flow_keeps_its_path_behind_a_balancer(diamond):
    seen = set()
    with_ports = [trace(diamond, attempts=5, flow=flow) for flow in range(12)]
    for path in with_ports:
        assert path.reached
        assert all(len(hop) == 1 for hop in path.hops), path.hops
        seen.add(path.hops[1])
    assert len(seen) > 1


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_every_way_behind_a_balancer_is_found(diamond, protocol):
    path = trace(diamond, protocol=protocol, mda=True, risk=1e-7)
    assert set(path.hops[1]) == {"10.2.1.2", "10.2.2.2", "10.2.3.2"}
    assert count_paths(path.links) == 3
    assert path.hops[-1] == ("10.2.9.2",)
    # Each of the three enters the last router by its own link.
    assert {(a, b) for t, a, b in path.links if t == 2} == {
        (f"10.2.{i}.2", f"10.2.1{i}.2") for i in (1, 2, 3)
    }
