"""The product on folders of their own, filled once a session, and the browser that visits it."""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from tests import forks
from tests.stores import copy_file, settings_of

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
_VENDOR = ROOT / "webapp" / "pages" / "static" / "vendor"
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_START_S = 180
# How long a page may take where others load the machine too.
PATIENCE_MS = 120_000


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(folder: Path, **more: str) -> dict[str, str]:
    """What a process of a product with this data folder is told; no broker answers it."""
    foreign = ("NEPHOSCOPE_", "DATABASE_URL")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    return kept | {
        "NEPHOSCOPE_DATA": str(folder),
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        **settings_of(folder),
        **more,
    }


def filled(module: str, factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A data folder as a module fills it, and what it said.

    It is filled once, also where several processes share the tests; each has a copy.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    source, said = root / module, root / f"{module}.json"
    with (root / f"{module}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            copy_file(source)
            done = forks.run(
                [sys.executable, "-m", module],
                cwd=ROOT,
                env=environment(source),
                check=True,
                stdout=subprocess.PIPE,
            )
            said.write_bytes(done.stdout)
    copy = factory.mktemp("site") / "data"
    shutil.copytree(source, copy)
    return copy, json.loads(said.read_text())


@contextmanager
def serve(folder: Path, log_level: str = "error", log: Any = None, **more: str) -> Iterator[str]:
    """The web server on a data folder; its address. Lines go to ``log``, or where ours go."""
    if not _VENDOR.is_dir():
        pytest.skip("the browser libraries are not installed; run: make setup")
    port = free_port()
    command = [sys.executable, "-m", "webapp.server", "--port", str(port)]
    server = forks.Process(
        [*command, "--log-level", log_level],
        cwd=ROOT,
        env=environment(folder, **more),
        stdout=log,
        stderr=log,
    )
    try:
        _await(f"http://127.0.0.1:{port}/about/", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()  # an event stream that a test left open keeps it


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the web server ended with status {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=20)
            return
        except HTTPError as error:
            pytest.fail(f"the web server answers with status {error.code}")
        except OSError:
            time.sleep(0.05)
    pytest.fail("the web server did not answer")


@contextmanager
def launch() -> Iterator[Any]:
    """Chromium by setting or on the path; skipped with the reason where there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    named = os.environ.get("NEPHOSCOPE_CHROMIUM")
    # The shell has no window, which costs the others a process for each context.
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = named or next(filter(None, map(shutil.which, names)), None)
    if not path:
        pytest.skip("no Chromium: install the Debian package, or set NEPHOSCOPE_CHROMIUM")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()
