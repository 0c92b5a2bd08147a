"""The theme is kept, and charts follow it."""

import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

PAPER = "getComputedStyle(document.body).backgroundColor"


def test_it_works(visit: Any) -> None:
    page = visit("/s/{atlas}/reports/patterns/")
    page.wait_for_selector("[data-chart] svg")
    before, bars = page.evaluate(PAPER), page.inner_html("[data-chart='patterns'] svg")
    page.click("[data-theme-toggle]")
    assert page.evaluate(PAPER) != before
    page.wait_for_function(
        "(old) => document.querySelector('[data-chart=patterns] svg').innerHTML !== old", arg=bars
    )
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_chart_draws_every_row_and_the_published_marks(visit: Any) -> None:
    page = visit("/s/{atlas}/reports/regions/")
    page.wait_for_selector("[data-chart='regions'] svg")
    text = page.inner_text("[data-chart='regions']")
    assert "us-east-1" in text
    assert "73.8" in text
    assert "Thin marks" in page.inner_text("main")
    # Then and now change places in the drawn chart.
    before = page.inner_html("[data-chart='regions'] svg")
    page.click("[data-lens=then] >> nth=0")
    page.wait_for_function(
        "(old) => document.querySelector('[data-chart=regions] svg').innerHTML !== old", arg=before
    )
    assert page.get_attribute("[data-lens=then] >> nth=0", "aria-pressed") == "true"
    assert "73.8" in page.inner_text("[data-chart='regions']")


def test_a_running_survey_is_live(visit: Any) -> None:
    page = visit("/s/{running}/")
    page.wait_for_function("document.title.startsWith('41')")
    assert "7,031" in page.inner_text("[data-progress]")


def test_a_lost_chart_library_leaves_the_table(chromium: Any, gallery: Any) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.route("**/echarts.min.js", lambda route: route.abort())
    page.goto(gallery.at("/s/{atlas}/reports/regions/"))
    page.wait_for_selector("text=The chart could not be loaded")
    assert "521,681" in page.inner_text("#table-regions")
    context.close()


def test_a_chart_is_saved_as_a_picture_that_says_where_it_is_from(
    visit: Any, tmp_path: Path
) -> None:
    page = visit("/s/{atlas}/reports/regions/")
    page.wait_for_selector("[data-chart='regions'] svg")
    saved = {}
    for kind in ("svg", "png"):
        with page.expect_download() as found:
            page.locator(f"[data-image={kind}]").first.click()
        saved[kind] = tmp_path / found.value.suggested_filename
        found.value.save_as(saved[kind])
    assert [path.name for path in saved.values()] == [
        "top-domains-of-march-2013-regions.svg",
        "top-domains-of-march-2013-regions.png",
    ]
    texts = ElementTree.parse(saved["svg"]).iter("{http://www.w3.org/2000/svg}text")
    text = "".join("".join(one.itertext()) for one in texts)
    for words in ("73.8", "Amazon-hosted", "us-east-1", "n = 713,910", "/reports/regions/"):
        assert words in text
    # The address in the picture shows these figures, whatever is computed later.
    address = re.search(r"http://\S+\?snapshot=[0-9a-f]{16}", text)[0]
    page.goto(address)
    assert "Snapshot" in page.inner_text(".pinned")
    width, height = struct.unpack(">II", saved["png"].read_bytes()[16:24])
    assert width > 1900
    assert height > 800
