import gzip
import json
import socket
import threading
import time
from contextlib import contextmanager
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from urllib.parse import parse_qs, urlsplit

import pytest

from core.clock import FakeClock
from core.errors import BadInput
from core.statuses import Technique
from crawlers.sources.base import Zone
from crawlers.sources.certificates import CertificateConfig, Certificates
from crawlers.sources.web_client import WebLimits
from tests.delays import within

DOMAIN = "alder.test"


def row(*names, common="", ends="2026-01-01T00:00:00"):
    return {
        "issuer_ca_id": 1,
        "issuer_name": "C=XX, O=Nobody, CN={T1}",
        "common_name": common or names[0],
        "name_value": "\n".join(names),
        "id": 7,
        "not_before": "2025-01-01T00:00:00",
        "not_after": ends,
        "serial_number": "00",
    }


class Reply:
    """One scripted reply: headers and a body, in full or not."""

    def __init__(self, body=b"[]", status=200, length=None, **headers):
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status
        self.length = len(self.body) if length is None else length
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()}
        self.before = lambda handler: None

    def send(self, handler):
        handler.send_response(self.status)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        if self.length >= 0:
            handler.send_header("Content-Length", str(self.length))
        handler.end_headers()
        handler.wfile.write(self.body)


class Log(ThreadingHTTPServer):
    """Gives the scripted replies in turn, the last one for ever, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = list(replies)
        self.asked = []
        self.open = self.most_open = 0
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """Clients that hang up are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        with server.lock:
            server.asked.append((self.path, dict(self.headers), time.monotonic()))
            reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
            server.open += 1
            server.most_open = max(server.most_open, server.open)
        reply.before(self)
        with server.lock:
            # A client that has the whole reply may ask again before this thread goes on.
            server.open -= 1
        reply.send(self)

    def log_message(self, *args):
        """Quiet."""


@contextmanager
def log_of(*replies):
    server = Log(replies)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


LIMITS = WebLimits(interval_s=0, silence_s=5, whole_s=5)


def source_of(server, clock=None, **options):
    options = {"limits": LIMITS, "contact": "survey@alder.test"} | options
    return Certificates(CertificateConfig(server.url, **options), clock or FakeClock())


def search(*replies, **options):
    with log_of(*replies) as server:
        (harvest,) = source_of(server, **options).harvest([Zone(DOMAIN)], None)
        return harvest, server


def test_names_of_certificates_are_found_latest_first():
    rows = [
        row("old.alder.test", ends="2019-01-01T00:00:00"),
        row("www.alder.test", "api.alder.test", ends="2026-06-01T00:00:00"),
        row("old.alder.test", "mid.alder.test", ends="2024-01-01T00:00:00"),
    ]
    harvest, server = search(Reply(rows))
    assert harvest.names == tuple(f"{x}.alder.test" for x in ("api", "www", "mid", "old"))
    assert (harvest.status, harvest.complete, harvest.queries, harvest.failed) == (
        "OK",
        True,
        1,
        {},
    )
    ((path, headers, _),) = server.asked
    assert path == "/?q=%25.alder.test&output=json"
    assert parse_qs(urlsplit(path).query) == {"q": ["%.alder.test"], "output": ["json"]}
    assert headers["User-Agent"] == "Nephoscope/0.1 (+survey@alder.test)"
    assert headers["Host"] == server.url.removeprefix("http://")


def test_what_is_no_name_of_the_zone_is_counted():
    rows = [
        row("*.wild.alder.test", "*.alder.test", common="me@alder.test"),
        row("b\u00fccher.alder.test", "WWW.Alder.Test", common="Some Company Ltd"),
        row("notalder.test", "alder.test.evil.test", "192.0.2.1", common="other.test"),
        {"id": 5},
        "text",
        {"name_value": None, "common_name": "cn.alder.test"},
    ]
    harvest, _ = search(Reply(rows))
    names = {n.removesuffix(f".{DOMAIN}") for n in harvest.names}
    assert names == {"wild", "xn--bcher-kva", "www", "cn"}
    assert harvest.failed == {"EMAIL": 1, "INVALID": 2, "OUTSIDE": 3, "BROKEN": 2}
    assert (harvest.status, harvest.complete) == ("MALFORMED", False)


def test_nothing_found_is_an_answer():
    harvest, _ = search(Reply([]))
    assert (harvest.status, harvest.names, harvest.complete) == ("OK", (), True)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again_with_growing_pauses(status):
    clock = FakeClock()
    busy = Reply(b"<html>busy</html>", status)
    harvest, server = search(busy, busy, Reply([row("a.alder.test")]), clock=clock)
    assert (harvest.status, harvest.names) == ("OK", ("a.alder.test",))
    assert harvest.failed == {"BUSY": 2}
    assert (harvest.queries, clock.monotonic()) == (3, 2 + 4)


