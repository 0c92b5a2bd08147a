"""One bounded exchange over HTTP: its size, its end, and where redirects lead."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request

import pytest

from core.errors import BadInput, Unavailable
from core.files import TooLarge
from core.http import NoReply, send


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("X-Key")))
        status, headers, body = self.server.pages[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.pages, server.seen = {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def get(site, path, check=None, limit=1 << 20):
    site.pages.setdefault("/end", (200, {}, b"end"))
    return send(Request(site.url + path, headers={"X-Key": "secret"}), 5, limit, check)


@pytest.mark.parametrize("status", [200, 304, 404, 429, 503])
def test_every_status_is_a_reply(site, status):
    body = b"" if status == 304 else b"text"
    site.pages["/"] = (status, {"Retry-After": "7", "X-Thing": "a"}, body)
    reply = get(site, "/")
    assert (reply.status, reply.body) == (status, body)
    assert reply.headers["retry-after"] == "7"


def test_a_redirect_is_the_reply_where_nobody_checks_it(site):
    site.pages["/"] = (302, {"Location": "/end"}, b"")
    assert get(site, "/").status == 302
    assert site.seen == [("/", "secret")]


def test_each_hop_of_a_redirect_is_checked(site):
    site.pages["/"] = (302, {"Location": "/next"}, b"")
    site.pages["/next"] = (302, {"Location": "/end"}, b"")
    checked = []
    assert get(site, "/", checked.append).body == b"end"
    assert checked == [f"{site.url}/next", f"{site.url}/end"]

    def refuse(url):
        raise BadInput(url)

    with pytest.raises(BadInput, match="/next"):
        get(site, "/", refuse)


def test_a_reply_is_bounded(site):
    site.pages["/"] = (200, {}, bytes(1001))
    with pytest.raises(TooLarge):
        get(site, "/", limit=1000)
    assert len(get(site, "/", limit=1001).body) == 1001


def test_a_reply_that_is_cut_off_is_none(site):
    site.pages["/"] = (200, {"Content-Length": "100"}, b"x" * 60)
    with pytest.raises(NoReply, match="60 of 100 bytes came"):
        get(site, "/")


def test_what_a_server_says_about_an_error_is_cut(site):
    site.pages["/"] = (500, {}, bytes(200_000))
    assert len(get(site, "/", limit=10).body) == 65_536


def test_nobody_there_is_told_without_an_address():
    with pytest.raises(NoReply, match="^Connection refused$") as caught:
        send(Request("http://127.0.0.1:1/"), 5, 10)
    assert isinstance(caught.value, Unavailable)
