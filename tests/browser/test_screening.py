"""Screening in a browser: real agents report, verdicts arrive, the best two are chosen.

The site of these tests holds pools of its own, and a person who is signed in.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from benchmarks.screening import neighbours
from tests.browser.conftest import AXE, ROOT, VENDOR, _free_port, _wait_for

AGENT = ROOT / "screening" / "agent.py"
SECONDS = 5
# Below the bursts and above everything else, so that ordinary work on this machine disturbs nobody.
SHIELD = neighbours.FIFO_PRIORITY // 2


class Site:
    """Address of the site, keys of its pools, and the session of their owner."""

    def __init__(self, base: str, cast: dict[str, Any]) -> None:
        self.base, self.keys, self.session = base, cast["keys"], cast["session"]
        self.secret = cast["secret"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not VENDOR.is_dir():
        pytest.skip("the browser libraries are not installed; run: make setup")
    environment = {
        **os.environ,
        "NEPHOSCOPE_DATA": str(tmp_path_factory.mktemp("screening")),
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }
    filled = subprocess.run(
        [sys.executable, "-m", "tests.pages.screening_cast"],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    port = _free_port()
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--port", str(port)]
    server = subprocess.Popen([*command, "--log-level", "warning"], cwd=ROOT, env=environment)
    try:
        _wait_for(f"http://127.0.0.1:{port}/about/", server)
        yield Site(f"http://127.0.0.1:{port}", json.loads(filled.stdout))
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


@pytest.fixture
def visit(chromium, site):
    contexts = []

    def open_page(path, width=1440, theme="light", script=True, owner=True):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme,
            reduced_motion="reduce", java_script_enabled=script,
        )  # fmt: skip
        contexts.append(context)
        if owner:
            cookie = {"name": "sessionid", "value": site.session, "url": site.base}
            context.add_cookies([cookie])
        page = context.new_page()
        page.goto(site.base + path, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()


def start_agent(site, token, name, cpu, folder):
    words = [sys.executable, "-I", str(AGENT), "--server", site.base, "--pool", token]
    words += ["--name", name, "--cpu", str(cpu), "--seconds", str(SECONDS), "--patience", "20"]

    def shield():
        # Its compiler, too, stays away from the other machine's CPU.
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(SHIELD))

    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=shield
    )


def finish(*agents):
    for agent in agents:
        _, said = agent.communicate(timeout=SECONDS + 60)
        assert agent.returncode == 0, said.decode()


def test_it_works(visit, site, tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    missing = neighbours.find_missing("burst")
    if missing or len(cpus) < 2:
        pytest.skip(missing or "one CPU cannot be both idle and disturbed")
    page = visit("/screening/pools/new/")
    page.fill("#id_name", "Three machines")
    page.fill("#id_wanted", "2")
    page.click("text=Create the pool")
    assert page.inner_text("h1") == "No machine has reported yet"
    token = page.inner_text(".secret code")
    assert f"--pool {token}" in page.inner_text("#run")

    with neighbours.burst(cpus[-1], 20, 100):
        crowded = start_agent(site, token, "crowded", cpus[-1], tmp_path)
        finish(start_agent(site, token, "calm-1", cpus[0], tmp_path), crowded)
    finish(start_agent(site, token, "calm-2", cpus[0], tmp_path))
    # Nobody reloads: the page follows.
    page.wait_for_selector("#instances tbody tr:nth-child(3)", timeout=15_000)
    assert token in page.inner_text("#run")
    rows = page.locator("#instances tbody tr").all_inner_texts()
    assert "crowded" in rows[0]
    assert "bad" in rows[0]
    assert "1 of 3 instances" in page.inner_text("h1")

    page.click("text=Choose the best")
    assert "The best 2 are found" in page.inner_text("h1")
    chosen = page.locator("#chosen tbody th").all_inner_texts()
    assert sorted(chosen) == ["calm-1", "calm-2"]
    assert "crowded" in page.inner_text(".command code >> nth=0")
    # Left and entered again, the page shows no token.
    page.click("text=Verdicts")
    assert token not in page.content()


@pytest.fixture(scope="module")
def axe():
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; run: make setup-test")
    return AXE.read_text()


def list_pages(site):
    twenty, odd = site.keys["twenty"], site.keys["odd"]
    return [
        "/screening/", "/screening/pay-off/", "/screening/log/", "/screening/pools/",
        "/screening/pools/new/", f"/screening/pools/{twenty}/", f"/screening/pools/{odd}/",
        *(f"/screening/pools/{twenty}/{tail}/" for tail in ("choose", "heat", "settings")),
        f"/screening/pools/{site.keys['week']}/history/",
        f"/screening/pools/{site.keys['none']}/", f"/screening/pools/{site.keys['one']}/calibrate/",
        f"/screening/shared/{site.secret}/",
    ]  # fmt: skip


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_every_page_is_clean(visit, site, axe, width, theme):
    page, faults = visit("/screening/", width=width, theme=theme), []
    page.on("console", lambda m: m.type in ("error", "warning") and faults.append(m.text[:200]))
    paths = list_pages(site)
    page.goto(site.base + f"/screening/pools/{site.keys['twenty']}/")
    paths.append(page.locator("#instances tbody a").first.get_attribute("href"))
    for path in paths:
        page.goto(site.base + path, wait_until="load")
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        grave = [v for v in found if v["impact"] in ("serious", "critical")]
        faults += [f"{path} {v['id']}: {v['nodes'][0]['html'][:160]}" for v in grave]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            faults.append(f"{path} scrolls sideways")
    assert not faults, "\n".join(faults)


def test_a_slider_answers_to_the_keyboard(visit):
    page = visit("/screening/pay-off/?bad=20")
    before = page.inner_text("h1")
    page.focus("#ask-bad")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("(old) => document.querySelector('h1').textContent !== old", arg=before)
    assert page.inner_text("output[for=ask-bad]") == "30 %"
    assert "bad=30" in page.url
    page.wait_for_function(
        "() => document.querySelector('[data-announce]').textContent.length > 20"
    )
    page.reload()
    assert page.inner_text("output[for=ask-bad]") == "30 %"


def test_without_script_the_form_asks(visit):
    page = visit("/screening/pay-off/", script=False)
    page.fill("#ask-n", "10")
    page.check("input[name='fan'][value='40']")
    page.click("text=Compute")
    assert "fan=40" in page.url
    assert "Keeping the best 10" in page.inner_text("h1")
    assert page.locator("[data-plot] svg").count() > 0


def test_without_script_a_pool_reads(visit, site):
    page = visit(f"/screening/pools/{site.keys['twenty']}/", script=False)
    text = page.inner_text("main")
    assert "7 of 20 instances have long-tail neighbours" in text
    assert "Reload the page" in text
    assert not page.locator("[data-live-state]").is_visible()
    page.locator("#instances tbody a").first.click()
    assert "The hypervisor gave the CPU to a neighbour" in page.inner_text("main")


def test_an_order_survives_what_arrives(visit, site, tmp_path):
    page = visit(f"/screening/pools/{site.keys['one']}/settings/")
    page.click("text=Make a token")
    token = page.inner_text(".secret code")
    for name in ("aardvark", "zebra"):
        words = ["--name", name, "--cpu", str(min(os.sched_getaffinity(0))), "--seconds", "1"]
        subprocess.run(
            [sys.executable, "-I", str(AGENT), "--server", site.base, "--pool", token, *words],
            cwd=tmp_path, check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        if name == "aardvark":
            page.wait_for_selector("#instances tbody tr:nth-child(2)", timeout=15_000)
            head = page.locator("#instances th", has_text="Instance")
            head.locator("button").click()
            head.locator("button").click()
            assert head.get_attribute("aria-sort") == "descending"
    page.wait_for_selector("#instances tbody tr:nth-child(3)", timeout=15_000)
    names = page.locator("#instances tbody th").all_inner_texts()
    assert names == ["zebra", "single", "aardvark"]
    assert head.get_attribute("aria-sort") == "descending"


def test_a_lost_connection_is_said(visit, site):
    page = visit(f"/screening/pools/{site.keys['none']}/")
    page.context.set_offline(True)
    page.wait_for_selector("text=connection lost", timeout=10_000)
    page.context.set_offline(False)
    start = time.monotonic()
    page.wait_for_selector("[data-live-state]:not(.live--away)", timeout=15_000)
    assert time.monotonic() - start < 15


def test_what_a_mark_tells_is_seen_by_a_pointer(visit):
    page = visit("/screening/pay-off/")
    page.locator(".plot__strip").nth(25).hover()
    page.wait_for_selector(".plot-tip b")
    assert "% bad" in page.inner_text(".plot-tip").replace("\u202f", "")
