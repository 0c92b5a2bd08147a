"""Static files: packed where that is worth it, and the same bytes for everybody."""

import gzip
import re

import pytest
from django.test import Client

from webapp.pages.ui.static_files import compress

BASEMAP = "/static/nephoscope/js/basemap.js"


def fetch(path, **headers):
    answer = Client().get(path, headers=headers)
    return answer, b"".join(answer.streaming_content)


def test_it_works():
    plain, text = fetch(BASEMAP)
    packed, body = fetch(BASEMAP, accept_encoding="br, gzip")
    assert "Content-Encoding" not in plain
    assert (packed["Content-Encoding"], packed["Vary"]) == ("gzip", "Accept-Encoding")
    assert packed["Content-Type"] == plain["Content-Type"]
    assert packed["Content-Type"].startswith("text/javascript")
    assert int(packed["Content-Length"]) == len(body) < len(text) / 2
    assert gzip.decompress(body) == text
    again = Client().get(BASEMAP, headers={"If-None-Match": packed["ETag"]})
    assert again.status_code == 304


def test_what_is_not_smaller_goes_out_as_it_is():
    answer, _ = fetch("/static/nephoscope/mark.svg", accept_encoding="gzip")
    assert "Content-Encoding" not in answer


def test_a_library_is_kept_for_a_day_and_our_own_files_for_a_minute():
    answer, _ = fetch(BASEMAP)
    assert answer["Cache-Control"] == "max-age=60, public"
    library = Client().get("/static/vendor/leaflet/leaflet.js")
    if library.status_code == 404:
        pytest.skip("the browser libraries are not installed; run: make setup")
    assert library["Cache-Control"] == "max-age=86400, public"
    b"".join(library.streaming_content)


def test_a_changed_file_is_packed_anew(tmp_path):
    path, folder = tmp_path / "a.css", tmp_path / "packed"
    path.write_text("a { color: red }\n" * 99)
    first = compress(path, folder)
    assert compress(path, folder) == first
    path.write_text("a { color: blue }\n" * 99)
    assert gzip.decompress(compress(path, folder).read_bytes()) == path.read_bytes()
    assert gzip.decompress(first.read_bytes()) != path.read_bytes()


def test_a_disk_that_refuses_lets_files_go_out_as_they_are(tmp_path):
    folder = tmp_path / "packed"
    folder.write_text("no folder can be made here, as on a full disk")
    script = tmp_path / "a.js"
    script.write_text("let a = 1;\n" * 100)
    assert compress(script, folder) is None
    folder.unlink()
    assert gzip.decompress(compress(script, folder).read_bytes()) == script.read_bytes()


def test_pages_link_to_addresses_that_are_kept_for_ever(client, db):
    text = client.get("/about/").content.decode()
    address = re.search(r'href="(/static/[0-9a-f]{12}/nephoscope/css/tokens\.css)"', text)[1]
    answer, body = fetch(address)
    assert answer["Cache-Control"] == "max-age=31536000, public, immutable"
    # A relative address in a style sheet or script stays below the digest.
    assert b'url("../../vendor/fonts/' in body
    beside, _ = fetch(address.replace("css/tokens.css", "js/basemap.js"), accept_encoding="gzip")
    assert (beside["Content-Encoding"], beside["Cache-Control"]) == (
        "gzip",
        answer["Cache-Control"],
    )
    assert Client().get(address.replace(address[8:20], "0" * 12)).status_code == 404
