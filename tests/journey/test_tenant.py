"""A tenant from signing up to a shared recommendation; somebody else sees none of it."""

import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from core.paths import PROJECT
from tests.browser.visitor import Visitor, expect_count
from tests.cartography.traffic.logs import ALICE, VIRGINIA, conn, header, row
from tests.sites import free_port
from tests.tasks.site import Site, wait

pytestmark = pytest.mark.browser
PASSWORD = "a very long pass phrase 77"
ANSWER_S = 120


class Tenancy(Site):
    """A whole installation: broker, testbed, worker and web server."""

    def begin(self):
        # The store is made while the world is: neither needs the other.
        migration = self.manage("migrate", "--verbosity", "0")
        self.valkey()
        server, domains = self.testbed("imc2013", "--scale", "1/1000")
        self.env["NEPHOSCOPE_NAME_SERVERS"] = server
        lines = Path(domains).read_text().splitlines()
        self.domains = [line.split(",")[1].strip() for line in lines][:5]
        assert migration.wait() == 0
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = ("-m", "webapp.server", "--port", str(port))
        self.start(sys.executable, *command)
        self.worker(concurrency=1)
        wait(self.answers, 60)
        return self

    def answers(self):
        try:
            return urllib.request.urlopen(f"{self.url}/api/v1/limits", timeout=2).status == 200
        except OSError:
            return False


@pytest.fixture(scope="module")
def tenancy(tmp_path_factory, chromium):
    found = Tenancy(tmp_path_factory.mktemp("tenancy"))
    try:
        yield found.begin()
    finally:
        found.close()


@pytest.fixture(scope="module")
def person(chromium, tenancy):
    """Opens a window of somebody new: ``person("ada")``, or of nobody."""
    windows = []

    def enter(name="", **more):
        window = Visitor(chromium, tenancy.url, viewport={"width": 1440, "height": 900}, **more)
        windows.append(window)
        if name:
            window.open("/sign-up/")
            window.page.fill("input[name=username]", name)
            window.page.fill("input[name=password1]", PASSWORD)
            window.page.fill("input[name=password2]", PASSWORD)
            window.page.click("main form button[type=submit]")
            window.page.wait_for_load_state()
        return window

    yield enter
    for window in windows:
        window.close()


@pytest.fixture(scope="module")
def ada(person, tenancy):
    """A tenant whose domains were surveyed, at the recommendation that it led to."""
    window = person("ada")
    page = window.page
    window.open("/recommendations/")
    page.click("text=I have domains")
    rows = "".join(f"{n},{domain},40,60\n" for n, domain in enumerate(tenancy.domains, 1))
    page.fill("textarea[name=domains]", "rank,domain,DE,US\n" + rows)
    page.fill("input[name=name]", "Ada's shops")
    page.click("main form button[type=submit]")
    page.wait_for_load_state()
    window.plan = page.inner_text("main")
    page.click("main form button[type=submit]")
    page.wait_for_load_state()
    window.waiting = page.inner_text("main")
    page.wait_for_selector("[data-recommendation] .arc", state="attached", timeout=ANSWER_S * 1000)
    return window


def figures(page):
    """Return the codes of the recommended regions, as on the page, and the value of the set."""
    row = page.locator("[data-part=sets] tr[aria-current] td")
    regions = [text.split()[0] for text in row.nth(0).inner_text().split(", ")]
    return regions, float(row.nth(1).inner_text())


def settle(page):
    """Wait until nothing is being solved any more."""
    page.wait_for_selector("[data-part][aria-busy]", state="detached")


def test_domains_become_a_recommendation(ada, tenancy):
    page = ada.page
    assert f"{len(tenancy.domains)} domains, about" in ada.plan
    assert "Germany 40" in ada.plan.replace("\u202f", " ")
    assert "survey" in ada.waiting.lower() or "worker" in ada.waiting.lower()
    text = page.inner_text("main")
    assert "optimal for these inputs" in text
    assert "modelled, not measured" in text
    assert "now: " in page.inner_text("[data-part=curve]")
    assert page.locator(".station--chosen").count() >= 1
    assert page.locator(".arc").count() >= 3
    countries = page.locator("#who + div tbody th").all_inner_texts()
    assert {"Germany", "United States"} <= set(countries)
    assert ada.violations() == []
    assert ada.overflow() <= 0
    assert ada.faults == []