def test_a_server_that_stays_busy_is_left_alone():
    with log_of(Reply(b"", 503)) as server:
        zones = [Zone(f"z{i}.test") for i in range(6)]
        harvests = list(source_of(server, attempts=2).harvest(zones, None))
    assert [h.status for h in harvests] == ["BUSY"] * 3 + ["SKIPPED"] * 3
    assert len(server.asked) == 6
    assert not any(h.complete for h in harvests)


def test_a_refusal_is_not_repeated():
    harvest, server = search(Reply(b"no", 403))
    assert (harvest.status, len(server.asked)) == ("REFUSED", 1)


def test_retry_after_is_kept_as_seconds_and_as_a_date():
    clock = FakeClock()
    search(Reply(b"", 429, Retry_After="50"), Reply([]), clock=clock)
    assert clock.monotonic() == pytest.approx(50)
    clock = FakeClock()
    at = FakeClock()
    at.sleep(70)
    search(Reply(b"", 503, Retry_After=format_datetime(at.now())), Reply([]), clock=clock)
    assert clock.monotonic() == pytest.approx(70, abs=1)


def test_a_server_that_wants_long_peace_is_not_asked_for_other_zones_either():
    with log_of(Reply(b"", 429, Retry_After="7200")) as server:
        zones = [Zone("a.test"), Zone("b.test")]
        harvests = list(source_of(server).harvest(zones, None))
        assert [h.status for h in harvests] == ["BUSY", "BUSY"]
        assert len(server.asked) == 1


def test_there_is_a_pause_between_zones():
    with log_of(Reply([])) as server:
        clock = FakeClock()
        source = source_of(server, clock, limits=WebLimits(interval_s=3))
        list(source.harvest([Zone("a.test"), Zone("b.test"), Zone("c.test")], None))
    assert clock.monotonic() == pytest.approx(6)


def test_one_request_at_a_time_whoever_asks():
    slow = Reply([])
    slow.before = lambda handler: time.sleep(0.03)
    with log_of(slow) as server:

        def run(name):
            list(source_of(server).harvest([Zone(f"{name}{i}.test") for i in range(3)], None))

        threads = [threading.Thread(target=run, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(server.asked), server.most_open) == (9, 1)


def test_silence_and_dripping_end_in_time():
    def drip(handler):
        handler.wfile.write(b"HTTP/1.0 200 OK\r\n")
        for _ in range(100):
            handler.wfile.write(b"X-Drip: 1\r\n")
            time.sleep(0.05)

    silent, dripping = Reply(), Reply()
    silent.before = lambda handler: time.sleep(0.6)
    dripping.before = drip
    limits = WebLimits(interval_s=0, silence_s=0.2, whole_s=0.5)
    with within(4):
        harvest, server = search(silent, Reply([row("a.alder.test")]), limits=limits)
        assert (harvest.status, harvest.failed) == ("OK", {"TIMEOUT": 1})
        harvest, server = search(dripping, limits=limits)
        assert (harvest.status, harvest.complete) == ("TIMEOUT", False)


FULL = json.dumps([row(f"h{i}.alder.test") for i in range(1000)]).encode()


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(FULL[:100_000]), "TRUNCATED"),
        (Reply(FULL[:100_000], length=len(FULL)), "TRUNCATED"),
        (Reply(FULL[:100_000], length=-1), "TRUNCATED"),
        (Reply(gzip.compress(FULL, mtime=0)[:2_000], Content_Encoding="gzip"), "TRUNCATED"),
        (Reply(b'5\r\n[{"na\r\nZZ\r\n', length=-1, Transfer_Encoding="chunked"), "TRUNCATED"),
        (Reply(b"<html><body>502</body></html>"), "MALFORMED"),
        (Reply(b"[" + b"{]" * 5_000), "MALFORMED"),
        (Reply(b"[" + b'{"a":' * 100_000), "MALFORMED"),
        (Reply(b'{"a":' * 5), "TRUNCATED"),
        (Reply(b""), "TRUNCATED"),
        (Reply(FULL, Content_Encoding="br"), "MALFORMED"),
        (Reply(b"\x1f\x8bnonsense", Content_Encoding="gzip"), "MALFORMED"),
    ],
    ids=[
        "cut",
        "shorter than stated",
        "closed early",
        "gzip cut",
        "chunks",
        "html",
        "braces",
        "nested",
        "open",
        "empty",
        "encoding",
        "gzip",
    ],
)
def test_a_broken_reply_gives_what_is_whole_and_says_so(reply, status):
    harvest, server = search(reply, attempts=2)
    assert (harvest.status, harvest.complete) == (status, False)
    assert len(server.asked) in (1, 2)
    if len(reply.body) == 100_000:
        assert 200 < len(harvest.names) < 1000
        assert harvest.failed == {"TRUNCATED": 2}


def test_the_fullest_of_broken_replies_is_kept():
    harvest, _ = search(Reply(FULL[:200_000]), Reply(FULL[:9_000]), attempts=2)
    assert 500 < len(harvest.names) < 1000
    harvest, _ = search(Reply(FULL[:200_000]), Reply(FULL), attempts=2)
    assert (len(harvest.names), harvest.status) == (1000, "OK")


