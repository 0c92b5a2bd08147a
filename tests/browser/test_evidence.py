"""The evidence panel: opened, read and left with the keyboard, and a plain link without script."""

from typing import Any

from tests.browser.visitor import expect_count, find_violations, read_axe

LABEL = "a[data-evidence][href*='kind=pattern'][href*='www.linkedin.com']"


def open_panel(visit: Any, **how: Any) -> Any:
    page = visit("/s/{atlas}/domains/linkedin.com/", **how)
    if not page.is_visible(LABEL):
        # A phone shows the name and its place at first.
        page.locator(".table-frame", has=page.locator(LABEL)).locator(".columns").click()
    page.focus(LABEL)
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel .proof")
    return page


def test_it_works(visit: Any) -> None:
    page = open_panel(visit)
    assert page.evaluate("document.activeElement.id") == "panel-title"
    text = page.inner_text(".panel")
    assert "lb-7.us-east-1.elb.amazonaws.com" in text
    assert "23.20.0.0/14" in text
    page.keyboard.press("Escape")
    expect_count(page.locator(".panel[open]"), 0)
    assert page.evaluate(f"document.activeElement.matches({LABEL!r})")


def test_the_focus_stays_inside_until_it_is_closed(visit: Any) -> None:
    page = open_panel(visit)
    for _ in range(6):
        page.keyboard.press("Tab")
        inside = (
            "document.activeElement === document.body || !!document.activeElement.closest('.panel')"
        )
        assert page.evaluate(inside)
    page.click(".panel__close")
    expect_count(page.locator(".panel[open]"), 0)


def test_it_is_clean_on_a_phone_by_night(visit: Any) -> None:
    page = open_panel(visit, width=390, theme="dark")
    assert find_violations(page, read_axe()) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_script_the_label_is_a_link(visit: Any) -> None:
    page = visit("/s/{atlas}/domains/linkedin.com/", script=False)
    page.click(LABEL)
    assert "/label/" in page.url
    assert "lb-7.us-east-1.elb.amazonaws.com" in page.inner_text("main")


def test_a_label_of_a_report_shows_who_has_it(visit: Any) -> None:
    page = visit("/s/{atlas}/reports/regions/")
    page.locator("#table-regions a[data-evidence]").first.click()
    page.wait_for_selector(".panel table")
    assert "linkedin.com" in page.inner_text(".panel")
    page.click(".panel >> text=What fails with it")
    page.wait_for_url("**/outages/**")


def test_a_region_of_the_map_leads_to_its_outage(visit: Any) -> None:
    page = visit("/s/{atlas}/outages/")
    page.wait_for_selector(".pin.is-selected")
    page.locator(".pin[aria-label*='us-east-1']").click()
    page.wait_for_url("**target=us-east-1**")
    assert "If us-east-1 (N. Virginia) fails" in page.inner_text("h1")