def test_constraints_are_solved_again_in_place(ada):
    page = ada.page
    before, value = figures(page)
    page.evaluate("window.stayed = true")
    page.click(".tries-box summary")
    page.fill("#try_exclude", before[0])
    page.press("#try_exclude", "Enter")
    settle(page)
    after, worse = figures(page)
    assert before[0] not in after
    assert worse >= value
    assert "exclude=" in page.url
    page.click("a[data-look][href*='k=2'] >> nth=0")
    settle(page)
    assert len(figures(page)[0]) == 2
    assert page.evaluate("window.stayed") is True
    with page.expect_navigation():
        page.click("[data-undo]")
    assert "k=2" not in page.url
    assert figures(page) == (after, worse)
    with page.expect_navigation():
        page.click("[data-reset]")
    page.wait_for_selector("[data-recommendation] .arc", state="attached")
    assert figures(page) == (before, value)


def test_the_slider_moves_map_figures_and_address_together(ada):
    page, before = ada.page, ada.page.url
    arcs = {}
    for place in (0, 3):
        page.locator("#size").fill(str(place))
        k = str(place + 1)
        page.wait_for_url(f"**k={k}*")
        settle(page)
        regions, value = figures(page)
        assert len(regions) == place + 1
        said = page.inner_text(".sizes output")
        assert said.startswith(f"{k} region")
        assert f"{value:.1f}" in said.replace(",", "")
        assert f"{value:.1f}" in page.inner_text("[data-part=head] .deck").replace(",", "")
        assert page.get_attribute("#size", "aria-valuetext") == said
        assert page.locator(".curve__dot--chosen").count() == 1
        expect_count(page.locator(".station--chosen"), place + 1)
        arcs[place] = page.locator(".arc").evaluate_all("all => all.map(a => a.getAttribute('d'))")
        assert ("survives no loss" if place == 0 else "any one region lost") in said
    assert arcs[0] != arcs[3]
    # The address carries the state: opened again, it shows the same.
    said = page.inner_text(".sizes output")
    page.reload(wait_until="load")
    assert page.inner_text(".sizes output") == said
    assert ada.overflow() <= 0
    page.goto(before, wait_until="load")


def test_what_fails_is_told_and_drawn(ada):
    page = ada.page
    page.locator("#fails ~ .table-frame a[href*='fail=region']").first.click()
    settle(page)
    page.wait_for_selector("#failure")
    assert "fails:" in page.inner_text("#failure h2")
    expect_count(page.locator(".station--failed"), 1)
    page.click("[data-mode=now]")
    expect_count(page.locator(".station--failed"), 0)
    assert page.locator(".station--now").count() >= 1


def test_what_serves_after_a_loss_is_solved_in_place(ada):
    page, before = ada.page, ada.page.url
    page.click(".tries-box summary")
    page.fill("#try_after", "400")
    page.press("#try_after", "Enter")
    page.wait_for_url("**after_loss_ms=400*")
    settle(page)
    assert "keeps to these constraints" in page.inner_text("h1") or figures(page)[1] > 0
    page.goto(before, wait_until="load")
    assert page.input_value("#try_after") == ""


def test_the_keyboard_reaches_sizes_and_constraints(ada):
    page = ada.page
    page.focus(".tries-box summary")
    page.keyboard.press("Enter")
    page.focus("[data-part=curve] a >> nth=0")
    sizes = page.locator("[data-part=curve] a").count()
    reached = []
    for _ in range(sizes + 50):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    wanted = ["try_percentile", "try_include", "try_exclude", "try_country", "try_share"]
    assert [name for name in reached if name in wanted] == wanted
    assert reached.index("try_percentile") >= sizes


def test_all_that_is_hers_comes_along(ada):
    back = ada.page.url
    ada.open("/account/")
    with ada.page.expect_download() as sent:
        ada.page.click("text=Download everything")
    with zipfile.ZipFile(sent.value.path()) as archive:
        assert archive.testzip() is None
        kinds = {name.split("/")[0] for name in archive.namelist()}
    assert kinds == {"account.json", "surveys", "recommendations"}
    ada.page.goto(back)
    ada.page.wait_for_load_state("networkidle")


def test_exports_hold_what_is_shown(ada):
    page = ada.page
    csv_text = page.request.get(ada.url + page.get_attribute("a[download]", "href")).text()
    lines = csv_text.strip().splitlines()
    shown = page.locator("[data-part=sets] tbody tr").count()
    assert lines[0].startswith("k,value,low,high")
    assert len(lines) == shown + 1
    document = page.request.get(ada.url + page.locator("text=JSON").first.get_attribute("href"))
    assert document.json()["title"] == "Ada's shops"
    assert document.json()["source"]["kind"] == "modelled"
    domains = document.json()["result"]["domains"]
    assert domains["n"] >= domains["compared"] > 0
    assert domains["rows"][0]["domain"] in page.inner_text("[aria-labelledby=by-domain]")


