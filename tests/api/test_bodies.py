"""Bodies over real sockets: each address has a limit, and nothing is read far beyond it."""

import asyncio
import gzip
import http.client
import json
import re
import socket
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from tests.sites import serve
from tests.stores import copy_store
from webapp.api.framework import request_bodies

pytestmark = pytest.mark.services

MIB = 2**20
HUGE = 600 * MIB
# What lies in the buffers of both sockets was sent and not read: at most so many bytes.
BUFFERED = sum(
    int(Path(f"/proc/sys/net/ipv4/tcp_{kind}").read_text().split()[-1]) for kind in ("rmem", "wmem")
)
CHUNK = b"10000\r\n" + b"x" * 65_536 + b"\r\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bodies")
    more = {"NEPHOSCOPE_NAME_SERVERS": "127.0.0.1:9"}
    with serve(copy_store(folder), **more) as address:
        yield address


def connect(site):
    host, _, port = site.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def answer_of(raw):
    found = b""
    while piece := raw.recv(65_536):
        found += piece
    return found


def send(raw, head, piece, sent):
    """Send a head and pieces of a body until the other side has had enough."""
    raw.sendall(head)
    try:
        while sent[0] < HUGE:
            raw.sendall(piece)
            sent[0] += len(piece)
    except OSError:
        pass


ADDRESSES = [
    "/no-such-page/",
    "/",
    "/about/",
    "/surveys/new/",
    "/recommendations/samples/",
    "/recommendations/domains/",
    "/account/sign-in/",
    "/api/v1/plan",
    "/api/v1/surveys",
    "/api/v1/recommendations",
    "/api/v1/nothing",
    "/api/v1/screening/verdict",
    "/api/v1/screening/reports",
    "/static/nothing.css",
    "/wide-area/",
]


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("length", [f"Content-Length: {HUGE}", "Transfer-Encoding: chunked"])
def test_600_megabytes_are_refused_before_64_are_read(site, path, length):
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{length}\r\n\r\n".encode()
    piece = CHUNK if "chunked" in length else b"x" * 65_536
    sent = [0]
    with connect(site) as raw:
        sender = threading.Thread(target=send, args=(raw, head, piece, sent))
        sender.start()
        try:
            status = raw.recv(65_536).split(b" ", 2)[1]
        except ConnectionResetError:
            status = b"reset"
        raw.close()
        sender.join()
    assert sent[0] - BUFFERED < 64 * MIB
    expected = {b"401"} if path.endswith("/reports") else {b"413"}
    assert status in expected


@pytest.mark.parametrize("path", ADDRESSES)
def test_without_a_length_no_more_than_64_megabytes_are_received(path):
    received, piece = [0], b"x" * 65_536

    async def receive():
        received[0] += len(piece)
        assert received[0] < HUGE
        return {"type": "http.request", "body": piece, "more_body": True}

    async def read_all(scope, receive, send):
        while (await receive())["type"] == "http.request":
            pass

    async def send(message):
        statuses.append(message.get("status"))

    statuses = []
    scope = {"type": "http", "path": path, "headers": [], "client": ("127.0.0.1", 1)}
    asyncio.run(request_bodies.limit_bodies(read_all)(scope, receive, send))
    assert statuses[0] == 413
    assert received[0] < 64 * MIB


def test_the_refusal_is_a_problem_or_a_page(site):
    for path, kind in (("/api/v1/plan", "application/problem+json"), ("/x/", "text/html")):
        with connect(site) as raw:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {HUGE}\r\n\r\n"
            raw.sendall(head.encode())
            found = answer_of(raw).decode()
        assert kind in found
        assert "at most" in found
        # What is left is in the database, which nobody asks for a request that is not read.
        head = found.partition("\r\n\r\n")[0].lower()
        assert ('ratelimit-policy: "active-surveys";q=' in head) == path.startswith("/api/")
        assert "ratelimit:" not in head


def post(site, path, body, kind="application/json", **headers):
    line = http.client.HTTPConnection(site.removeprefix("http://"), timeout=120)
    line.request("POST", path, body, {"Content-Type": kind, **headers})
    answer = line.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    line.close()
    return found


