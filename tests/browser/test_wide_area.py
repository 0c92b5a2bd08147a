"""Measurement campaigns in a browser: every page at both widths, odd ones too, with axe."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.browser.conftest import AXE, ROOT, VENDOR, Gallery, _free_port, _wait_for
from tests.browser.test_every_page import Visitor

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
def gallery(tmp_path_factory):
    if not VENDOR.is_dir():
        pytest.skip("the browser libraries are not installed; run: make setup")
    environment = {
        **os.environ,
        "NEPHOSCOPE_DATA": str(tmp_path_factory.mktemp("wide-area")),
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }
    filled = subprocess.run(
        [sys.executable, "-m", "tests.pages.wide_area_cast"],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    port = _free_port()
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--port", str(port)]
    server = subprocess.Popen([*command, "--log-level", "error"], cwd=ROOT, env=environment)
    try:
        _wait_for(f"http://127.0.0.1:{port}/about/", server)
        yield Gallery(f"http://127.0.0.1:{port}", json.loads(filled.stdout))
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (1440, "dark")])
def test_it_works(chromium: Any, gallery: Gallery, width: int, theme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; run: make setup-test")
    visitor, faults = Visitor(chromium, gallery, width, theme), []
    for path in PAGES:
        visitor.go(path)
        visitor.measure()
        visitor.check(AXE.read_text())
        faults += visitor.report(path)
    visitor.context.close()
    assert not faults, "\n".join(faults)


def test_no_page_scrolls_sideways_on_the_narrowest_phone(chromium: Any, gallery: Gallery) -> None:
    visitor, faults = Visitor(chromium, gallery, 360, "light"), []
    for path in (p for p in PAGES if "{demo}" in p or "{alone}" in p):
        visitor.go(path)
        visitor.measure()
        faults += visitor.report(path)
    visitor.context.close()
    assert not faults, "\n".join(faults)


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
