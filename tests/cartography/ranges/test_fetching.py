"""Fetching over HTTP from a real server on loopback: what has changed, and what went wrong."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cartography.ranges.fetching import Mark, fetch
from cartography.ranges.providers.azure import locate
from core.errors import BadInput, Unavailable

BODY = b'{"createDate": "2013-03-29-00-00-00"}'


class Publisher:
    """A server whose next replies are set by the test; it keeps the headers of what was asked."""

    def __init__(self):
        self.replies = {}
        self.asked = []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                publisher.asked.append(dict(self.headers))
                status, headers, body = publisher.replies.get(self.path, (404, {}, b""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def publish(self, path, body=BODY, status=200, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("Content-Length", str(len(body)))
        self.replies[path] = (status, named, body)
        return Mark(self.url(path))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def publisher():
    found = Publisher()
    yield found
    found.close()


def test_it_works(publisher):
    mark = publisher.publish("/a.json", ETag='"one"', Last_Modified="Fri, 29 Mar 2013 00:00:00 GMT")

    found = fetch(mark)
    assert found.data == BODY
    assert found.mark == Mark(mark.url, '"one"', "Fri, 29 Mar 2013 00:00:00 GMT")
    assert "nephoscope" in publisher.asked[0]["User-Agent"]
    assert "If-None-Match" not in publisher.asked[0]


def test_what_is_known_is_asked_for_only_if_it_has_changed(publisher):
    publisher.publish("/a.json", b"", status=304)
    known = Mark(publisher.url("/a.json"), '"one"', "Fri, 29 Mar 2013 00:00:00 GMT")

    assert fetch(known) is None
    assert publisher.asked[0]["If-None-Match"] == '"one"'
    assert publisher.asked[0]["If-Modified-Since"] == "Fri, 29 Mar 2013 00:00:00 GMT"


def test_a_packed_reply_is_taken_as_it_is(publisher):
    packed = gzip.compress(BODY)

    assert fetch(publisher.publish("/a", packed, Content_Encoding="gzip")).data == packed


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_server_in_trouble_may_answer_later(publisher, status):
    with pytest.raises(Unavailable, match=str(status)):
        fetch(publisher.publish("/a", status=status))


@pytest.mark.parametrize("status", [400, 403, 404, 410])
def test_a_refusal_is_final(publisher, status):
    with pytest.raises(BadInput, match=str(status)):
        fetch(publisher.publish("/a", status=status))


def test_a_reply_that_is_cut_off(publisher):
    with pytest.raises(Unavailable):
        fetch(publisher.publish("/a", BODY[:10], Content_Length=str(len(BODY))))


def test_nobody_listens(publisher):
    mark = publisher.publish("/a")
    publisher.close()

    with pytest.raises(Unavailable):
        fetch(mark, timeout_s=2)


def test_a_redirect_is_followed_within_reason(publisher):
    publisher.publish("/b")
    publisher.publish("/a", b"", status=302, Location=publisher.url("/b"))
    publisher.publish("/plain", b"", status=302, Location="http://192.0.2.1/b")
    publisher.publish("/file", b"", status=302, Location="file:///etc/hostname")

    assert fetch(Mark(publisher.url("/a"))).data == BODY
    for path in ("/plain", "/file"):
        with pytest.raises(BadInput, match="https only|not allowed"):
            fetch(Mark(publisher.url(path)))


@pytest.mark.parametrize("url", ["http://192.0.2.1/a", "file:///etc/hostname", "ftp://a/b", "x"])
def test_only_encrypted_sources_are_asked(url):
    with pytest.raises(BadInput, match="https only"):
        fetch(Mark(url))


PAGE = b"""<a href="https://elsewhere.example/d/ServiceTags_Public_20240617.json">old</a>
<a href="https://download.microsoft.com/d/7/ServiceTags_Public_20240624.json">Download</a>"""


def test_azures_page_leads_to_its_file():
    url = "https://www.microsoft.com/en-us/download/details.aspx?id=56519"

    assert locate(PAGE, url).endswith("download.microsoft.com/d/7/ServiceTags_Public_20240624.json")
    with pytest.raises(BadInput, match="leads to no file"):
        locate(PAGE.split(b"\n")[0], url)
