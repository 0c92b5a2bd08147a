"""The web server's log tells who read what, and opens nothing."""

import logging
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.sites import serve
from tests.stores import copy_store
from webapp.access_log import RedactingFilter, redact

TOKEN = "Zk3-v_9aQ1bW2cE3dR4fT5gY6hU7jI8k"


@pytest.mark.parametrize(
    ("address", "line"),
    [
        (f"/shared/{TOKEN}/s/spring/?page=2", "/shared/…/s/spring/?page=2"),
        (f"/screening/shared/{TOKEN}/", "/screening/shared/…/"),
        (f"/recommendations/{TOKEN}/share/", "/recommendations/…/share/"),
        (f"/recommendations/shared/{TOKEN}/sets.csv", "/recommendations/shared/…/sets.csv"),
        (f"/account/welcome/MQ/{TOKEN}/", "/account/welcome/MQ/…/"),
        ("/s/spring/domains/example.org/", "/s/spring/domains/example.org/"),
        ("/recommendations/new/", "/recommendations/new/"),
    ],
)
def test_what_opens_something_is_left_out(address, line):
    assert redact(address) == line


def test_the_rest_of_the_line_stays():
    args = ("192.0.2.1:5", "GET", f"/shared/{TOKEN}/", "1.1", 200)
    record = logging.LogRecord("uvicorn.access", 20, "", 0, '%s - "%s %s HTTP/%s" %d', args, None)
    assert RedactingFilter().filter(record)
    assert record.getMessage() == '192.0.2.1:5 - "GET /shared/…/ HTTP/1.1" 200'


def test_a_running_server_writes_no_secret_no_long_line_and_no_trace(tmp_path):
    store, log = tmp_path / "data", tmp_path / "web.log"
    store.mkdir()
    copy_store(store)
    with log.open("wb") as lines, serve(store, "info", lines) as address:
        ask(address, f"/recommendations/shared/{TOKEN}/", method="POST")
        ask(address, "/" + 60_000 * "x")
        ask(address, "/beacon/0123456789abcdef.js")
        ask(address, "/about/", headers={"Host": "elsewhere.example"})
        ask(address, "/about/", headers={"X-Forwarded-For": "192.0.2.9"})
    text = log.read_text()
    assert "Forbidden (CSRF cookie not set.): /recommendations/shared/…/" in text
    assert TOKEN not in text
    beacons = [line for line in text.splitlines() if "GET /beacon/" in line]
    assert beacons
    assert "127.0.0.1" not in beacons[0]
    assert max(map(len, text.splitlines())) < 700
    assert "Traceback" not in text
    assert "elsewhere.example" not in text
    # An address that anybody may write is not the client's.
    assert "192.0.2.9" not in text


def ask(address, path, **more):
    with suppress(HTTPError):
        urlopen(Request(address + path, **more), timeout=60).close()
