"""Measurement campaigns in a browser: every page at both widths, odd ones too, with axe."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.browser.visitor import Visitor
from tests.sites import filled, serve

PAIR = "/wide-area/{demo}/pairs/synthetic-seattle/us-west-2/"
PAGES = (
    "/wide-area/",
    "/wide-area/{demo}/",
    "/wide-area/{demo}/?region=us-east-1",
    "/wide-area/{demo}/?vantage=synthetic-tokyo&view=asia&metric=throughput",
    "/wide-area/{demo}/grid/",
    "/wide-area/{demo}/grid/?show=loss&sort=us-east-1",
    "/wide-area/{demo}/regions/",
    "/wide-area/{demo}/regions/?metric=throughput",
    "/wide-area/{demo}/regions/us-east-1/",
    "/wide-area/{demo}/choice/?metric=throughput",
    "/wide-area/{demo}/zones/",
    "/wide-area/{demo}/isps/",
    "/wide-area/{demo}/failures/",
    "/wide-area/{demo}/method/",
    PAIR,
    f"{PAIR}samples/?round=1",
    f"{PAIR}routes/",
    "/wide-area/compare/",
    "/wide-area/compare/{demo}/{later}/",
    "/wide-area/{one}/",
    "/wide-area/{one}/pairs/v-one/us-east-1/",
    "/wide-area/{dead}/",
    "/wide-area/{dead}/grid/",
    "/wide-area/{dead}/failures/",
    "/wide-area/{alone}/?region=us-east-1",
    "/wide-area/{alone}/grid/",
    "/wide-area/{alone}/choice/",
    "/wide-area/{none}/",
    "/wide-area/{none}/isps/",
    "/wide-area/{running}/",
)


@pytest.fixture(scope="module")
def gallery(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    folder, slugs = filled("tests.pages.wide_area_cast", tmp_path_factory)
    with serve(folder) as base:
        yield Gallery(base, slugs)


def test_it_works(chromium: Any, gallery: Gallery) -> None:
    visitor = Visitor(chromium, gallery.base)
    visitor.walk_all(path.format(**gallery.slugs) for path in PAGES)
    visitor.close()
    assert not visitor.faults, "\n".join(visitor.faults)


def test_the_map_is_chosen_from_by_keyboard_and_without_a_script(
    chromium: Any, gallery: Gallery
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(gallery.at("/wide-area/{demo}/"))
    assert page.locator(".arc").count() == 0
    region = page.locator("svg a[aria-label^='us-east-1']")
    region.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**region=us-east-1**")
    assert page.locator(".arc").count() == 80
    assert page.locator(".atlas__rows tbody tr").count() == 80
    page.locator(".atlas__rows tbody a").first.click()
    page.wait_for_url("**/pairs/**")
    assert page.locator(".timeline__path").count() == 1
    page.get_by_role("link", name="Every raw sample").click()
    page.wait_for_url("**/samples/**")
    context.close()


def test_a_cell_of_the_grid_leads_to_its_course(chromium: Any, gallery: Gallery) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(gallery.at("/wide-area/{demo}/grid/"))
    page.get_by_role("searchbox", name="City, country").fill("Tokyo")
    page.get_by_role("button", name="Filter").click()
    cells = page.locator(".grid--heat tbody td a")
    assert cells.count() == 8
    cells.first.click()
    page.wait_for_url("**/pairs/synthetic-tokyo/**")
    context.close()