def domains_of(count, name="host%d.example"):
    return json.dumps({"domains": [name % number for number in range(count)]}).encode()


def test_whoever_only_seems_to_have_an_account_has_the_limit_of_nobody(site):
    body = json.dumps({"domains": "a.example\n" * 600_000}).encode()
    assert post(site, "/api/v1/plan", body)[0] == 413
    status, _, text = post(site, "/api/v1/plan", body, Cookie="sessionid=anything")
    assert (status, json.loads(text)["type"].rpartition("/")[2]) == (413, "too-large")


def form(site, packed):
    with urllib.request.urlopen(f"{site}/surveys/new/") as answer:
        cookie = answer.headers["Set-Cookie"].split(";")[0]
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', answer.read().decode())[1]
    part = b"--B\r\nContent-Disposition: form-data; name="
    body = part + b'"csrfmiddlewaretoken"\r\n\r\n' + token.encode() + b"\r\n"
    body += part + b'"file"; filename="l.gz"\r\n\r\n' + packed + b"\r\n--B--\r\n"
    return post(site, "/surveys/new/", body, "multipart/form-data; boundary=B", Cookie=cookie)


def test_a_small_archive_of_a_large_list_is_soon_refused(site):
    started = time.monotonic()
    status, _, text = form(site, gzip.compress(b"a.com\n" * 5_000_000))
    spent_s = time.monotonic() - started
    assert (status, b"goes on after" in text) == (422, True)
    started = time.monotonic()
    assert post(site, "/api/v1/plan", domains_of(50_000))[0] == 200
    # Unpacked and read to its end it took ten times as long.
    assert spent_s < 3 * (time.monotonic() - started)


def test_one_large_list_at_a_time_and_only_while_somebody_waits(site):
    body = domains_of(90_000, "bücher%d.example")
    head = "POST /api/v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    raw = connect(site)
    raw.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    time.sleep(0.5)
    started = time.monotonic()
    raw.close()
    # The next one waits for its turn, which comes as soon as the reader notices.
    assert post(site, "/api/v1/plan", domains_of(5_000))[0] == 200
    freed_s = time.monotonic() - started
    answers = []
    others = [
        threading.Thread(target=lambda: answers.append(post(site, "/api/v1/plan", body)))
        for _ in range(8)
    ]
    started = time.monotonic()
    for other in others:
        other.start()
    assert post(site, "/api/v1/plan", domains_of(5))[0] == 200  # a small one needs no turn
    for other in others:
        other.join()
    assert freed_s < (time.monotonic() - started)
    refused = [found for found in answers if found[0] == 429]
    assert {found[0] for found in answers} == {200, 429}
    assert all(found[1]["Retry-After"] == "5" for found in refused)
    assert json.loads(refused[0][2])["type"].endswith("/lists")


async def keep(held, receive, send):
    while (message := await receive())["type"] == "http.request" and message["more_body"]:
        pass
    if message["type"] == "http.disconnect":
        return
    await held.wait()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_bodies_of_all_connections_have_one_limit(monkeypatch):
    monkeypatch.setattr(request_bodies, "MOST_EACH", 3_000)
    monkeypatch.setattr(request_bodies, "MOST_TOGETHER", 5_000)
    held = asyncio.Event()

    async def ask(address, size):
        statuses = []
        messages = [{"type": "http.request", "body": b"x" * size, "more_body": False}]

        async def receive():
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message):
            statuses.append(message.get("status"))

        scope = {"type": "http", "path": "/api/v1/x", "headers": [], "client": (address, 1)}
        await request_bodies.limit_bodies(lambda _, *both: keep(held, *both))(scope, receive, send)
        return statuses[0]

    async def all_of_them():
        pending = [asyncio.create_task(ask("a", 2_500))]
        await asyncio.sleep(0)
        assert await ask("a", 2_500) == 503
        pending.append(asyncio.create_task(ask("b", 2_400)))
        await asyncio.sleep(0)
        assert await ask("c", 2_400) == 503
        held.set()
        assert await asyncio.gather(*pending) == [200, 200]
        assert await ask("c", 2_400) == 200

    asyncio.run(all_of_them())
