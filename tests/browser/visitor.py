"""One browser tab that walks through a site and remembers what was wrong with its pages."""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from tests.sites import AXE, PATIENCE_MS

MAX_LAYOUT_SHIFT = 0.02
# A phone by day and a desk by night: each layout and each palette once, in half the time of all.
# At the third width, too, nothing may scroll sideways: a narrow phone, and what 200 % zoom leaves.
Screen = tuple[int, tuple[str, ...], int]
SCREENS: tuple[Screen, ...] = ((390, ("light",), 360), (1440, ("dark",), 720))
GRAVE = ("serious", "critical")
# Rules that are neither of WCAG nor ever grave; the first takes a quarter of the time of all
# others.
_MILD = ("region", "landmark-unique", "heading-order", "page-has-heading-one", "empty-table-header")
_ALL_RULES = {"resultTypes": ["violations"], "rules": {rule: {"enabled": False} for rule in _MILD}}
# What the palette and the width change. All other rules hold or fail on every screen of a page
# alike; they are checked on its first, and which one that is alternates from page to page.
_SCREEN_RULES = {
    "resultTypes": ["violations"],
    "runOnly": [
        "color-contrast",
        "target-size",
        "link-in-text-block",
        "scrollable-region-focusable",
    ],
}
_WATCH = """
window.__shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.__shift += entry.value;
}).observe({type: 'layout-shift', buffered: true});
"""
# Frames of tables in which something is to the right of a phone's edge. A matrix of places and
# regions may scroll: its cells are compared along rows and columns.
_SIDEWAYS = """() => [...document.querySelectorAll('main .table-frame:not(.table-frame--heat)')]
  .filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map((e) => `${e.getAttribute('aria-label')} ${e.scrollWidth}/${e.clientWidth}`)"""
_PHONE = 390
_READY = """() => (
  (!document.querySelector('[data-chart]') || document.querySelector('[data-chart] svg')) &&
  (!document.querySelector('#map') || document.querySelector('#map .land'))
)"""


@cache
def read_axe() -> str:
    """The text of axe-core; skips the test where it is not installed."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; run: make setup-test")
    return AXE.read_text()


def find_violations(page: Any, axe: str, options: Any = _ALL_RULES) -> list[str]:
    """Return what axe finds on a page as it is: all of WCAG, of other rules what is grave."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe + "; undefined")
    found = page.evaluate("(options) => axe.run(document, options)", options)["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:160]}" for v in found if _counts(v)]


def _counts(violation: dict[str, Any]) -> bool:
    """Whether a violation is one of WCAG 2.2 AA, of any impact, or grave."""
    is_wcag = any(tag.startswith("wcag2") for tag in violation["tags"])
    return is_wcag or violation["impact"] in GRAVE


class Visitor:
    """A tab of its own context; what its pages must not do is written down as ``faults``."""

    def __init__(self, chromium: Any, url: str, **settings: Any) -> None:
        self.url, self.at = url, ""
        self.draws = settings.get("java_script_enabled", True)
        self.context = chromium.new_context(reduced_motion="reduce", **settings)
        self.context.set_default_timeout(PATIENCE_MS)
        self.page = self.context.new_page()
        self.page.add_init_script(_WATCH)
        self.faults: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.note(f"script: {error}"))
        self.page.on("request", self._see)

    def note(self, fault: str) -> None:
        self.faults.append(f"{self.at} {fault}")

    def _hear(self, message: Any) -> None:
        # That the page itself is not there may be what is looked at; anything else has to be.
        own = message.location.get("url") == self.url + self.at and "404" in message.text
        if message.type in ("error", "warning") and not own:
            self.note(f"console: {message.text[:200]}")

    def _see(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "about:", "blob:")):
            self.note(f"external request: {request.url}")

    def open(self, path: str) -> None:
        """Open a page and wait until it is drawn."""
        self.at = path
        self.page.goto(self.url + path, wait_until="load")
        if self.draws:
            self.page.wait_for_function(_READY, polling=20)

    def walk(self, path: str, screens: Sequence[Screen] = SCREENS) -> None:
        """Open a page, then change the screen in place: nothing moves or scrolls sideways."""
        self.show(screens[0][0], screens[0][1][0])
        self.open(path)
        if self.shift() > MAX_LAYOUT_SHIFT:
            # On a busy machine a font may arrive while the browser still waits for it, and lines
            # move once. A page that moves by itself does so again when its fonts are there.
            self.open(path)
            if (shift := self.shift()) > MAX_LAYOUT_SHIFT:
                self.note(f"layout shift {shift:.3f} at {screens[0][0]}")
        rules = _ALL_RULES
        for width, themes, narrow in screens:
            for theme in themes:
                self.show(width, theme)
                self.fits(width)
                for violation in find_violations(self.page, read_axe(), rules):
                    self.note(f"{violation} ({theme}, {width})")
                rules = _SCREEN_RULES
            self.show(narrow, themes[-1])
            self.fits(narrow)

    def walk_all(self, paths: Iterable[str], screens: Sequence[Screen] = SCREENS) -> None:
        """Each page is loaded on another screen than the one before."""
        for at, path in enumerate(paths):
            self.walk(path, screens if at % 2 else screens[::-1])

    def fits(self, width: int) -> None:
        """Note what is wider than the screen, and on a phone each table that scrolls sideways."""
        if over := self.overflow():
            self.note(f"{over} px too wide at {width}")
        if width == _PHONE:
            for table in self.page.evaluate(_SIDEWAYS):
                self.note(f"table scrolls sideways at {width}: {table}")

    def show(self, width: int, theme: str) -> None:
        """Change the screen in place."""
        self.page.emulate_media(color_scheme=theme)
        self.page.set_viewport_size({"width": width, "height": 900})

    def shift(self) -> float:
        """How far the page moved by itself since it was opened."""
        return float(self.page.evaluate("window.__shift"))

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen; charts follow a moment later."""
        over = 0
        for _ in range(40):
            over = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if over <= 0:
                return 0
            self.page.wait_for_timeout(50)
        return over

    def violations(self) -> list[str]:
        """What axe holds against the page as it stands."""
        return find_violations(self.page, read_axe())

    def close(self) -> None:
        self.context.close()


def expect_count(found: Any, number: int) -> None:
    """So many stand there, at once or as soon as the page that is loading shows them."""
    driver = import_module("playwright.sync_api")
    driver.expect(found).to_have_count(number, timeout=PATIENCE_MS)
