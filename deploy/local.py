"""``make run``: everything on one machine, from an empty folder to a served, filled site.

Starts Valkey (unless REDIS_URL is set), the vantage points' broker, Celery worker and beat, the
testbed Internet (unless WORLD=none) and the web server; runs the demo survey when the store is
empty; ends all of them on Ctrl-C.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from deploy import broker, links  # noqa: E402
from deploy.certificates import NoCertificate  # noqa: E402
from deploy.processes import Child, Family  # noqa: E402

PYTHON = sys.executable
READY_S = 60.0
LINKS_ADDRESS = "127.0.0.1:6390"


def port_of(name: str, usual: int) -> int:
    """The port that a variable names; raises ``SystemExit`` where it names none."""
    text = os.environ.get(name) or str(usual)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 65_535:
        sys.exit(f"error: {name}: {text!r} is not a port from 1 to 65535")
    return int(text)


TESTBED_PORT = port_of("TESTBED_PORT", 5300)


class Stop(Exception):
    """Ctrl-C or SIGTERM."""


def say(text: str) -> None:
    """One line of progress."""
    print(f"· {text}", flush=True)


def environment(data: Path, world: str) -> dict[str, str]:
    """Settings that every child shares."""
    env = dict(os.environ)
    env["NEPHOSCOPE_DATA"] = str(data)
    env["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    env["PYTHONPATH"] = str(ROOT)
    env.setdefault("REDIS_URL", f"redis+socket://{broker.socket_path(data)}")
    # Processes share the cores: threads of linear algebra in each would only stand in line.
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
    if world != "none":
        env["NEPHOSCOPE_NAME_SERVERS"] = f"127.0.0.1:{TESTBED_PORT}"
    return env


def wait_for(what: str, ready: Callable[[], bool], family: Family, child: Child) -> None:
    """Wait until a child is ready; raises ``SystemExit`` with the end of its log."""
    deadline = time.monotonic() + READY_S
    while not ready():
        ended = child.process is not None and child.process.poll() is not None
        if ended or time.monotonic() > deadline:
            sys.exit(f"{what} did not start:\n{family.tail(child)}")
        time.sleep(0.1)


def port_is_free(port: int) -> bool:
    """Whether nothing listens on a loopback port."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def web_answers(port: int) -> bool:
    """Whether the web server serves."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/limits", timeout=2) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def start_broker(family: Family, data: Path) -> None:
    """Start the embedded Valkey unless REDIS_URL names another."""
    if "REDIS_URL" in os.environ:
        return
    broker.reap(data)
    child = family.start(Child("valkey", broker.command(data), vital=True))
    wait_for("Valkey", lambda: broker.answers(data), family, child)


def start_links(family: Family, data: Path) -> None:
    """Start what vantage points reach: their broker, its door over TLS, and the collector."""
    if "NEPHOSCOPE_LINKS_URL" not in os.environ:
        broker.reap(data, links.NAME)
        child = family.start(Child("links", links.command(data)))
        wait_for("the links' broker", lambda: links.answers(data), family, child)
        _open_gate(family, data)
    family.start(Child("collector", [PYTHON, str(ROOT / "manage.py"), "vantage", "collect"]))


def _open_gate(family: Family, data: Path) -> None:
    """Without a free port, or openssl, nobody can join; everything else runs, and it is said."""
    address = os.environ.get("NEPHOSCOPE_LINKS_ADDRESS") or LINKS_ADDRESS
    host, _, port = address.rpartition(":")
    if not port_is_free(int(port)):
        say(f"no vantage point can join: port {port} is in use; set NEPHOSCOPE_LINKS_ADDRESS")
        return
    try:
        family.start(Child("gate", links.gate_command(data, host, int(port))))
    except NoCertificate as error:
        say(f"no vantage point can join: {error}")


def start_testbed(family: Family, world: str) -> Child:
    """Start the emulated Internet; it is ready when its port is taken."""
    scale = os.environ.get("SCALE") or "1/200"
    say(f"starting the testbed Internet {world} at scale {scale}")
    command = [PYTHON, str(ROOT / "manage.py"), "testbed", "serve", world, "--scale", scale]
    command += ["--port", str(TESTBED_PORT)]
    return family.start(Child("testbed", command))


def start_workers(family: Family, data: Path) -> None:
    """Start Celery's worker and scheduler."""
    celery = [PYTHON, "-m", "celery", "-A", "tasks.app"]
    worker = [*celery, "worker", "--concurrency", "2", "--queues", "crawl", "--loglevel", "INFO"]
    family.start(Child("worker", [*worker, "--without-gossip", "--without-mingle"]))
    schedule = str(data / "beat-schedule")
    family.start(Child("beat", [*celery, "beat", "--schedule", schedule, "--pidfile", ""]))


def start_web(family: Family, port: int) -> Child:
    """Start the web server."""
    command = [PYTHON, "-m", "webapp.server", "--port", str(port)]
    return family.start(Child("web", command, vital=True))


def run(family: Family, data: Path, world: str, port: int) -> None:
    """Start everything, fill an empty store, serve until stopped."""
    manage = [PYTHON, str(ROOT / "manage.py")]
    ready = subprocess.run([*manage, "migrate", "--verbosity", "0"], env=dict(family.env))
    if ready.returncode:
        # The command has said what is wrong, such as a setting that makes no sense.
        sys.exit(ready.returncode)
    start_broker(family, data)
    start_links(family, data)
    testbed = start_testbed(family, world) if world != "none" else None
    web = start_web(family, port)
    start_workers(family, data)
    wait_for("the web server", lambda: web_answers(port), family, web)
    if testbed:
        wait_for("the testbed", lambda: not port_is_free(TESTBED_PORT), family, testbed)
        subprocess.run([*manage, "demo"], env=dict(family.env), check=False)
        # Some seconds of work that nobody waits for: it ends by itself.
        subprocess.Popen(
            [*manage, "demo_measurement"], env=dict(family.env), start_new_session=True
        )
    say(f"serving http://127.0.0.1:{port}/ (Ctrl-C stops everything; logs in {family.folder})")
    while True:
        fallen = family.watch()
        if fallen:
            sys.exit(f"{fallen.name} ended:\n{family.tail(fallen)}")
        time.sleep(0.5)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stop


def main() -> int:
    """Run until Ctrl-C."""
    data = Path(os.environ.get("NEPHOSCOPE_DATA") or ROOT / "var").resolve()
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"error: NEPHOSCOPE_DATA: cannot make the folder {data}: {error.strerror}")
    world, port = os.environ.get("WORLD") or "imc2013", port_of("PORT", 8000)
    taken = [p for p in (port, *([TESTBED_PORT] if world != "none" else [])) if not port_is_free(p)]
    if taken:
        sys.exit(f"port {taken[0]} of 127.0.0.1 is in use; choose PORT= or TESTBED_PORT=")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    family = Family(data / "logs", environment(data, world))
    try:
        run(family, data, world, port)
    except (Stop, KeyboardInterrupt):
        say("stopping")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        family.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
