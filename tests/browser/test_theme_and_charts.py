"""The theme is kept, and charts follow it."""

from typing import Any

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
