"""The queue of a port plays while it is seen, stops, steps, and rests with reduced motion."""

import re
from typing import Any

CLOCK = "[data-clock]"
BOXES = "[data-lane='{}'] .packet--short"


def _time(page: Any) -> int:
    return int(re.sub(r"\D", "", page.inner_text(CLOCK)))


def test_it_plays_stops_and_steps(chromium: Any, gallery: Any) -> None:
    context = chromium.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.goto(gallery.at("/inside/switch-priority/"))
    page.locator("[data-port-drawing]").scroll_into_view_if_needed()
    page.wait_for_function(f"parseInt(document.querySelector('{CLOCK}').textContent) !== 151")
    page.get_by_role("button", name="Pause").click()
    stopped = _time(page)
    page.wait_for_timeout(100)
    assert _time(page) == stopped
    page.locator("[data-time]").fill("200")
    assert _time(page) == 200
    # The short packets still wait in one queue, and are gone with two.
    assert page.locator(BOXES.format(0)).count() == 2
    assert page.locator(BOXES.format(1)).count() == 0
    page.get_by_role("button", name="Next event").click()
    assert 200 < _time(page) <= 212
    context.close()


def test_with_reduced_motion_it_only_steps(visit: Any) -> None:
    page = visit("/inside/")
    page.get_by_role("button", name="Next event").wait_for()
    page.locator("[data-port-drawing]").scroll_into_view_if_needed()
    assert page.get_by_role("button", name="Play").count() == 0
    page.wait_for_timeout(100)
    before = _time(page)
    page.get_by_role("button", name="Next event").click()
    assert _time(page) > before
