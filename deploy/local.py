"""``make run``: everything on one machine, from an empty folder to a served, filled site.

Starts Valkey (unless REDIS_URL is set), the vantage points' broker, Celery's workers and beat, the
testbed Internet (unless WORLD=none) and the web server; fills an empty store with the demo; starts
again what ends; ends all of them on Ctrl-C.
"""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.paths import data_folder  # noqa: E402
from deploy import broker, links  # noqa: E402
from deploy.certificates import NoCertificate  # noqa: E402
from deploy.commands import COMMANDS, service_environment, worker  # noqa: E402
from deploy.processes import Child, Family  # noqa: E402

PYTHON = sys.executable
READY_S = 60.0
# The ports of a copy keep these distances from the site's, so that PORT alone distinguishes copies;
# downwards where there is space. The usual ones are 8000, 5300 and 6390.
_TESTBED_DISTANCE, _LINKS_DISTANCE = 2_700, 1_610


def port_of(name: str, usual: int) -> int:
    """The port that a variable names; raises ``SystemExit`` where it names none."""
    text = os.environ.get(name) or str(usual)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 65_535:
        sys.exit(f"error: {name}: {text!r} is not a port from 1 to 65535")
    return int(text)


@dataclass(frozen=True)
class Ports:
    """The ports of one copy on 127.0.0.1; ``testbed`` is none where no world is served."""

    site: int
    testbed: int | None
    links: str

    @classmethod
    def read(cls, world: str) -> "Ports":
        """From PORT, and from the variables that name others."""
        site = port_of("PORT", 8000)
        testbed = port_of("TESTBED_PORT", _offset_port(site, _TESTBED_DISTANCE))
        links = f"127.0.0.1:{_offset_port(site, _LINKS_DISTANCE)}"
        links = os.environ.get("NEPHOSCOPE_LINKS_ADDRESS") or links
        return cls(site, None if world == "none" else testbed, links)

    @property
    def own(self) -> dict[str, int]:
        """Ports without which the copy cannot run, by the variable that chooses another."""
        testbed = {"TESTBED_PORT": self.testbed} if self.testbed else {}
        return {"PORT": self.site, **testbed}


def _offset_port(site: int, distance: int) -> int:
    return site - distance if site > distance + 1_024 else site + distance


class Stop(Exception):
    """Ctrl-C or SIGTERM."""


def print_status(text: str) -> None:
    """One line of progress."""
    print(f"· {text}", flush=True)


def environment(data: Path, ports: Ports) -> dict[str, str]:
    """Settings that every child shares."""
    env = service_environment(data)
    env["NEPHOSCOPE_LINKS_ADDRESS"] = ports.links
    env.setdefault("NEPHOSCOPE_SITE_URL", f"http://127.0.0.1:{ports.site}")
    if ports.testbed:
        env["NEPHOSCOPE_NAME_SERVERS"] = f"127.0.0.1:{ports.testbed}"
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
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def start_broker(family: Family, data: Path) -> None:
    """Start the embedded Valkey unless REDIS_URL names another."""
    if "REDIS_URL" in os.environ:
        return
    broker.end_orphan(data)
    child = family.start(Child("valkey", broker.command(data), vital=True))
    wait_for("Valkey", lambda: broker.answers(data), family, child)


def start_links(family: Family, data: Path, ports: Ports) -> None:
    """Start the services that vantage points reach: broker, its TLS gate, and the collector."""
    if "NEPHOSCOPE_LINKS_URL" not in os.environ:
        broker.end_orphan(data, links.NAME)
        child = family.start(Child("links", links.command(data)))
        wait_for("the links' broker", lambda: links.answers(data), family, child)
        _open_gate(family, data, ports)
    family.start(Child("collector", COMMANDS["collector"]()))


def _open_gate(family: Family, data: Path, ports: Ports) -> None:
    """Without a free port, or openssl, no vantage point can join; everything else runs, and a line
    reports it.
    """
    host, _, port = ports.links.rpartition(":")
    if not port_is_free(int(port)):
        print_status(
            f"no vantage point can join: port {port} is in use; set NEPHOSCOPE_LINKS_ADDRESS"
        )
        return
    try:
        family.start(Child("gate", links.gate_command(data, host, int(port))))
    except NoCertificate as error:
        print_status(f"no vantage point can join: {error}")


