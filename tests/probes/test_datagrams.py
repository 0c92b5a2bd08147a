import socket
import struct
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clock import SystemClock
from probes.kinds import (
    dns_latency,
    echo,
    game_query,
    icmp_echo,
    jitter,
    tcp_ping,
    udp_echo,
)
from probes.records import Attempt, ProbeStatus, Target, status_of
from tests.delays import within
from tests.probes.servers import answer, echo_connection, listen, page, running

pytestmark = pytest.mark.timed

ALLOW = ("127.0.0.0/8", "::1/128")
CLOCK = SystemClock()
FAST = {"interval_s": 0.0, "allow": ALLOW}


def reply_to(query, code=0, number=None):
    given_number = struct.unpack_from("!H", query)[0]
    head = struct.pack(
        "!HHHHHH", given_number if number is None else number, 0x8180 | code, 1, 0, 0, 0
    )
    return head + query[12:]


def ask(reply, **options):
    with running(answer(reply)) as (server,):
        config = dns_latency.Config(**{"timeout_s": 0.3, "count": 2, **FAST, **options})
        return dns_latency.run(Target("127.0.0.1", server.port), config, CLOCK)


def test_a_resolver_is_timed_from_question_to_answer():
    def slow(query):
        time.sleep(0.05)
        return [reply_to(query)]

    found = ask(slow)
    assert (found.status, found.sent, found.lost) == (ProbeStatus.OK, 2, 0)
    assert 49 < found.mean_ms < 120


def test_replies_to_other_questions_do_not_count():
    def forged(query):
        wrong = struct.unpack_from("!H", query)[0] ^ 1
        return [reply_to(query, number=wrong), b"", b"\0" * 5, query]

    found = ask(forged)
    assert (found.status, found.lost, found.mean_ms) == (ProbeStatus.TIMEOUT, 2, None)


def test_a_wrong_question_in_the_reply_is_malformed_and_a_failure_is_told():
    assert ask(lambda q: [reply_to(q)[:-6] + b"xx" * 3]).status is ProbeStatus.MALFORMED
    assert ask(lambda q: [reply_to(q, code=2)]).status is ProbeStatus.NETWORK
    assert ask(lambda q: [reply_to(q, code=3)]).status is ProbeStatus.OK


def test_a_unique_name_is_new_each_time():
    seen = set()

    def note(query):
        seen.add(query[12:])
        return [reply_to(query)]

    ask(note, unique=True, count=5)
    assert len(seen) == 5


@pytest.mark.parametrize("name", ["", "a..b", "x" * 64, ".".join(["abcdefg"] * 40)])
def test_names_that_are_none_are_refused_before_anything_is_sent(name):
    with pytest.raises(ValueError, match="not a domain name"):
        dns_latency.run(Target("127.0.0.1", 9), dns_latency.Config(name=name, allow=ALLOW), CLOCK)


def test_a_flood_of_wrong_replies_ends():
    with running(answer(lambda query: [b"wrong" * 10] * 1500)) as (server,):
        config = dns_latency.Config(count=1, timeout_s=0.5, **FAST)
        with within(2.0):
            found = dns_latency.run(Target("127.0.0.1", server.port), config, CLOCK)
    assert found.status in (ProbeStatus.MALFORMED, ProbeStatus.TIMEOUT)


@pytest.mark.parametrize(
    ("style", "reply"),
    [("quake3", b"statusResponse\n\\a\\b"), ("source", b"I\x11name"), ("source", b"A1234")],
)
def test_game_servers_answer_or_are_lost(style, reply):
    count = iter(range(100))

    def every_fourth_is_lost(query):
        return [] if next(count) % 4 == 3 else [b"\xff\xff\xff\xff" + reply]

    with running(answer(every_fourth_is_lost)) as (server,):
        config = game_query.Config(style=style, count=8, timeout_s=0.15, **FAST)
        found = game_query.run(Target("127.0.0.1", server.port), config, CLOCK)
    assert (found.status, found.sent, found.lost) == (ProbeStatus.OK, 8, 2)
    assert [a.status for a in found.attempts].count(ProbeStatus.TIMEOUT) == 2
    assert found.mean_ms < 100


def test_datagrams_that_come_back_as_sent_are_echoes_and_others_are_lost():
    count = iter(range(100))

    def every_fourth_is_another(data):
        return [b"another" if next(count) % 4 == 3 else data]

    with running(answer(every_fourth_is_another)) as (server,):
        config = udp_echo.Config(count=8, timeout_s=0.15, **FAST)
        found = udp_echo.run(Target("127.0.0.1", server.port), config, CLOCK)
    assert (found.status, found.sent, found.lost) == (ProbeStatus.OK, 8, 2)
    assert [a.status for a in found.attempts].count(ProbeStatus.TIMEOUT) == 2
    assert found.mean_ms < 100


def test_what_is_no_game_server_is_malformed():
    with running(answer(lambda query: [b"HTTP/1.1 400"])) as (server,):
        config = game_query.Config(count=1, timeout_s=0.3, **FAST)
        found = game_query.run(Target("127.0.0.1", server.port), config, CLOCK)
    assert found.status is ProbeStatus.MALFORMED


