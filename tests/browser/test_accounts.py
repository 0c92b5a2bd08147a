"""A person makes an account, a token and a private survey, and shares it; at both widths."""

import re
from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.browser.visitor import expect_count, find_violations, read_axe

WORD = "a walnut on the shelf"


def check(page: Any) -> list[str]:
    """What axe holds against the page, and whether it scrolls sideways."""
    faults = find_violations(page, read_axe())
    if page.evaluate("document.documentElement.scrollWidth - innerWidth") > 0:
        faults.append("too wide")
    return [f"{page.url} {fault}" for fault in faults]


def say(page: Any, **values: str) -> None:
    """Fill a form in and send it."""
    for name, value in values.items():
        page.fill(f"main [name={name}]", value)
    page.click("main form button[type=submit] >> nth=0")


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_it_works(visit: Any, gallery: Gallery, width: int, theme: str) -> None:
    name, faults = f"reader-{width}", []
    page = visit("/account/", width=width, theme=theme)
    assert "/sign-in/?next=" in page.url
    faults += check(page)
    page.click("text=Create an account")
    say(page, username=name, password1="short", password2="other")
    assert "too short" in page.text_content("main")
    faults += check(page)
    say(page, username=name, password1=WORD, password2=WORD)
    page.wait_for_url("**/account/")
    page.fill("#id_name", "nightly export")
    page.click("text=Create a token")
    secret = page.text_content("#secret")
    assert re.fullmatch(r"neph_[\w-]{43}", secret)
    faults += check(page)
    page.goto(gallery.at("/account/"))
    assert secret not in page.content()
    page.click("button:has-text('Revoke')")
    assert "revoked and no longer valid" in page.text_content("main")
    page.click("main >> text=Sign out")
    page.click("main button >> text=Sign out")
    page.wait_for_url(gallery.at("/"))
    assert visit("/account/", width=width).url.endswith("/sign-in/?next=%2Faccount%2F")
    assert not faults, "\n".join(faults)
    come_back(page, gallery, name)


def come_back(page: Any, gallery: Gallery, name: str) -> None:
    """Sign in again, after a slip."""
    page.goto(gallery.at("/sign-in/"))
    say(page, username=name, password="wrong")
    assert "name or the password is wrong" in page.text_content("main")
    say(page, username=name.upper(), password=WORD)
    page.wait_for_url("**/account/")


def test_a_survey_is_shared_by_keyboard_and_without_script(visit: Any, gallery: Gallery) -> None:
    page = visit("/sign-up/", script=False)
    say(page, username="sharer", password1=WORD, password2=WORD)
    page.goto(gallery.at("/surveys/new/"))
    say(page, domains="example.org", name="Between us")
    assert not page.is_checked("#id_publish")
    page.click("text=Run the survey")
    page.wait_for_url("**/s/between-us-*/")
    address = page.url
    assert visit("/surveys/").content().count("Between us") == 0
    page.click(".tabs >> text=Sharing")
    assert "Only you can see this survey" in page.text_content("h1")
    page.focus("text=Create a link")
    page.keyboard.press("Enter")
    link = page.get_attribute("main table a", "href")
    other = visit("/about/")
    assert other.goto(address).status == 404
    assert other.goto(link).status == 200
    assert "Shared with you" in other.text_content(".survey-bar")
    assert "Cancel the survey" not in other.content()
    page.click("button:has-text('Revoke')")
    assert other.goto(link).status == 404
    page.click("text=Publish it")
    assert "Everyone" in page.text_content("h1")
    assert other.goto(address).status == 200
    page.goto(address)
    page.click("text=Cancel the survey")


@pytest.mark.parametrize(("width", "theme"), [(1440, "dark"), (390, "light")])
def test_a_campaign_is_shared_read_and_taken_back(
    visit: Any, gallery: Gallery, width: int, theme: str
) -> None:
    page = visit("/sign-in/?next=/wide-area/{measured}/", width=width, theme=theme)
    say(page, username="grace", password=WORD)
    page.wait_for_url("**/wide-area/between-us-*/")
    address = page.url
    page.click(".tabs >> text=Sharing")
    assert "Only you can see this campaign" in page.text_content("h1")
    page.click("text=Create a link")
    faults = check(page)
    link = page.get_attribute("main table a", "href")
    other = visit("/about/", width=width, theme=theme)
    assert other.goto(address).status == 404
    assert other.goto(link).status == 200
    assert "Shared with you" in other.text_content(".survey-bar")
    faults += check(other)
    if width > 1000:
        read_through(other, link)
    page.goto(gallery.at("/account/"))
    assert "Your campaigns (1)" in page.text_content("main")
    faults += check(page)
    page.click("button:has-text('Revoke')")
    assert other.reload().status == 404
    page.goto(f"{address}sharing/")
    page.click("text=Delete this campaign")
    assert "Delete this campaign?" in page.text_content("h1")
    faults += check(page)
    page.click("text=Keep it")
    assert "Only you can see this campaign" in page.text_content("h1")
    assert not faults, "\n".join(faults)


def read_through(page: Any, link: str) -> None:
    """Every section of what is shared, a pair, and its file."""
    for tab in range(page.locator(".tabs a").count()):
        page.click(f".tabs a >> nth={tab}")
        assert page.url.startswith(link)
        expect_count(page.locator("h1"), 1)
    page.click(".tabs >> text=Pairs")
    page.click(".grid--heat tbody td a")
    page.wait_for_url("**/pairs/v-one/us-east-1/**")
    with page.expect_download() as sent:
        page.click(".exports summary >> nth=0")
        page.click(".share-panel >> text=CSV")
    assert sent.value.path().read_text().startswith("vantage,region")
    assert page.request.post(page.url).status == 405