def start_testbed(family: Family, world: str, port: int) -> Child:
    """Start the emulated Internet; it is ready when its port is taken."""
    print_status(f"starting the testbed Internet {world} at scale {_scale()}")
    command = [PYTHON, str(ROOT / "manage.py"), "testbed", "serve", world, "--scale", _scale()]
    command += ["--port", str(port)]
    return family.start(Child("testbed", command))


def start_demo(family: Family, world: str) -> Child:
    """Start to fill an empty store; an interrupted demo resumes."""
    command = [PYTHON, str(ROOT / "manage.py"), "demo", world, "--scale", _scale()]
    return family.start(Child("demo", command, once=True))


def _scale() -> str:
    return os.environ.get("SCALE") or "1/200"


def start_workers(family: Family) -> None:
    """Start Celery's workers and scheduler."""
    # On one machine a single worker serves both, which have the same cores.
    family.start(Child("worker", worker(["crawl", "analysis"], 2)))
    for name in ("sweeps", "alerts", "beat"):
        family.start(Child(name, COMMANDS[name]()))


def start_web(family: Family, port: int) -> Child:
    """Start the web server."""
    command = [*COMMANDS["web"](), "--port", str(port)]
    return family.start(Child("web", command, vital=True))


def run(family: Family, data: Path, world: str, ports: Ports) -> None:
    """Start everything, fill an empty store, serve until stopped."""
    ready = subprocess.run(COMMANDS["migrate"](), env=dict(family.env))
    if ready.returncode:
        # The command has printed the reason, such as an invalid setting.
        sys.exit(ready.returncode)
    start_broker(family, data)
    start_links(family, data, ports)
    testbed = start_testbed(family, world, ports.testbed) if ports.testbed else None
    web = start_web(family, ports.site)
    start_workers(family)
    wait_for("the web server", lambda: web_answers(ports.site), family, web)
    print_status(
        f"serving http://127.0.0.1:{ports.site}/ (Ctrl-C stops everything; logs in {family.folder})"
    )
    if testbed and ports.testbed:
        served = ports.testbed
        wait_for("the testbed", lambda: not port_is_free(served), family, testbed)
        start_demo(family, world)
    while True:
        fallen = family.watch()
        if fallen:
            sys.exit(
                f"error: {fallen.name} {fallen.end}, the {len(fallen.deaths)}th time within a "
                f"minute. Nothing that was stored is lost: see {family.log_of(fallen)}, then run "
                f"make run again. The end of that log:\n{family.tail(fallen)}"
            )
        time.sleep(0.5)


@contextlib.contextmanager
def lock_data_folder(data: Path, port: int) -> Iterator[None]:
    """Hold the data folder for this process; ends it where another one has it."""
    with (data / "run.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            sys.exit(
                f"error: another make run ({file.read().strip() or 'starting'}) uses the data "
                f"folder {data}; stop it, or choose another folder with NEPHOSCOPE_DATA= and "
                "another PORT="
            )
        file.truncate(0)
        file.write(f"process {os.getpid()}, http://127.0.0.1:{port}/\n")
        file.flush()
        yield


def open_data_folder() -> Path:
    """The data folder, for its owner alone: it holds keys and private surveys."""
    data = data_folder()
    os.umask(0o077)
    try:
        data.mkdir(parents=True, exist_ok=True)
        data.chmod(0o700)
    except OSError as error:
        sys.exit(f"error: NEPHOSCOPE_DATA: cannot use the folder {data}: {error.strerror}")
    return data


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stop


def main() -> int:
    """Run until Ctrl-C."""
    data = open_data_folder()
    world = os.environ.get("WORLD") or "imc2013"
    ports = Ports.read(world)
    with lock_data_folder(data, ports.site):
        taken = {name: p for name, p in ports.own.items() if not port_is_free(p)}
        for name, port in taken.items():
            sys.exit(f"error: port {port} of 127.0.0.1 is in use; choose another {name}=")
        return serve(data, world, ports)


def serve(data: Path, world: str, ports: Ports) -> int:
    """Run with these ports on this folder, and end every child afterwards."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    family = Family(data / "logs", environment(data, ports), report=print_status)
    try:
        run(family, data, world, ports)
    except (Stop, KeyboardInterrupt):
        print_status("stopping")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        family.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