def test_a_closed_port_is_refused_by_datagram_as_well():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    config = game_query.Config(count=2, timeout_s=0.3, **FAST)
    found = game_query.run(Target("127.0.0.1", port), config, CLOCK)
    assert found.status is ProbeStatus.REFUSED


def test_an_echo_brings_everything_back():
    with running(listen(echo_connection)) as (server,):
        config = echo.Config(count=3, timeout_s=2.0, **FAST)
        found = echo.run(Target("127.0.0.1", server.port), config, CLOCK)
        large = echo.Config(count=1, octets=5_000_000, timeout_s=5.0, **FAST)
        much = echo.run(Target("127.0.0.1", server.port), large, CLOCK)
    assert (found.status, found.lost) == (ProbeStatus.OK, 0)
    assert much.status is ProbeStatus.OK


def test_an_echo_of_something_else_is_malformed_and_half_of_it_reset():
    def zeros(connection):
        connection.sendall(b"\0" * 32_768)
        connection.recv(10)
        time.sleep(0.2)

    def half(connection):
        connection.sendall(connection.recv(100))

    for handle, status in ((zeros, ProbeStatus.MALFORMED), (half, ProbeStatus.RESET)):
        with running(listen(handle)) as (server,):
            config = echo.Config(count=1, timeout_s=1.0, **FAST)
            assert echo.run(Target("127.0.0.1", server.port), config, CLOCK).status is status


def test_a_stream_is_counted_with_losses_doubles_and_order():
    kept = []

    def unruly(data):
        number = struct.unpack_from("!8sI", data)[1]
        if number == 3:
            return []
        if number == 5:
            kept.append(data)
            return []
        if number == 6:
            return [data, kept[0]]
        return [data, data] if number == 8 else [data]

    with running(answer(unruly)) as (server,):
        config = jitter.Config(count=12, interval_s=0.01, timeout_s=0.2, allow=ALLOW)
        found = jitter.run(Target("127.0.0.1", server.port), config, CLOCK)
    assert (found.sent, found.lost, found.reordered, found.duplicates) == (12, 1, 1, 1)
    assert [n for n, _ in found.transits_ms] == [0, 1, 2, 4, 6, 5, 7, 8, 9, 10, 11]
    assert found.jitter_ms == pytest.approx(jitter.jitter_of(found.values))


def test_jitter_is_that_of_the_standard():
    # By hand: differences 16, 16, 0 give 1, 1.9375, 1.81640625.
    assert jitter.jitter_of([10.0, 26.0, 10.0, 10.0]) == 1.81640625
    assert jitter.jitter_of([5.0] * 9) == 0.0


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e4), min_size=2, max_size=50), st.floats(-1e3, 1e3))
def test_jitter_knows_no_clock_offset_and_is_bounded(transits, offset):
    found = jitter.jitter_of(transits)
    steps = [abs(b - a) for a, b in zip(transits, transits[1:], strict=False)]
    assert 0 <= found <= max(steps) + 1e-9
    moved = jitter.jitter_of([t + offset for t in transits])
    assert moved == pytest.approx(found, abs=1e-6)


def test_time_outs_are_counted_and_left_out_of_the_mean():
    def once(connection):
        return None

    with running(listen(once)) as (server,):
        config = tcp_ping.Config(count=4, timeout_s=0.5, method="connect", **FAST)
        found = tcp_ping.run(Target("127.0.0.1", server.port), config, CLOCK)
    assert (found.lost, found.status) == (0, ProbeStatus.OK)
    mixed = (Attempt(ProbeStatus.OK, 4.0), Attempt(ProbeStatus.TIMEOUT))
    assert status_of(mixed) is ProbeStatus.OK
    assert status_of((Attempt(ProbeStatus.REFUSED),) * 2) is ProbeStatus.REFUSED


def test_a_full_queue_is_a_time_out_not_a_slow_answer():
    """A server that accepts nobody: SYNs beyond its queue are dropped by the kernel."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(0)
        held = [socket.socket() for _ in range(4)]
        for other in held:
            other.setblocking(False)
            other.connect_ex(sock.getsockname())
        time.sleep(0.1)
        port = sock.getsockname()[1]
        config = tcp_ping.Config(count=2, timeout_s=0.3, method="connect", **FAST)
        found = tcp_ping.run(Target("127.0.0.1", port), config, CLOCK)
        for other in held:
            other.close()
    assert (found.status, found.lost, found.mean_ms) == (ProbeStatus.TIMEOUT, 2, None)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_echo_requests_are_answered(address):
    found = icmp_echo.run(Target(address), icmp_echo.Config(**FAST), CLOCK)
    if found.status is ProbeStatus.NOT_PERMITTED:
        pytest.skip("neither ping sockets nor raw sockets are open to us")
    assert (found.status, found.lost, found.sent) == (ProbeStatus.OK, 0, 5)


def test_a_ping_of_a_web_server_works_by_default():
    with running(listen(page())) as (server,):
        found = tcp_ping.run(Target("127.0.0.1", server.port), tcp_ping.Config(**FAST), CLOCK)
    assert (found.status, found.sent, found.lost) == (ProbeStatus.OK, 5, 0)
