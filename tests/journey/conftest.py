"""A filled site in a process of its own, and a real Chromium that may only talk to it."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SERIOUS = {"serious", "critical"}


def chromium_path():
    """Chromium by setting or on the path; the tests are skipped with the reason without it."""
    named = os.environ.get("NEPHOSCOPE_CHROMIUM")
    found = named or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        pytest.skip("no Chromium: install the Debian package, or set NEPHOSCOPE_CHROMIUM")
    return found


class Site:
    """The product with one finished survey of a small world."""

    def __init__(self, folder):
        self.env = {
            k: v for k, v in os.environ.items() if not k.startswith(("NEPHOSCOPE", "DATABASE"))
        }
        self.env |= {"NEPHOSCOPE_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        self.children = []
        self.slug = "small-world"

    def start(self, *command, **more):
        child = subprocess.Popen(
            [sys.executable, *map(str, command)], cwd=ROOT, env=self.env, text=True, **more
        )
        self.children.append(child)
        return child

    def fill(self):
        testbed = self.start(
            *("manage.py", "testbed", "serve", "imc2013", "--scale", "1/1000", "--port", 0),
            stderr=subprocess.PIPE,
        )
        line = next(x for x in testbed.stderr if x.startswith("answering"))
        port, domains = line.split("port ")[1].split(";")[0], line.split("survey ")[1].split()[0]
        self.env["NEPHOSCOPE_NAME_SERVERS"] = f"127.0.0.1:{port}"
        survey = self.start(
            *("manage.py", "survey", domains, "--name", "Small world", "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.report = json.loads(survey.communicate(timeout=120)[0])

    def serve(self):
        import socket

        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = ("-m", "uvicorn", "webapp.asgi:application", "--port", port, "--lifespan", "off")
        self.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{self.url}/api/v1/limits", timeout=2)
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the web server did not start")

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
                child.wait(10)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    chromium_path()
    found = Site(tmp_path_factory.mktemp("site"))
    try:
        found.fill()
        found.serve()
        yield found
    finally:
        found.close()


# One driver at a time may run in a process, so this one ends with the folder's tests.
@pytest.fixture(scope="package")
def chromium(site):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        yield browser
        browser.close()


class Window:
    """One page with everything that it must not do written down."""

    def __init__(self, page, url):
        self.page = page
        self.url = url
        self.faults = []
        page.on("pageerror", lambda e: self.faults.append(f"script: {e}"))
        page.on("console", self._console)
        page.on("request", self._request)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _request(self, request):
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.faults.append(f"external request: {request.url}")

    def open(self, path):
        self.page.goto(self.url + path)
        self.page.wait_for_load_state("networkidle")

    def overflow(self):
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def violations(self):
        """Serious and critical findings of axe-core, as text."""
        if not AXE.is_file():
            pytest.skip("axe-core is not installed")
        # Evaluated by the driver, since the page's own policy forbids foreign scripts.
        self.page.evaluate(AXE.read_text() + "; undefined")
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{v['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
            for v in found["violations"]
            if v["impact"] in SERIOUS
            for node in v["nodes"][:3]
        ]

    def layout_shift(self):
        return self.page.evaluate(
            """() => new Promise(resolve => {
                let sum = 0;
                new PerformanceObserver(list => {
                    for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value;
                }).observe({type: 'layout-shift', buffered: true});
                setTimeout(() => resolve(sum), 300);
            })"""
        )


@pytest.fixture
def window(chromium, site, request):
    settings = getattr(request, "param", {"width": 1440, "theme": "light"})
    context = chromium.new_context(
        viewport={"width": settings["width"], "height": 900},
        color_scheme=settings.get("theme", "light"),
        java_script_enabled=settings.get("script", True),
        reduced_motion="reduce",
    )
    yield Window(context.new_page(), site.url)
    context.close()
