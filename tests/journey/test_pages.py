import pytest

PAGES = {
    "atlas": "/",
    "survey": "/s/{slug}/",
    "providers": "/s/{slug}/reports/providers/",
    "patterns": "/s/{slug}/reports/patterns/",
    "regions": "/s/{slug}/reports/regions/",
    "name-servers": "/s/{slug}/reports/name-servers/",
    "top-domains": "/s/{slug}/reports/top-domains/",
    "domains": "/s/{slug}/domains/",
    "domain": "/s/{slug}/domains/{domain}/",
    "surveys": "/surveys/",
    "new": "/surveys/new/",
    "components": "/components/",
    "about": "/about/",
    "missing": "/no/such/page/",
}
# The other two of the four screens: tests/browser looks at a phone by day and a desk by night.
DESK = ((1440, ("light",), 720),)
PHONE = ((360, ("dark",), 360),)


def address(site, page):
    domain = site.report["tables"]["top-domains"]["rows"][0][1]
    return PAGES[page].format(slug=site.slug, domain=domain)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_accessible_and_keeps_to_itself(site, window, page):
    window.walk(address(site, page), DESK)
    window.walk(address(site, page), PHONE)
    assert window.faults == []


@pytest.mark.parametrize("window", [{"java_script_enabled": False}], indirect=True)
@pytest.mark.parametrize("page", ["atlas", "regions", "top-domains"])
def test_a_page_reads_without_script(site, window, page):
    window.open(address(site, page))
    table = {"atlas": "regions"}.get(page, page)
    for cell in site.report["tables"][table]["rows"][0][:2]:
        shown = {"aws": "Amazon", "azure": "Microsoft"}.get(cell, str(cell))
        assert shown in window.page.inner_text("main")


def test_the_headline_is_the_stored_finding(site, window):
    window.open(address(site, "regions"))
    heading = window.page.inner_text("h1").replace("\u00a0", " ").replace("\u202f", " ")
    # The page adds the place to a region's code.
    assert heading == site.report["tables"]["regions"]["headline"] + " (N. Virginia)"


def test_the_world_is_named_on_every_page_of_an_emulated_survey(site, window):
    for page in ("atlas", "survey", "providers", "domains", "domain"):
        window.open(address(site, page))
        assert "imc2013 testbed" in window.page.inner_text("body"), page


def test_the_keyboard_reaches_the_content(site, window):
    window.open("/")
    window.page.keyboard.press("Tab")
    assert "content" in window.page.evaluate("document.activeElement.textContent").lower()
    window.page.keyboard.press("Enter")
    assert window.page.evaluate("location.hash") != ""
    window.page.keyboard.press("Escape")
    window.page.evaluate("document.activeElement.blur()")
    window.page.keyboard.press("/")
    assert window.page.evaluate("document.activeElement.tagName") == "INPUT"


def test_exports_equal_what_is_shown(site, window):
    rows = site.report["tables"]["regions"]["rows"]
    text = window.page.request.get(
        f"{site.url}/api/v1/surveys/{site.slug}/tables/regions.csv"
    ).text()
    lines = text.strip().split("\n")[1:]
    assert [line.split(",")[1] for line in lines] == [r[1] for r in rows]


def test_a_list_becomes_a_plan_before_anything_is_asked(site, window):
    window.open("/surveys/new/")
    window.page.fill("textarea", "example.com\nhttps://www.example.org/x\n10.0.0.1\nno_dot\n")
    window.page.keyboard.press("Tab")
    window.page.locator("main form button[type=submit]").first.click()
    window.page.wait_for_selector("main >> text=IP address")
    text = window.page.inner_text("main")
    assert "IP address" in text
    assert "2" in text
    assert window.violations() == []
