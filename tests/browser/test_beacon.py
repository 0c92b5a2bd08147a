"""A beacon in a real browser: targets of known delays, and the medians that come of them."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.forks import manage

# The control is answered at once: what browser, server and a loaded machine add to each.
CONTROL = "aws/control"
DELAYS_MS = {CONTROL: 0, "aws/near": 20, "aws/middle": 60, "aws/far": 120}
VIEWS = 10
TOLERANCE_MS = 3.0
MAKE = """
import json, sys
from django.contrib.auth import get_user_model
from webapp.store.ranges import geolocation
from webapp.store.recommendations import beacons
geolocation.import_file(b"127.0.0.0/8,DE,,Berlin,\\n", file_name="places.csv")
owner, _ = get_user_model().objects.get_or_create(username="beacons")
given = beacons.Settings("Shop", {targets!r}, [{origin!r}], sample_share=1.0)
sys.stdout.write(beacons.create(owner, given).key)
"""
READ = """
import json, sys
from webapp.store.recommendations import beacons
rows = beacons.medians(beacons.find({key!r}))
json.dump({{row.region: [row.country, row.rtt_ms, row.n] for row in rows}}, sys.stdout)
"""


@contextmanager
def targets(page: dict[str, str], delays_ms: dict[int, list[float]]) -> Iterator[str]:
    """Answer ``/MS`` after so many milliseconds, with ``Timing-Allow-Origin``, and serve a page.

    ``delays_ms`` gets how long each request to ``/MS`` was held: a busy machine holds it longer.
    """

    class Target(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, began = self.path.strip("/"), time.monotonic()
            if path.isdecimal():
                time.sleep(int(path) / 1000)
                delays_ms[int(path)].append(1000 * (time.monotonic() - began))
            body = page.get(path, "").encode()
            self.send_response(200)
            self.send_header("Timing-Allow-Origin", "*")
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Requests are not logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Target) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def shell(gallery: Gallery, text: str) -> str:
    done = manage(gallery.folder, "shell", "-v", "0", "-c", text)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_medians_of_a_beacon_are_the_delays_of_its_targets(chromium: Any, gallery: Gallery) -> None:
    # A machine that is busy for a while delays some targets more than the control.
    for _ in range(3):
        found, held_ms = visit_page(chromium, gallery)
        assert all(found[region][::2] == ["DE", VIEWS] for region in DELAYS_MS)
        late_ms = {r: found[r][1] - median(held_ms[ms]) for r, ms in DELAYS_MS.items()}
        most_ms = TOLERANCE_MS + found[CONTROL][1]
        if all(-TOLERANCE_MS <= late <= most_ms for late in late_ms.values()):
            return
    pytest.fail(f"medians are not the delays of the targets: {found}, {held_ms}")


def visit_page(
    chromium: Any, gallery: Gallery
) -> tuple[dict[str, list[Any]], dict[int, list[float]]]:
    """Open a page with a new beacon several times.

    Return country, median and n by region, and how long the targets held each request.
    """
    page: dict[str, str] = {}
    held_ms: dict[int, list[float]] = {ms: [] for ms in DELAYS_MS.values()}
    with targets(page, held_ms) as origin:
        urls = {region: f"{origin}/{ms}" for region, ms in DELAYS_MS.items()}
        key = shell(gallery, MAKE.format(targets=urls, origin=origin))
        page["page"] = f'<script async src="{gallery.base}/beacon/{key}.js"></script>'
        context = chromium.new_context()
        sent: list[int] = []
        cookies: list[Any] = []
        context.on("request", lambda request: cookies.append(request.headers.get("cookie")))
        context.on("response", lambda r: sent.append(r.status) if r.url.endswith(key) else None)
        tabs = [context.new_page() for _ in range(VIEWS)]
        for tab in tabs:
            tab.goto(f"{origin}/page")
        for _ in range(300):
            if len(sent) == VIEWS:
                break
            tabs[-1].wait_for_timeout(100)
        assert sent == [204] * VIEWS
        assert not context.cookies()
        assert not any(cookies)
        context.close()
    return dict(json.loads(shell(gallery, READ.format(key=key)))), held_ms