def test_others_see_nothing_until_it_is_shared_and_then_only_read(ada, person):
    address = ada.page.url.split("?")[0].removeprefix(ada.url)
    survey = ada.page.request.get(f"{ada.url}/api/v1{address.rstrip('/')}").json()["survey"]
    eve, nobody = person("eve"), person()
    for window in (eve, nobody):
        for path in (
            address,
            f"/api/v1{address.rstrip('/')}",
            f"/api/v1{address.rstrip('/')}/curve.csv",
            f"/s/{survey}/",
            f"/api/v1/surveys/{survey}",
        ):
            assert window.page.request.get(window.url + path).status == 404, path
    eve.open("/recommendations/")
    assert "Ada" not in eve.page.inner_text("main")
    ada.page.click("text=Create a link that only reads")
    ada.page.wait_for_load_state()
    link = ada.page.locator("a[href*='/recommendations/shared/']").get_attribute("href")
    link = link.removeprefix(ada.url)
    nobody.open(link)
    assert "optimal for these inputs" in nobody.page.inner_text("main")
    expect_count(nobody.page.locator("form.tries, .owning"), 0)
    assert survey not in nobody.page.content()
    assert "sets.csv" in nobody.page.content()
    assert nobody.page.request.get(nobody.url + link + "sets.csv").text().startswith("k,value")
    assert nobody.violations() == []
    assert nobody.faults == []
    # The address of the recommendation opens for nobody else, shared or not.
    assert nobody.page.request.get(nobody.url + address).status == 404
    ada.page.click("text=Revoke the link")
    ada.page.wait_for_load_state()
    assert nobody.page.request.get(nobody.url + link).status == 404


def test_it_reads_without_script(ada, person):
    window = person(java_script_enabled=False, storage_state=ada.page.context.storage_state())
    window.open(ada.page.url.split("?")[0].removeprefix(ada.url) + "?k=2&survive_loss=1")
    text = window.page.inner_text("main")
    assert "The best set of each size" in text
    assert "Failures" in text
    assert window.page.locator("[data-part=sets] tr[aria-current] th").inner_text() == "2"


def test_uploaded_logs_become_a_capture_that_others_do_not_find(
    ada, person, tenancy, chromium, tmp_path
):
    sample = PROJECT / "fixtures" / "ranges" / "aws-sample.json"
    assert tenancy.manage("ranges", "import", "aws", sample).wait() == 0
    logs = {
        "conn.log": header("conn") + conn("C1", ALICE, VIRGINIA, service="ssl") + "C2\tcut\n",
        "ssl.log": header("ssl")
        + row("ssl", uid="C1", orig_h=ALICE, resp_h=VIRGINIA, server_name="a.shop.example"),
    }
    for name, text in logs.items():
        (tmp_path / name).write_text(text)
    window = Visitor(chromium, tenancy.url, storage_state=ada.context.storage_state())
    page = window.page
    window.open("/traffic/")
    page.click("main >> text=Upload logs")
    page.set_input_files("input[name=files]", [str(tmp_path / name) for name in logs])
    page.fill("input[name=name]", "Campus, July")
    page.click("main form button[type=submit]")
    page.wait_for_selector("text=shop.example", timeout=ANSWER_S * 1000)
    assert "1 wrong number of columns (line 9)" in page.inner_text("main")
    assert window.violations() == []
    address = page.url.removeprefix(tenancy.url)
    bert = person()
    bert.open(address)
    assert "shop.example" not in bert.page.inner_text("main")
    window.close()


def test_a_check_of_one_domain_ends_at_its_card(person, tenancy):
    """Without an account: plan, run, and the card with what only a check asks (MX, CAA, DS)."""
    window, domain = person(), tenancy.domains[0]
    window.open(f"/check/{domain}/")
    page = window.page
    page.click("text=Plan the check")
    assert "MX, DS and CAA" in page.inner_text("main")
    page.click("text=Run the survey")
    page.wait_for_url(f"**/check/{domain}/", timeout=ANSWER_S * 1000)
    text = page.inner_text("main")
    assert "Certificate authorities" in text
    assert "not asked" not in text
    assert window.faults == []