def test_a_broken_row_costs_only_itself():
    rows = [json.dumps(row(f"h{i}.alder.test")) for i in range(3)]
    rows[1] = rows[1].replace('"id": 7', '"id": seven')
    harvest, _ = search(Reply(("[" + ",\n".join(rows) + "]").encode()))
    assert harvest.names == ("h0.alder.test", "h2.alder.test")
    assert (harvest.status, harvest.failed) == ("MALFORMED", {"BROKEN": 1})


def test_gzip_is_read_and_bombs_are_refused():
    harvest, server = search(Reply(gzip.compress(FULL), Content_Encoding="gzip"))
    assert (len(harvest.names), harvest.status) == (1000, "OK")
    assert "gzip" in server.asked[0][1]["Accept-Encoding"]
    bomb = gzip.compress(b"[" + b" " * 40_000_000)
    harvest, server = search(Reply(bomb, Content_Encoding="gzip"))
    assert (harvest.status, len(server.asked)) == ("BUDGET", 1)
    limits = WebLimits(interval_s=0, octets=50_000)
    harvest, server = search(Reply(FULL), limits=limits)
    assert (harvest.status, harvest.complete, len(server.asked)) == ("BUDGET", False, 1)


def test_names_are_bounded_and_the_latest_stay():
    rows = [row(f"h{i}.alder.test", ends=f"20{i:02}-01-01T00:00:00") for i in range(10, 60)]
    harvest, _ = search(Reply(rows), names=5)
    assert harvest.names == tuple(f"h{i}.alder.test" for i in range(59, 54, -1))
    assert (harvest.status, harvest.complete) == ("BUDGET", False)


def test_a_redirect_on_the_same_server_is_followed():
    first = Reply(b"", 302, Location="/search?q=1&output=json")
    harvest, server = search(first, Reply([row("a.alder.test")]))
    assert (harvest.status, harvest.queries) == ("OK", 2)
    assert [path for path, _, _ in server.asked][1] == "/search?q=1&output=json"


def test_redirects_lead_to_no_private_network_unless_allowed():
    with log_of(Reply([row("a.alder.test")])) as inner:
        moved = Reply(b"", 301, Location=f"{inner.url}/x")
        harvest, _ = search(moved)
        assert (harvest.status, inner.asked) == ("REDIRECT", [])
        harvest, _ = search(moved, allowed_networks=(ip_network("127.0.0.0/8"),))
        assert (harvest.status, harvest.names) == ("OK", ("a.alder.test",))


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/",
        "http://[::1]:9/",
        "http://localhost/",
        "ftp://a.test/",
        "file:///etc/passwd",
        "http://a.test:99999/",
        "",
        "/loop",
        "http://a b/",
        "http://[x/",
    ],
)
def test_other_redirects_end_the_search(location):
    harvest, server = search(Reply(b"", 302, Location=location))
    assert (harvest.status, harvest.names) == ("REDIRECT", ())
    assert len(server.asked) == (4 if location == "/loop" else 1)


def test_a_server_that_is_not_there():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        source = Certificates(CertificateConfig(url, limits=LIMITS), FakeClock())
        (harvest,) = source.harvest([Zone(DOMAIN)], None)
    assert (harvest.status, harvest.failed, harvest.complete) == ("NETWORK", {"NETWORK": 4}, False)


def test_a_huge_reply_is_read_row_by_row():
    import tracemalloc

    rows = b",".join(
        json.dumps(row(*(f"h{i % 50}-{j}.alder.test" for j in range(20)))).encode()
        for i in range(4_000)
    )
    with log_of(Reply(b"[" + rows + b"]")) as server:
        tracemalloc.start()
        (harvest,) = source_of(server, limits=WebLimits(whole_s=60)).harvest([Zone(DOMAIN)], None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (len(harvest.names), harvest.status) == (1000, "OK")
    assert len(rows) > 2_000_000
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "url",
    [
        "crt.sh",
        "ftp://a.test",
        "http://",
        "http://u@a.test",
        "http://a.test/?q=1",
        "http://a.test:0",
        "http://a.test:x",
        "http://a.test/\n",
        "http://\u00fc.test",
    ],
)
def test_a_server_is_given_as_a_plain_url(url):
    with pytest.raises(BadInput):
        CertificateConfig(url)


@pytest.mark.parametrize("contact", ["a\r\nX: y", "\u00fc@a.test", "(a"])
def test_a_contact_cannot_forge_headers(contact):
    with pytest.raises(BadInput):
        CertificateConfig("https://ct.test", contact=contact)


def test_the_source_says_what_it_is():
    source = Certificates(CertificateConfig("https://ct.test/base/"))
    assert (source.technique, source.is_zone_data) == (Technique.CERTIFICATE, False)
    assert source.config.user_agent == "Nephoscope/0.1"
    assert source.config.url_of("a.test") == "https://ct.test/base/?q=%25.a.test&output=json"
