"""A new user makes, watches and reads a measurement campaign in a browser, without a shell."""

import re
import sys

import pytest

from tests import forks
from tests.journey.test_tenant import Tenancy, person  # noqa: F401
from tests.sites import PATIENCE_MS
from tests.tasks.site import ROOT

pytestmark = pytest.mark.browser
_VANTAGES = """
import django
django.setup()
from tasks.demo.campaign import store_vantages
store_vantages()
"""
ENDED_MS = 150_000


@pytest.fixture(scope="module")
def tenancy(tmp_path_factory, chromium):
    """An installation with a scheduler, whose only vantage points are synthetic."""
    found = Tenancy(tmp_path_factory.mktemp("campaigns"))
    try:
        found.begin()
        env = found.env | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
        forks.run([sys.executable, "-c", _VANTAGES], cwd=ROOT, env=env, check=True)
        found.beat()
        yield found
    finally:
        found.close()


def submit(page):
    with page.expect_navigation(wait_until="load", timeout=PATIENCE_MS):
        page.click("main form button[type=submit]")


def test_a_new_user_makes_watches_and_reads_a_campaign(person):  # noqa: F811
    window = person("carol")
    page = window.page
    # Made: the form proposes targets, vantage points and a schedule; the plan shows the cost.
    window.open("/wide-area/new/")
    assert "nothing is sent" in page.inner_text("main")
    assert page.locator("input[name=vantages]:checked").count() == 12
    page.fill("input[name=name]", "From a browser")
    page.fill("input[name=rounds]", "2")
    submit(page)
    assert "12 vantage points and 8 targets" in page.inner_text("h1")
    submit(page)
    # Watched: the page follows the campaign by itself.
    assert re.search(r"/wide-area/from-a-browser-\w+/progress/$", page.url)
    home = page.url.removesuffix("progress/")
    page.wait_for_selector("text=/slots( so far)? were measured/", timeout=ENDED_MS)
    # Its map is drawn with the first results.
    reader = window.context.new_page()
    reader.goto(home)
    page.wait_for_selector("main >> text=Measure again", timeout=ENDED_MS)
    page.wait_for_function(
        "() => !document.querySelector('[data-campaign]')", timeout=ENDED_MS, polling=500
    )
    assert re.search(r"576 of 576 slots were measured", page.inner_text("main"))
    # Read: a finding with its number, the map, and the answer by use.
    reader.goto(home)
    reader.wait_for_selector("#map .land", state="attached")
    assert re.search(r"\d ms", reader.inner_text("main").replace("\u202f", " "))
    assert "synthetic" in reader.inner_text("main").lower()
    reader.goto(f"{home}suitability/")
    assert re.search("games|calls|web pages", reader.inner_text("main"))
    # Cloned: the same form with what was measured.
    window.open(home.removeprefix(window.url) + "clone/")
    assert page.input_value("input[name=name]") == "From a browser, again"
    assert page.locator("input[name=vantages]:checked").count() == 12
    assert window.faults == []
