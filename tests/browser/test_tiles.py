"""A tile server of one's own under the map: the only other address that a page may ask."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.browser.visitor import expect_count
from tests.sites import filled, serve

# One grey pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)


@contextmanager
def tile_server() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Tiles(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.end_headers()
            self.wfile.write(PNG)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Tiles)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/land/{{z}}/{{x}}/{{y}}.png", asked
    server.shutdown()
    server.server_close()


def test_it_works(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, slugs = filled("tests.pages.fill", tmp_path_factory)
    more = {"NEPHOSCOPE_MAP_TILES_CREDIT": "Nobody & Sons"}
    with tile_server() as (url, asked), serve(folder, NEPHOSCOPE_MAP_TILES_URL=url, **more) as base:
        page = chromium.new_page(reduced_motion="reduce", viewport={"width": 1440, "height": 900})
        refused: list[str] = []
        page.on("console", lambda message: refused.append(message.text))
        page.goto(f"{base}/s/{slugs['atlas']}/map/")
        page.wait_for_selector("img.leaflet-tile-loaded")
        expect_count(page.locator("#map .land"), 0)
        assert "Nobody & Sons" in page.inner_text("#map-legend")
        page.locator(".pin[aria-label*='Sydney']").click()
        assert "Sydney" in page.inner_text("#drawer")
        page.wait_for_function("document.querySelectorAll('img.leaflet-tile-loaded').length > 5")
        page.close()
    assert refused == []
    assert all(path.startswith("/land/") and path.endswith(".png") for path in asked)
