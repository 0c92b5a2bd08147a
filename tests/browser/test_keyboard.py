"""Everything can be reached, used and left with the keyboard alone."""

from typing import Any


def focused(page: Any, attribute: str = "textContent") -> str:
    return str(page.evaluate(f"document.activeElement.{attribute} ?? ''")).strip()


def test_it_works(visit: Any) -> None:
    page = visit("/")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert focused(page, "id") == "main"


def test_the_table_opens_the_drawer_and_escape_gives_the_focus_back(visit: Any) -> None:
    page = visit("/s/{atlas}/map/")
    page.wait_for_selector(".pin")
    link = page.locator("a[data-region='aws.ap-northeast-1']")
    link.focus()
    page.keyboard.press("Enter")
    assert focused(page, "id") == "drawer"
    assert "Tokyo" in page.inner_text("#drawer")
    assert "region=aws.ap-northeast-1" in page.url
    page.keyboard.press("Escape")
    assert not page.locator("#drawer").is_visible()
    assert focused(page) == "ap-northeast-1"


def test_slash_finds(visit: Any) -> None:
    page = visit("/about/")
    page.keyboard.press("/")
    assert focused(page, "id") == "finder"
    page.keyboard.type("linkedin")
    page.keyboard.press("Enter")
    page.wait_for_url("**/domains/?q=linkedin")
    assert "linkedin.com" in page.inner_text("#found")


def test_slash_opens_the_menu_on_a_phone(visit: Any) -> None:
    page = visit("/about/", width=390)
    page.keyboard.press("/")
    assert focused(page, "id") == "finder-menu"
    page.keyboard.press("Escape")
    assert not page.locator("#finder-menu").is_visible()


def test_a_head_sorts_and_says_so(visit: Any) -> None:
    page = visit("/s/{atlas}/reports/regions/")
    head = page.locator("#table-regions th", has_text="Domains").first
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    first = page.locator("#table-regions tbody tr").first.inner_text()
    assert "europe-west3" in first


def test_focus_is_seen(visit: Any) -> None:
    page = visit("/surveys/")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
