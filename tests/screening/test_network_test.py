"""Calls over loopback: times, losses, and what is no call."""

import socket
import threading
import time

import pytest

from screening.agent_parts.network import (
    ECHO_BYTES,
    HEADER,
    REPLY_BYTES,
    call_servers,
    echo,
    encode_frame,
    serve,
)


@pytest.fixture(scope="module")
def port():
    ready = threading.Event()
    found = []
    # It ends by itself after its time; nobody waits for that.
    thread = threading.Thread(
        target=serve,
        args=("127.0.0.1", 0, 30.0, lambda port: (found.append(port), ready.set())),
        daemon=True,
    )
    thread.start()
    ready.wait(5)
    return found[0]


def test_calls_are_poisson_and_all_answered(port):
    rows = call_servers([("127.0.0.1", port)], (100, 500), 1.0, seed=3)
    assert [row["rate"] for row in rows] == [100, 500]
    for row in rows:
        assert row["calls"] == row["answered"] == sum(count for _, count in row["histogram"])
        assert row["lost"] == 0
        assert abs(row["calls"] - row["rate"]) < 5 * row["rate"] ** 0.5
        assert 0 < row["p50_us"] <= row["p999_us"] <= row["max_us"]


def test_sizes_on_the_wire(port):
    with socket.create_connection(("127.0.0.1", port)) as peer:
        request = encode_frame(1, 7, b"12345678")
        assert len(request) == 29 + 8
        peer.sendall(request)
        need = HEADER.size + REPLY_BYTES
        data = b""
        while len(data) < need:
            data += peer.recv(65536)
        assert len(data) == 29 + 2048
    assert echo("127.0.0.1", port) > 0
    assert ECHO_BYTES == 32_768


def test_strangers_are_cut_off_and_others_served(port):
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
        stranger.settimeout(2)
        assert stranger.recv(100) == b""
    assert call_servers([("127.0.0.1", port)], (100,), 0.3)[0]["lost"] == 0


def test_calls_without_reply_are_lost():
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()

        def hang_up():
            peer, _ = mute.accept()
            time.sleep(0.3)
            peer.close()

        threading.Thread(target=hang_up, daemon=True).start()
        (row,) = call_servers([mute.getsockname()], (100,), 0.5)
    assert row["calls"] > 0
    assert row["lost"] == row["calls"]
