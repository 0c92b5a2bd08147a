"""The eight main journeys by keyboard alone, each in at most five decisions.

A decision is a link, a button or a form that is sent; fields that are filled and keys that are
pressed are counted beside them. What is chosen is found as a screen reader announces it: by the
role and the name that the browser computes.
"""

import re
import time
from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.conftest import JOURNEY
from tests.sites import PATIENCE_MS

MAX_DECISIONS = 5
MAX_TABS = 150


class Journey:
    """A page that is operated by its keyboard; counts decisions, fields and keys."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.decisions = self.fields = self.keys = 0
        self.begun = time.monotonic()
        self._tree = page.context.new_cdp_session(page)

    def press(self, key: str) -> None:
        self.keys += 1
        self.page.keyboard.press(key)

    def focus(self) -> tuple[str, str]:
        """Role and name of what has the focus, as assistive technology is given them."""
        found = self._tree.send("Runtime.evaluate", {"expression": "document.activeElement"})
        wanted = {"objectId": found["result"]["objectId"], "fetchRelatives": False}
        node = self._tree.send("Accessibility.getPartialAXTree", wanted)["nodes"][0]
        role, name = (node.get(key, {}).get("value", "") for key in ("role", "name"))
        return str(role), re.sub(r"\s+", " ", str(name)).strip()

    def reach(self, role: str, name: str) -> None:
        """Press Tab until something of this role, the name of which matches, has the focus."""
        seen = []
        for _ in range(MAX_TABS):
            self.press("Tab")
            seen.append(self.focus())
            if seen[-1][0] == role and re.search(name, seen[-1][1]):
                return
        pytest.fail(f"no {role} {name!r} on {self.page.url}: {seen[:60]}")

    def follow(self, role: str, name: str) -> None:
        """Choose a link or a button, and wait for the page that it opens."""
        self.reach(role, name)
        self.send()

    def send(self) -> None:
        """Press Enter, and wait for the next page."""
        self.decisions += 1
        with self.page.expect_navigation(wait_until="load", timeout=PATIENCE_MS):
            self.press("Enter")

    def fill(self, name: str, text: str) -> None:
        """Type into a field of this name."""
        self.reach("textbox", name)
        self.type(text)

    def type(self, text: str) -> None:
        self.fields += 1
        self.page.keyboard.insert_text(text)

    def head(self) -> str:
        return str(self.page.inner_text("h1"))


def find(at: Journey) -> None:
    """Find a domain."""
    at.press("/")
    role, name = at.focus()
    assert role == "searchbox"
    assert "domains" in name
    at.type("linkedin.com")
    at.send()
    at.follow("link", r"^linkedin\.com")
    assert "linkedin.com" in at.head()


def fails(at: Journey) -> None:
    """What fails with a region."""
    at.follow("link", r"us-east-1|Virginia")
    assert "fail=aws.us-east-1" in at.page.url
    assert re.search("us-east-1|Virginia", at.head())


def domains(at: Journey) -> None:
    """Recommend regions for domains: up to the plan with its cost, then the start."""
    at.fill("A domain, a list of domains", "shop.example news.example")
    at.follow("button", "Show me")
    assert "2" in at.head()
    at.follow("button", "Recommend regions")
    at.follow("button", "Run|Start")
    assert "/recommendations/" in at.page.url


def countries(at: Journey) -> None:
    """Recommend regions for users by country."""
    at.fill("your users’ countries", "DE 40, US 60")
    at.follow("button", "Show me")
    at.follow("button", "Find the best regions")
    assert re.search(r"region|ms", at.head())


def campaign(at: Journey) -> None:
    """Start a campaign."""
    at.follow("link", "^Measure$")
    at.follow("link", "^Campaigns$")
    at.follow("link", "^New campaign$")
    at.fill("Targets", "8.8.8.8:443")
    at.follow("button", "See the plan")
    at.follow("button", "Start|Run")
    assert at.page.url.endswith("/progress/")


def machine(at: Journey) -> None:
    """Judge a machine."""
    at.follow("link", "^Instances$")
    at.follow("link", "[Pp]ools")
    at.follow("link", "^Web servers")
    at.follow("link", "^web-2")
    assert "web-2" in at.page.inner_text("main")
    assert re.search(r"\bbad\b|[Nn]oisy|steal", at.page.inner_text("main"))


def method(at: Journey) -> None:
    """Read the method of a figure."""
    at.follow("link", "^Explore$")
    at.follow("link", "(?i)^regions")
    at.follow("link", "How we know|[Mm]ethod")
    assert re.search(r"#how|#|/about/", at.page.url)


def data(at: Journey) -> None:
    """Get the data behind a figure."""
    at.follow("link", "^Explore$")
    at.follow("link", "(?i)^regions")
    at.reach("DisclosureTriangle", "^Export$")
    at.press("Enter")
    at.reach("link", "^CSV$")
    at.decisions += 2
    with at.page.expect_download(timeout=PATIENCE_MS) as got:
        at.press("Enter")
    assert "us-east-1" in got.value.path().read_text()


JOURNEYS = (find, fails, domains, countries, campaign, machine, method, data)
OF_AN_ACCOUNT = (domains, campaign)


@pytest.mark.parametrize("walk", JOURNEYS, ids=lambda walk: walk.__name__)
def test_a_journey_takes_a_keyboard_and_five_decisions(
    walk: Any, visit: Any, gallery: Gallery, record_property: Any
) -> None:
    session = (("sessionid", gallery.slugs["session"]),)
    at = Journey(visit("/", cookies=session if walk in OF_AN_ACCOUNT else ()))
    walk(at)
    seconds = time.monotonic() - at.begun
    counted = f"{at.decisions} decisions, {at.fields} fields, {at.keys} keys"
    record_property(JOURNEY, f"{walk.__doc__} {counted}, {seconds:.1f} s")
    assert 0 < at.decisions <= MAX_DECISIONS
