"""Connections that only wait are ended; whoever sends a request in time notices nothing."""

import contextlib
import socket
import threading
import time

import pytest
import uvicorn

from tests.delays import within
from webapp import server


class Hasty(server.Connection):
    """The same within tenths of a second."""

    head_s, piece_s, body_s = 0.4, 0.4, 1.5


async def answer(scope, receive, send):
    """Read a body, slowly when asked to, and say how long it was."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    body = str(size).encode()
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(answer, http=Hasty, lifespan="off", log_level="error")
        serving = uvicorn.Server(config)
        thread = threading.Thread(target=serving.run, args=([listening],))
        thread.start()
        while not serving.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
        serving.should_exit = True
        thread.join(10)


def read_all(raw):
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while piece := raw.recv(4096):
            parts.append(piece)
    return b"".join(parts)


def drip(raw, text, every_s):
    with contextlib.suppress(OSError):
        for sign in text:
            raw.sendall(bytes([sign]))
            time.sleep(every_s)


@pytest.mark.parametrize("text", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 60])
def test_a_head_that_does_not_come_ends_the_connection(port, text):
    with within(3), socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        threading.Thread(target=drip, args=(raw, text, 0.05)).start()
        said = read_all(raw)
    assert said == server.TOO_SLOW
    head, _, body = said.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head


def test_a_body_that_stops_or_never_ends_ends_the_connection(port):
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
    for every_s, least_s in ((5.0, 0.3), (0.1, 1.2)):
        start = time.monotonic()
        with within(5), socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(head)
            threading.Thread(target=drip, args=(raw, b"x" * 100, every_s), daemon=True).start()
            said = read_all(raw)
        assert least_s < time.monotonic() - start
        assert b"200 OK" not in said


def test_a_connection_that_speaks_in_time_is_kept(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        for _ in range(3):
            raw.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
            time.sleep(0.2)
            raw.sendall(b"def")
            said = b""
            while not said.endswith(b"\r\n\r\n6"):
                said += raw.recv(4096)
            assert b"200 OK" in said
            time.sleep(0.2)


def test_a_crowd_of_silent_connections_loses_its_oldest(port, monkeypatch):
    monkeypatch.setattr(server, "MOST_SILENT_EACH", 20)
    monkeypatch.setattr(server, "FRESH_S", 0.05)
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        time.sleep(0.15)
        with within(0.25):
            for _ in range(20):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            assert read_all(first) == server.TOO_SLOW
