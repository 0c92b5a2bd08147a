"""The map: nothing hides anything, and the address remembers what is seen."""

from typing import Any

import pytest

from tests.browser.visitor import expect_count

_BOXES = """(selector) => [...document.querySelectorAll(selector)].map((e) => {
  const r = e.getBoundingClientRect();
  return [r.left, r.top, r.right, r.bottom];
})"""
LABELS = ".pins .place:not(.place--still)"


def collide(a: list[float], b: list[float], slack: float = 0.5) -> bool:
    return (
        a[0] + slack < b[2] and b[0] + slack < a[2] and a[1] + slack < b[3] and b[1] + slack < a[3]
    )


def boxes(page: Any, selector: str) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(_BOXES, selector)
    return found


@pytest.mark.parametrize("width", [360, 768, 1440, 1920])
def test_it_works(visit: Any, width: int) -> None:
    page = visit("/s/{atlas}/map/", width=width)
    page.wait_for_selector(".pin")
    labels, pins = boxes(page, LABELS), boxes(page, ".pin__dot")
    assert len(labels) >= 6
    assert len(pins) == 17
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :]]
    assert not [p for p in pairs if collide(*p)]
    assert not [(a, b) for a in labels for b in pins if collide(a, b)]
    assert not [(a, b) for i, a in enumerate(pins) for b in pins[i + 1 :] if collide(a, b, 3)]


@pytest.mark.parametrize("region", ["aws.us-east-1", "aws.ap-southeast-2", "azure.southeastasia"])
def test_the_drawer_never_hides_its_region(visit: Any, region: str) -> None:
    page = visit(f"/s/{{atlas}}/map/#region={region}")
    page.wait_for_selector(".pin.is-selected")
    drawer, pin = boxes(page, "#drawer")[0], boxes(page, ".pin.is-selected")[0]
    frame = boxes(page, "#map")[0]
    assert not collide(drawer, pin)
    assert collide(frame, pin)


def test_the_address_keeps_the_view(visit: Any) -> None:
    page = visit("/s/{atlas}/map/#region=aws.sa-east-1&at=-10.0,-50.0,2.5")
    page.wait_for_selector(".pin.is-selected")
    page.reload()
    page.wait_for_selector(".pin.is-selected")
    assert "São Paulo" in page.inner_text("#drawer")
    assert "at=-10.0,-50.0,2.5" in page.url


def test_a_click_on_a_circle_opens_and_on_the_sea_closes(visit: Any) -> None:
    page = visit("/s/{atlas}/map/")
    page.wait_for_selector(".pin")
    page.locator(".pin[aria-label*='Sydney']").click()
    assert "Sydney" in page.inner_text("#drawer")
    page.locator("[data-close]").click()
    assert not page.locator("#drawer").is_visible()


def test_a_survey_without_regions_has_a_map_all_the_same(visit: Any) -> None:
    page = visit("/s/{empty}/map/")
    page.wait_for_selector("#map .land", state="attached")
    expect_count(page.locator(".pin"), 0)


def test_the_map_fits_whatever_the_screen_becomes(visit: Any) -> None:
    page = visit("/s/{atlas}/map/", width=390)
    page.wait_for_selector("#map .land", state="attached")
    for width in (420, 700, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            """() => {
              const map = document.querySelector("#map");
              const pins = [...document.querySelectorAll(".pin")];
              const xs = pins.map((e) => e.getBoundingClientRect().left);
              return (Math.max(...xs) - Math.min(...xs)) / map.clientWidth > 0.55;
            }"""
        )
    assert "at=" not in page.url
