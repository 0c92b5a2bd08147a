"""Measurement campaigns in a browser: every page at both widths, odd ones too, with axe."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.browser.visitor import SCREENS, Visitor, expect_count, find_violations, read_axe
from tests.pages.campaigns import campaign_cast
from tests.sites import filled, serve

# One of each template, at both widths and in both themes.
PAGES = (
    "/wide-area/",
    "/wide-area/{demo}/?region=us-east-1",
    "/wide-area/{demo}/grid/?q=NA",
    "/wide-area/{demo}/regions/",
    "/wide-area/{demo}/regions/us-east-1/",
    "/wide-area/{demo}/choice/?metric=throughput",
    "/wide-area/{demo}/zones/",
    "/wide-area/{demo}/isps/",
    "/wide-area/{probed}/suitability/",
    "/wide-area/{probed}/probes/",
    "/wide-area/{probed}/probes/http/?by=zone",
    "/wide-area/{demo}/failures/",
    "/wide-area/{moved}/changes/",
    "/wide-area/{demo}/method/",
    "/wide-area/{one}/progress/",
    "/wide-area/{demo}/best-sets/",
    "/wide-area/{demo}/pairs/synthetic-seattle/us-west-2/",
    "/wide-area/{demo}/pairs/synthetic-seattle/us-west-2/samples/?round=1",
    "/wide-area/{demo}/pairs/synthetic-seattle/us-west-2/routes/",
    "/wide-area/compare/",
    "/wide-area/compare/{demo}/{later}/",
    "/wide-area/{none}/",
    "/vantage-points/?source=own",
)
# The same templates with other contents: on one screen each, on the other the next.
VARIANTS = (
    "/wide-area/{demo}/",
    "/wide-area/{demo}/?vantage=synthetic-tokyo&view=asia&metric=throughput",
    "/wide-area/{demo}/grid/?show=loss&sort=us-east-1",
    "/wide-area/{demo}/regions/?metric=throughput",
    "/wide-area/{one}/",
    "/wide-area/{one}/pairs/v-one/us-east-1/",
    "/wide-area/{dead}/",
    "/wide-area/{dead}/grid/",
    "/wide-area/{dead}/failures/",
    "/wide-area/{alone}/?region=us-east-1",
    "/wide-area/{alone}/grid/",
    "/wide-area/{alone}/choice/",
    "/wide-area/{moved}/pairs/v-one/us-east-1/",
    "/wide-area/{demo}/suitability/",
    "/wide-area/{demo}/probes/game-query/?by=vantage",
    "/wide-area/{demo}/probes/traceroute/",
    "/wide-area/{none}/isps/",
    "/wide-area/{running}/",
    "/vantage-points/?point=synthetic-oslo",
)


@pytest.fixture(scope="module")
def gallery(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    folder, slugs = filled("tests.pages.campaigns.campaign_cast", tmp_path_factory)
    with serve(folder) as base:
        yield Gallery(base, slugs, folder)


def test_it_works(chromium: Any, gallery: Gallery) -> None:
    visitor = Visitor(chromium, gallery.base)
    visitor.walk_all(path.format(**gallery.slugs) for path in PAGES)
    for at, path in enumerate(VARIANTS):
        visitor.walk(path.format(**gallery.slugs), SCREENS[at % 2 :][:1])
    visitor.close()
    assert not visitor.faults, "\n".join(visitor.faults)


def test_the_map_is_chosen_from_by_keyboard_and_without_a_script(
    chromium: Any, gallery: Gallery
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(gallery.at("/wide-area/{demo}/"))
    expect_count(page.locator(".arc"), 0)
    region = page.locator("svg a[aria-label^='us-east-1']")
    region.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**region=us-east-1**")
    expect_count(page.locator(".arc"), 80)
    expect_count(page.locator(".atlas__rows tbody tr"), 80)
    page.locator(".atlas__rows tbody a").first.click()
    page.wait_for_url("**/pairs/**")
    expect_count(page.locator(".timeline__path"), 1)
    page.get_by_role("link", name="Every raw sample").click()
    page.wait_for_url("**/samples/**")
    context.close()


def focused(page: Any, name: str) -> str:
    """An attribute of what has the focus."""
    return str(page.evaluate(f"document.activeElement.getAttribute('{name}')"))


def test_grid_and_map_are_one_stop_each_and_arrows_go_through_them(
    chromium: Any, gallery: Gallery
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(gallery.at("/wide-area/{demo}/grid/"))
    page.wait_for_selector(".grid--heat td a[tabindex='0']")
    expect_count(page.locator(".grid--heat td a[tabindex='0']"), 1)
    page.locator(".grid--heat td a[tabindex='0']").focus()
    for key, pair in (
        ("ArrowRight", "synthetic-amsterdam/ap-southeast-1"),
        ("ArrowDown", "synthetic-athens/ap-southeast-1"),
        ("End", "synthetic-athens/us-west-2"),
        ("ArrowRight", "synthetic-athens/us-west-2"),
        ("ArrowUp", "synthetic-amsterdam/us-west-2"),
        ("Home", "synthetic-amsterdam/ap-northeast-1"),
    ):
        page.keyboard.press(key)
        assert f"/pairs/{pair}/" in focused(page, "href"), key
    page.goto(gallery.at("/wide-area/{demo}/?region=us-east-1"))
    page.wait_for_selector(".atlas__map a[tabindex='0']")
    expect_count(page.locator(".atlas__map a[tabindex='0']"), 1)
    page.locator(".atlas__map a[data-end='us-east-1']").focus()
    page.keyboard.press("ArrowLeft")
    name = focused(page, "data-end")
    assert name != "us-east-1"
    # The arc, the mark and the row of what is focused are shown together.
    shown = page.locator(f".is-pointed[data-end='{name}']")
    assert sorted(shown.evaluate_all("them => them.map(one => one.localName)")) == [
        "a",
        "path",
        "tr",
    ]
    page.keyboard.press("Enter")
    page.wait_for_url(f"**vantage={name}**")
    context.close()


def test_a_question_to_a_network_is_followed_and_announced(chromium: Any, gallery: Gallery) -> None:
    path = gallery.folder / "uploads" / "finds" / f"{'a' * 32}.json"
    path.parent.mkdir(parents=True)
    wanted = {"network": "globalping", "country": "", "city": "", "asn": 0, "count": 5}
    told = {
        "key": path.stem,
        "state": "waiting",
        "wanted": wanted,
        "error": "",
        "credits": None,
        "credits_error": "",
        "places": [],
        "matching": 0,
        "said_at": None,
    }
    path.write_text(json.dumps(told))
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(gallery.at("/sign-in/"))
    page.fill("main [name=username]", "chief")
    page.fill("main [name=password]", campaign_cast.PASSWORD)
    page.click("main form button[type=submit]")
    page.goto(gallery.at(f"/vantage-points/enlist/{path.stem}/"))
    assert "is being queried" in page.text_content("h1")
    place = {
        "name": "globalping-no-oslo-1",
        "city": "Oslo",
        "country": "NO",
        "asn": 1,
        "network": "A network",
        "lat": 59.9,
        "lon": 10.7,
    }
    free = {"network": "globalping", "free": 9, "free_limit": 10, "credits": 0}
    part = path.with_suffix(".part")
    part.write_text(
        json.dumps(told | {"state": "ready", "credits": free, "places": [place], "matching": 1})
    )
    part.replace(path)
    page.wait_for_selector("text=Globalping has 1 place")
    assert page.text_content("[data-announce]") == "Globalping has 1 place"
    assert "9 of 10 free tests are left" in page.text_content("main")
    assert not find_violations(page, read_axe())
    page.click("text=Add the selected probes")
    page.wait_for_url("**source=globalping**")
    expect_count(page.locator(".atlas__map a[data-end='globalping-no-oslo-1']"), 1)
    page.goto(gallery.at("/wide-area/new/"))
    page.click("button:has-text('Choose none')")
    expect_count(page.locator("[name=vantages]:checked"), 0)
    assert not find_violations(page, read_axe())
    context.close()


def test_a_cell_of_the_grid_leads_to_its_course(chromium: Any, gallery: Gallery) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(gallery.at("/wide-area/{demo}/grid/"))
    page.get_by_role("searchbox", name="City, country").fill("Tokyo")
    page.get_by_role("button", name="Filter").click()
    cells = page.locator(".grid--heat tbody td a")
    expect_count(cells, 8)
    cells.first.click()
    page.wait_for_url("**/pairs/synthetic-tokyo/**")
    context.close()


@pytest.mark.parametrize(
    "path",
    [
        "grid/",
        "best-sets/",
        "regions/us-east-1/",
        "choice/",
        "isps/",
        "failures/",
        "pairs/synthetic-seattle/us-west-2/",
        "pairs/synthetic-seattle/us-west-2/routes/",
    ],
)
def test_no_table_scrolls_sideways_on_a_phone(chromium: Any, gallery: Gallery, path: str) -> None:
    """What names a row and the column that matters are both in view; the others can be shown."""
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.goto(gallery.at("/wide-area/{demo}/" + path))
    wide = page.evaluate(
        "[...document.querySelectorAll('.table-frame')].filter("
        "(e) => e.scrollWidth > e.clientWidth + 4).map((e) => e.getAttribute('aria-label'))"
    )
    hidden = page.locator(".grid .spare").first
    if hidden.count():
        assert not hidden.is_visible()
        page.locator(".columns:visible").first.click()
        assert hidden.is_visible()
    context.close()
    assert wide == []
