"""A site that holds the whole cast of the page tests, edges included, without workers."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
VENDOR = ROOT / "webapp" / "pages" / "static" / "vendor"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_S = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


class Gallery:
    """Base address of the running site, and the slugs of the cast."""

    def __init__(self, base: str, slugs: dict[str, str]) -> None:
        self.base, self.slugs = base, slugs

    def at(self, path: str) -> str:
        """A full address; ``{atlas}`` and the like stand for the cast's slugs."""
        return self.base + path.format(**self.slugs)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the web server ended with status {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=2)
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the web server did not answer")


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    """The product itself on a folder of its own."""
    if not VENDOR.is_dir():
        pytest.skip("the browser libraries are not installed; run: make setup")
    environment = {
        **os.environ,
        "NEPHOSCOPE_DATA": str(tmp_path_factory.mktemp("gallery")),
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }
    filled = subprocess.run(
        [sys.executable, "-m", "tests.pages.fill"],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    port = _free_port()
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--port", str(port)]
    server = subprocess.Popen([*command, "--log-level", "warning"], cwd=ROOT, env=environment)
    try:
        _wait_for(f"http://127.0.0.1:{port}/about/", server)
        yield Gallery(f"http://127.0.0.1:{port}", json.loads(filled.stdout))
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()  # an event stream that a test left open keeps it


# One driver at a time may run in a process, so this one ends with the folder's tests.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Chromium by setting or on the path; skipped with the reason where there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    named = os.environ.get("NEPHOSCOPE_CHROMIUM")
    path = named or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        pytest.skip("no Chromium: install the Debian package, or set NEPHOSCOPE_CHROMIUM")
    with driver.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def visit(chromium: Any, gallery: Gallery) -> Iterator[Any]:
    """Opens a page: ``visit(path, width=1440, theme="light", script=True)``."""
    contexts = []

    def open_page(
        path: str, width: int = 1440, theme: str = "light", script: bool = True, height: int = 900
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            reduced_motion="reduce",
            java_script_enabled=script,
        )
        contexts.append(context)
        page = context.new_page()
        page.goto(gallery.at(path), wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
