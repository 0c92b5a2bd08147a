"""Servers as they are met: half there, resetting, silent, endless, of another age."""

import socket
import struct
import time

import pytest

from core.clock import SystemClock
from probes.kinds import dns_latency, echo, http_timing, tcp_ping, throughput
from probes.records import ProbeStatus, Target
from tests.delays import within
from tests.probes.servers import answer, listen, running

ALLOW = ("127.0.0.0/8", "::1/128")
CLOCK = SystemClock()
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def get(port, **options):
    config = http_timing.Config(**{"timeout_s": 2.0, "allow": ALLOW, **options})
    return http_timing.run(Target("127.0.0.1", port), config, CLOCK)


def reset(connection):
    """Close at once, with a RST instead of a FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def replying(text, then=lambda connection: None):
    def handle(connection):
        connection.recv(65_536)
        connection.sendall(text)
        then(connection)

    return handle


def test_an_answer_of_http_1_0_ends_with_its_connection():
    with running(listen(replying(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 3000))) as (server,):
        found = get(server.port)
        whole = throughput.run(
            Target("127.0.0.1", server.port), throughput.Config(octets=3000, allow=ALLOW), CLOCK
        )
    assert (found.status, found.octets) == (ProbeStatus.OK, 3000)
    assert (whole.status, whole.octets) == (ProbeStatus.OK, 3000)


@pytest.mark.parametrize(
    "text", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"HTTP/1.1 200"]
)
def test_a_reset_is_one_wherever_it_comes(text):
    def late(connection):
        time.sleep(0.05)
        reset(connection)

    with running(listen(replying(text, late))) as (server,):
        found = get(server.port)
        back = echo.run(Target("127.0.0.1", server.port), echo.Config(count=1, allow=ALLOW), CLOCK)
    assert (found.status, found.values) == (ProbeStatus.RESET, ())
    assert (back.status, back.lost) == (ProbeStatus.RESET, 1)


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_takes_connections_and_never_speaks_is_left_in_time(tls):
    """Half open: the kernel answers for a process that hangs."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        with within(1.0):
            found = get(port, timeout_s=0.3, tls=tls)
        assert (found.status, found.tls_ms, found.wait_ms) == (ProbeStatus.TIMEOUT, None, None)
        assert found.connect_ms is not None
        # It answers SYNs, and that is all that a ping asks.
        ping = tcp_ping.Config(count=2, interval_s=0.0, allow=ALLOW)
        assert tcp_ping.run(Target("127.0.0.1", port), ping, CLOCK).lost == 0


def endless(piece):
    def go_on(connection):
        while True:
            connection.sendall(piece * 64)

    return go_on


@pytest.mark.parametrize(
    ("head", "piece", "kinds"),
    [
        (CHUNKED, b"4\r\nabcd\r\n", {"TOO_LARGE"}),
        (CHUNKED + b"ffffffff\r\n", b"abcd", {"TOO_LARGE"}),
        (CHUNKED + b"-5\r\n", b"abcd", {"TOO_LARGE", "MALFORMED"}),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", {"TOO_LARGE"}),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"abcd", {"TOO_LARGE"}),
        (b"", b"\0" * 64, {"TOO_LARGE", "MALFORMED"}),
        (b"\x16\x03\x01", b"\xff", {"TOO_LARGE", "MALFORMED"}),
    ],
)
def test_what_never_ends_is_ended(head, piece, kinds):
    with running(listen(replying(head, endless(piece)))) as (server,):
        found = get(server.port, max_octets=300_000)
    assert str(found.status) in kinds, found
    assert found.values == ()


def test_what_is_no_tls_is_told_as_such():
    with running(listen(replying(b"HTTP/1.1 400 No\r\n\r\n"))) as (server,):
        found = get(server.port, tls=True)
    assert (found.status, found.values) == (ProbeStatus.TLS, ())


def test_a_redirect_into_the_machine_is_not_followed():
    asked = []

    def redirect(connection):
        asked.append(connection.recv(65_536))
        place = f"http://127.0.0.1:{server.port}/inside"
        connection.sendall(
            f"HTTP/1.1 301 No\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()
        )

    with running(listen(redirect)) as (server,):
        found = get(server.port)
    assert (found.status, found.http_status, len(asked)) == (ProbeStatus.HTTP, 301, 1)


def test_datagrams_of_any_size_and_shape_are_no_answer():
    shapes = [b"", b"\0", b"\xff" * 12, b"\0" * 60_000]
    with running(answer(lambda data: [data[:2] + shape for shape in shapes])) as (server,):
        config = dns_latency.Config(count=1, timeout_s=0.3, allow=ALLOW)
        found = dns_latency.run(Target("127.0.0.1", server.port), config, CLOCK)
    assert (found.lost, found.values) == (1, ())
    assert found.status in (ProbeStatus.MALFORMED, ProbeStatus.TIMEOUT)


@pytest.mark.parametrize("name", ["h" * 64 + ".invalid", "a..b", "-", ".", "x" * 5000, "\udcff"])
def test_names_that_are_none_are_results(name):
    found = tcp_ping.run(Target(name, 80), tcp_ping.Config(count=1), CLOCK)
    assert found.status in (ProbeStatus.NO_NAME, ProbeStatus.FORBIDDEN)
