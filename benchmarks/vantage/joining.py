"""Runs the lines that the page of an invitation shows, on machines without this program.

``python -m benchmarks.vantage.joining [pipx] [container]``, as root. A site with broker, TLS proxy,
collector and web server runs on loopback. An operator signs in by HTTP and invites a vantage point;
the line is copied from the page and given to a shell. ``pipx`` runs it with a wheel of this tree
and an empty home, where only pipx and a few programs of the system are on the path. ``container``
runs it with ``docker`` replaced by a program that does the same with namespaces: the tree as in the
image, its user, no capabilities, an empty root; the site is in the same network namespace. Exits
with 1 unless each joins, prints its self-check, and is connected on its page.
"""

import argparse
import html
import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from benchmarks.vantage import container
from core.paths import PROJECT
from testbed.namespaces import netns

PASSWORD = "correct horse battery staple"
ACCOUNT = """
import django
django.setup()
from webapp.store.access.accounts import create_account
create_account("operator", {password!r}, is_operator=True)
"""
JOIN_S = 400.0
# Values of pip's settings on this machine apply to the pip of pipx, too.
KEPT = ("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")
# What a machine needs beside pipx.
PROGRAMS = ("sh", "env", "uname", "ldd", "tail", "cut", "head", "sed", "cat")


class Visitor:
    """A browser without scripts: cookies, forms, pages as text."""

    def __init__(self, base: str) -> None:
        self._base = base
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(jar)

    def read(self, path: str, fields: dict[str, str] | None = None) -> str:
        """A page, or what a form of it answers; HTTPError for an error of the site."""
        data = None
        if fields is not None:
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.read(path))
            assert token, f"{path} has no form"
            given = {**fields, "csrfmiddlewaretoken": token[1]}
            data = urllib.parse.urlencode(given).encode()
        request = urllib.request.Request(self._base + path, data, {"Referer": self._base + path})
        with self._opener.open(request, timeout=60) as answer:
            return str(answer.read().decode())


def main() -> int:
    """Run the lines, each beside a site of its own; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="pipx|container")
    given = parser.parse_args()
    ways = given.ways or list(WAYS)
    if len(ways) > 1:
        command = [sys.executable, "-m", "benchmarks.vantage.joining"]
        return max(subprocess.run([*command, way], check=False).returncode for way in ways)
    if ways == ["container"]:
        # Its setting of ICMP echo must not reach this machine.
        netns.unshare()
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return measure(ways[0])


def measure(way: str) -> int:
    """Start a site, sign in, and run the line of one way; return the exit code."""
    from tests import forks  # noqa: PLC0415
    from tests.tasks.site import Site  # noqa: PLC0415

    # Ended by a signal, it still ends its site.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    forks.start_server()
    with tempfile.TemporaryDirectory(prefix="nephoscope-join-") as name:
        folder = Path(name)
        # The container's user reads its image below.
        folder.chmod(0o755)
        site = Site(folder / "s")
        site.folder.mkdir()
        try:
            site.open_links()
            visitor = Visitor(site.web())
            code = ACCOUNT.format(password=PASSWORD)
            if site.start(sys.executable, "-c", code, env=site.env).wait():
                raise RuntimeError("the operator's account could not be created")
            visitor.read("/sign-in/", {"username": "operator", "password": PASSWORD})
            return int(not try_line(visitor, folder, way))
        finally:
            site.close()


def try_line(visitor: Visitor, folder: Path, way: str) -> bool:
    """Prepare a machine, copy its line from the page, run it, and look at the page."""
    prepare, shown_as = WAYS[way]
    home = folder / way
    home.mkdir()
    environment = prepare(home)
    line = invite(visitor, f"oslo-{way}", shown_as)
    print(f"{way}: {re.sub(r'[A-Za-z0-9_-]{24,}', 'TOKEN', line)}", flush=True)
    began = time.monotonic()
    log = home / "log"
    with log.open("wb") as out:
        child = subprocess.Popen(
            ["/bin/sh", "-c", line],
            cwd=home,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        is_joined = wait(lambda: is_connected(visitor, f"oslo-{way}"), child)
    finally:
        end(child)
    print(f"{log.read_text(errors='replace').strip()[-1500:]}")
    page = visitor.read(f"/vantage-points/oslo-{way}/")
    is_checked = "ICMP echo" in page
    print(
        f"{way}: {'connected' if is_joined else 'not connected'} after "
        f"{time.monotonic() - began:.0f} s, the page shows "
        f"{'its' if is_checked else 'no'} self-check",
        flush=True,
    )
    return is_joined and is_checked and "joined http" in log.read_text(errors="replace")


def invite(visitor: Visitor, name: str, shown_as: str) -> str:
    """Invite a vantage point by the form; the line of the page that begins so."""
    fields = {"name": name, "city": "Oslo", "country": "NO", "lat": "59.9", "lon": "10.7"}
    limits = {"probes_per_s": "50", "gigabytes_per_day": "1", "from_hour": "0", "to_hour": "24"}
    page = visitor.read("/vantage-points/invite/", {**fields, **limits})
    lines = [html.unescape(line) for line in re.findall(r"<code[^>]*>([^<]+)</code>", page)]
    return next(line for line in lines if line.startswith(shown_as))


def is_connected(visitor: Visitor, name: str) -> bool:
    """Whether the site hears the vantage point."""
    document = json.loads(visitor.read(f"/api/v1/vantage-points/{name}"))
    return bool(document["health"] == "alive" and document["self_check"])


def wait(ready: Callable[[], bool], child: "subprocess.Popen[bytes]") -> bool:
    """Wait until it is ready; false if the program fails before, or after a long time."""
    deadline = time.monotonic() + JOIN_S
    while time.monotonic() < deadline:
        if ready():
            return True
        if child.poll():
            return False
        time.sleep(1)
    return False


def end(child: "subprocess.Popen[bytes]") -> None:
    """End a line with its processes."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def prepare_pipx(home: Path) -> dict[str, str]:
    """Install pipx in an environment of its own, build the wheel; return the environment."""
    from tests.deploy.test_wheel import build  # noqa: PLC0415

    tools = home / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    subprocess.run([tools / "bin" / "pip", "install", "-q", "pipx"], check=True)
    (home / "source").mkdir()
    wheel = build(home / "source")
    wheel.rename(home / wheel.name)
    path = home / "bin"
    path.mkdir()
    (path / "pipx").symlink_to(tools / "bin" / "pipx")
    for name in PROGRAMS:
        (path / name).symlink_to(f"/usr/bin/{name}")
    kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    return {**kept, "HOME": str(home), "PATH": str(path), "LANG": "C.UTF-8"}


def prepare_container(home: Path) -> dict[str, str]:
    """Lay out the image, and put the replaced ``docker`` on the path; return the environment."""
    container.build_image(home / "image")
    path = home / "bin"
    path.mkdir()
    docker = path / "docker"
    arguments = f'-m benchmarks.vantage.container {home / "image"} "$@"'
    docker.write_text(f"#!/bin/sh\ncd {PROJECT} && exec {sys.executable} {arguments}\n")
    docker.chmod(0o755)
    return {"PATH": f"{path}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home)}


Prepare = Callable[[Path], dict[str, str]]
WAYS: dict[str, tuple[Prepare, str]] = {
    "pipx": (prepare_pipx, "pipx run"),
    "container": (prepare_container, "docker run"),
}


if __name__ == "__main__":
    sys.exit(main())
