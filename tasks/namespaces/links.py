"""The vantage points of a laboratory: a broker, its TLS gate, and a worker at each host.

Everything is as on machines elsewhere: identities, TLS, access lists, workers without a database.
It ends with its context, and with the process that opened it.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from core.errors import BadInput, Unavailable
from core.release import VERSION
from deploy import certificates, links
from tasks.platform import valkey_urls
from tasks.vantage import credentials
from tasks.vantage_admin import enrolment
from testbed.namespaces import control_network, netns
from testbed.namespaces.laboratory import Laboratory
from webapp.store.models import VantagePoint

PROVIDER = "Laboratory"
_LIMITS = {"probes_per_s": 10_000}
_LONGEST_WAIT_S = 60.0
_CLOSED: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.DEVNULL,
    "stderr": subprocess.DEVNULL,
}
# What a worker of a laboratory must not know of the site.
_HIDDEN = ("NEPHOSCOPE", "DJANGO", "REDIS", "DATABASE", "CELERY")


@dataclass(frozen=True, slots=True)
class Host:
    """A node that measures: the name under which it joins, and its declared location."""

    node: str
    name: str
    place: Mapping[str, Any]


class Field:
    """Vantage points that measure in a laboratory; raises ``Unavailable`` where they cannot."""

    def __init__(self, lab: Laboratory, hosts: Iterable[Host]) -> None:
        self._lab, self.hosts = lab, list(hosts)
        self._stack = ExitStack()
        self._folder = _root() / str(os.getpid())
        self.workers: dict[str, subprocess.Popen[str]] = {}
        # How long all of them took to begin.
        self.joined_in_s = 0.0

    def __enter__(self) -> "Field":
        remove_orphans()
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            port = self._open(stack)
            stack.enter_context(_pointing_to(self._folder / links.NAME))
            stack.callback(self._retire)
            for host in self.hosts:
                self._join(host, port)
            self._start_workers(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, stack: ExitStack) -> int:
        """Open the broker to vantage points; returns the port."""
        port_file = self._folder / "port"
        try:
            certificates.ensure(self._folder / links.NAME, [control_network.ADDRESS])
        except certificates.NoCertificate as error:
            raise Unavailable(str(error)) from error
        self._start(links.command(self._folder), stack, **_CLOSED)
        gate = links.gate_command(self._folder, control_network.ADDRESS, 0)
        gate[gate.index("--listen") + 1] = f"{control_network.ADDRESS}:0"
        self._start([*gate, "--port-file", str(port_file)], stack, **_CLOSED)
        _wait(lambda: links.answers(self._folder), "the broker")
        _wait(lambda: port_file.is_file() and bool(port_file.read_text()), "the door")
        return int(port_file.read_text())

    def _start(
        self, command: list[str], stack: ExitStack, node: str = control_network.NODE, **more: Any
    ) -> "subprocess.Popen[str]":
        child = self._lab.start(node, command, **more)
        stack.callback(_end, child)
        return child

    def _join(self, host: Host, port: int) -> None:
        """As a machine does with its one-time token; raises ``BadInput`` for a name in use."""
        known = VantagePoint.objects.filter(name=host.name)
        if known.exclude(provider=PROVIDER).exists():
            raise BadInput(
                f"one of your vantage points is called {host.name}; revoke and rename it"
            )
        known.delete()
        place = {**host.place, "provider": PROVIDER}
        _, token = enrolment.invite(host.name, place, _LIMITS)
        joined = enrolment.join(token, None, VERSION)
        who = credentials.Identity(
            name=host.name,
            site=f"http://{control_network.ADDRESS}:9",
            host=control_network.ADDRESS,
            port=port,
            user=enrolment.USER + host.name,
            password=joined.password,
            authority=(self._folder / links.NAME / "ca.pem").read_text(),
            limits=joined.point.limits,
        )
        credentials.save(who, self._folder / host.name)

    def _start_workers(self, stack: ExitStack) -> None:
        """Start a worker at each host; return when all report that they measure."""
        began = time.monotonic()
        env = {k: v for k, v in os.environ.items() if not k.startswith(_HIDDEN)}
        piped = {**_CLOSED, "stdout": subprocess.PIPE, "env": env}
        for host in self.hosts:
            command = ["-m", "tasks.vantage.joining", "--folder", str(self._folder / host.name)]
            self.workers[host.node] = self._start(
                [sys.executable, *command], stack, host.node, **piped
            )
        for node, worker in self.workers.items():
            assert worker.stdout is not None
            if "is measuring" not in worker.stdout.readline():
                raise Unavailable(f"the vantage point at {node} did not begin")
        self.joined_in_s = time.monotonic() - began

    def _retire(self) -> None:
        """They stay as places on maps; they accept no orders any more."""
        VantagePoint.objects.filter(name__in=[h.name for h in self.hosts]).update(
            source=VantagePoint.Source.SYNTHETIC,
            secret_sha256="",
            instance="",
        )


def remove_orphans() -> None:
    """Remove what processes that are no more left in the data folder."""
    for folder in _root().glob("*"):
        if folder.name.isdigit() and not netns.is_alive(int(folder.name)):
            shutil.rmtree(folder, ignore_errors=True)


def _root() -> Path:
    return Path(settings.DATA_DIR) / "laboratory"


@contextmanager
def _pointing_to(folder: Path) -> Iterator[None]:
    """Have the centre's side of the links look into a folder, and back afterwards."""
    before = os.environ.get(valkey_urls.LINKS_URL)
    os.environ[valkey_urls.LINKS_URL] = valkey_urls.url_of(folder)
    try:
        yield
    finally:
        os.environ.pop(valkey_urls.LINKS_URL)
        if before is not None:
            os.environ[valkey_urls.LINKS_URL] = before


def _wait(ready: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _LONGEST_WAIT_S
    while not ready():
        if time.monotonic() > end:
            raise Unavailable(f"{what} of the laboratory did not begin")
        time.sleep(0.02)


def _end(child: "subprocess.Popen[str]") -> None:
    """End it without waiting: the results that it has to send were received."""
    child.kill()
    child.wait()
    if child.stdout is not None:
        child.stdout.close()
