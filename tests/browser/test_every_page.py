"""Every page, at a phone's and a desk's width, by day and by night."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import AXE, Gallery

# A phone by day and a desk by night: each layout and each palette once, in half the time of all.
# At the third width, too, nothing may scroll sideways: a narrow phone, and what 200 % zoom leaves.
SCREENS = ((390, "light", 360), (1440, "dark", 720))
MAX_LAYOUT_SHIFT = 0.02
PAGES = (
    "/",
    "/surveys/",
    "/surveys/new/",
    "/about/",
    "/components/",
    "/s/{atlas}/",
    "/s/{atlas}/reports/providers/",
    "/s/{atlas}/reports/patterns/",
    "/s/{atlas}/reports/regions/",
    "/s/{atlas}/reports/name-servers/",
    "/s/{atlas}/reports/top-domains/",
    "/s/{atlas}/domains/",
    "/s/{atlas}/reports/zones/",
    "/s/{atlas}/reports/customers/",
    "/s/{atlas}/reports/outages/",
    "/s/{atlas}/reports/dangling/",
    "/s/{atlas}/reports/text-figures/",
    "/s/{atlas}/outages/",
    "/s/{atlas}/outages/?kind=zone",
    "/s/{atlas}/labels/?kind=region&provider=aws&value=us-east-1",
    "/s/{atlas}/domains/linkedin.com/",
    "/s/{atlas}/domains/linkedin.com/history/",
    "/s/{atlas}/names/www.linkedin.com/label/?kind=pattern&provider=aws&value=elb",
    "/compare/",
    "/compare/{atlas}/{later}/",
    "/compare/{atlas}/{later}/moves/?dimension=regions",
    "/compare/{atlas}/{later}/tables/regions/",
    "/compare/{later}/{atlas}/",
    "/traffic/",
    "/vantage-points/",
    "/s/{atlas}/names/www.linkedin.com/",
    "/s/{edges}/",
    "/s/{edges}/domains/wide.example/",
    "/s/{edges}/domains/example.org/",
    "/s/{edges}/domains/xn--mgbh0fb.xn--kgbechtv/",
    "/s/{empty}/map/",
    "/s/{empty}/reports/regions/",
    "/s/{running}/",
    "/s/{failed}/",
    "/no-such-page/",
)
_FITS = "document.documentElement.scrollWidth <= innerWidth"
_WATCH = """
window.__shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.__shift += entry.value;
}).observe({type: 'layout-shift', buffered: true});
"""


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; run: make setup-test")
    return AXE.read_text()


class Visitor:
    """One browser tab that remembers what went wrong."""

    def __init__(self, chromium: Any, gallery: Gallery, width: int, theme: str) -> None:
        self.gallery = gallery
        self.context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.add_init_script(_WATCH)
        self.faults: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        self.page.on("request", self._see)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning") and "status of 404" not in message.text:
            self.faults.append(f"console: {message.text[:200]}")

    def _see(self, request: Any) -> None:
        if not request.url.startswith((self.gallery.base, "data:", "about:")):
            self.faults.append(f"external request: {request.url}")

    def go(self, path: str) -> None:
        self.page.goto("about:blank")
        self.page.goto(self.gallery.at(path), wait_until="load")
        if self.page.query_selector("[data-chart]"):
            self.page.wait_for_selector("[data-chart] svg")
        if self.page.query_selector("#map"):
            self.page.wait_for_selector("#map .land", state="attached")

    def measure(self) -> None:
        """Horizontal scrolling and layout shift, as faults."""
        self.overflow()
        shift = self.page.evaluate("window.__shift")
        if shift > MAX_LAYOUT_SHIFT:
            self.faults.append(f"layout shift {shift:.3f}")

    def overflow(self) -> None:
        """Horizontal scrolling as a fault."""
        over, width = self.page.evaluate(
            "[document.documentElement.scrollWidth - innerWidth, innerWidth]"
        )
        if over > 0:
            self.faults.append(f"{over} px too wide at {width}")

    def narrow(self, width: int, before: int) -> None:
        """Horizontal scrolling at another width, as faults."""
        self.page.set_viewport_size({"width": width, "height": 900})
        # Charts follow a moment later.
        for _ in range(40):
            if self.page.evaluate(_FITS):
                break
            self.page.wait_for_timeout(50)
        self.overflow()
        self.page.set_viewport_size({"width": before, "height": 900})

    def check(self, axe: str) -> None:
        """Serious and critical violations that axe finds, as faults."""
        self.page.evaluate(axe)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        for violation in found["violations"]:
            if violation["impact"] in ("serious", "critical"):
                self.faults.append(f"{violation['id']}: {violation['nodes'][0]['html'][:160]}")

    def report(self, path: str) -> list[str]:
        found, self.faults = [f"{path} {fault}" for fault in self.faults], []
        return found


@pytest.mark.parametrize(("width", "theme", "narrow"), SCREENS)
def test_it_works(
    chromium: Any, gallery: Gallery, axe: str, width: int, theme: str, narrow: int
) -> None:
    visitor, faults = Visitor(chromium, gallery, width, theme), []
    for path in PAGES:
        visitor.go(path)
        visitor.measure()
        visitor.check(axe)
        visitor.narrow(narrow, width)
        faults += visitor.report(path)
    visitor.context.close()
    assert not faults, "\n".join(faults)


def test_a_report_page_is_small(chromium: Any, gallery: Gallery) -> None:
    context = chromium.new_context()
    page = context.new_page()
    sizes: dict[str, int] = {}

    def weigh(response: Any) -> None:
        if not response.url.endswith("echarts.min.js"):
            sizes[response.url] = response.request.sizes()["responseBodySize"]

    page.on("requestfinished", lambda request: weigh(request.response()))
    page.goto(gallery.at("/s/{atlas}/reports/regions/"), wait_until="networkidle")
    context.close()
    fonts = sum(n for url, n in sizes.items() if Path(url).suffix == ".woff2")
    # Fonts are compressed already; the rest is counted as the server sent it.
    assert sum(sizes.values()) < 400_000, sizes
    assert fonts < 160_000, sizes
