"""Every report reads as text and table where no script runs."""

from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.browser.visitor import expect_count

READS = {
    "/": ("See where any site runs", "521,681", "Simulate this outage"),
    "/?fail=aws.us-east-1": ("Without N. Virginia", "N. Virginia is down", "Restore"),
    "/ask/?q=DE 40, US 35": ("Clients in 2 countries", "Find the best regions"),
    "/s/{atlas}/map/": ("Where the web is hosted", "521,681", "The map needs JavaScript"),
    "/s/{atlas}/": ("of Amazon-hosted subdomains", "34,018,224"),
    "/s/{atlas}/reports/regions/": ("73.8", "us-east-1", "521,681", "How we know"),
    "/s/{atlas}/domains/linkedin.com/": ("linkedin.com has names on Amazon and", "Load balancer"),
    "/s/{atlas}/names/www.linkedin.com/": ("lb-7.us-east-1.elb.amazonaws.com", "aws-elb"),
    "/compare/{atlas}/{later}/": ("us-west-1", "Before and after", "713,910"),
    "/s/{atlas}/outages/": (
        "If us-east-1 (N. Virginia) fails",
        "What may fail",
        "Domains that fail with us-east-1",
    ),
    "/s/{atlas}/domains/linkedin.com/history/": ("changed once over 2 surveys", "us-west-1"),
    "/s/{running}/": ("Locating 1,000 domains", "TIMEOUT"),
    "/surveys/new/": ("See the plan",),
}


@pytest.mark.parametrize("path", READS)
def test_it_works(visit: Any, path: str) -> None:
    text = visit(path, script=False).inner_text("body")
    for words in READS[path]:
        assert words in text


# Frames that nothing was drawn into: high, and without a word, a picture or a control.
EMPTY = """() => [...document.querySelectorAll("main *")].filter((e) => e.offsetHeight >= 100
  && !e.closest("svg") && !e.textContent.trim()
  && !e.querySelector("svg, img, input, textarea, select, progress, button"))
  .map((e) => e.outerHTML.slice(0, 120))"""
FRAMED = (
    "/",
    "/s/{atlas}/reports/regions/",
    "/s/{atlas}/reports/outages/",
    "/s/{atlas}/outages/",
    "/s/{empty}/map/",
    "/traffic/",
)


@pytest.mark.parametrize("width", [1440, 390])
def test_no_frame_is_empty(visit: Any, gallery: Gallery, width: int) -> None:
    page = visit(FRAMED[0], width=width, script=False)
    for path in FRAMED:
        page.goto(gallery.at(path))
        assert page.evaluate(EMPTY) == [], path
        # The table follows its headline at once.
        for box in page.locator("[data-chart], #map.map__canvas").all():
            assert not box.is_visible(), path


def test_sorting_and_theme_are_not_offered(visit: Any) -> None:
    page = visit("/s/{atlas}/reports/regions/", script=False)
    expect_count(page.locator(".grid__sort"), 0)
    assert not page.locator("[data-theme-toggle]").is_visible()


def test_the_theme_follows_the_system(visit: Any) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit("/about/", theme="light"), visit("/about/", theme="dark")
    assert light.evaluate(paper) != dark.evaluate(paper)


def test_a_list_becomes_a_plan_and_a_waiting_survey(visit: Any) -> None:
    page = visit("/surveys/new/", script=False)
    page.fill("#id_domains", "example.org\nexa mple.com\nexample.org\nexample.net")
    page.click("text=See the plan")
    text = page.inner_text("main")
    assert "2 domains, about" in text
    assert "1 line left out" in text
    page.click("text=Run the survey")
    assert "/s/" in page.url
    assert "Waiting for a worker" in page.inner_text("main")
