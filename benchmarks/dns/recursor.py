"""Unbound as a peer: a recursive resolver that starts at the roots of an emulated Internet."""

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dns.accounting import Failed

_START_S = 10.0
_LOOK_S = 0.05
# The cache is large enough for every name of a benchmark. Reserved names ("test") are resolved like
# any other, and only servers on loopback are queried, even where a delegation names others.
_SETTINGS = """server:
  interface: {address}
  port: {port}
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  directory: "{folder}"
  root-hints: "{folder}/hints"
  access-control: 127.0.0.0/8 allow
  do-not-query-localhost: no
  outgoing-interface: 127.0.0.1
  do-not-query-address: 10.0.0.0/8
  do-not-query-address: 169.254.0.0/16
  do-not-query-address: 203.0.113.0/24
  do-ip6: no
  local-zone: "test." nodefault
  module-config: "iterator"
  qname-minimisation: no
  num-threads: 1
  outgoing-range: 8192
  num-queries-per-thread: 4096
  so-rcvbuf: 4m
  msg-cache-size: 128m
  rrset-cache-size: 256m
  infra-cache-numhosts: 20000
  verbosity: 0
remote-control:
  control-enable: no
"""


@dataclass(frozen=True)
class Recursor:
    """A running Unbound."""

    address: str
    port: int
    pid: int


def find_unbound() -> str | None:
    """Its binary, or ``None``; it is often outside a user's PATH."""
    return shutil.which("unbound") or shutil.which("unbound", path="/usr/sbin:/usr/local/sbin")


def write_hints(path: Path, roots: Sequence[str]) -> None:
    """Root servers in the form of a hints file."""
    lines = [f". 3600000 NS r{i}.root.\nr{i}.root. 3600000 A {a}\n" for i, a in enumerate(roots)]
    path.write_text("".join(lines))


@contextlib.contextmanager
def recursing(binary: str, folder: Path, roots: Sequence[str], port: int) -> Iterator[Recursor]:
    """Run Unbound on these roots, with all servers on port 53; raises ``Failed``."""
    address = "127.54.0.1"
    write_hints(folder / "hints", roots)
    settings = folder / "unbound.conf"
    settings.write_text(_SETTINGS.format(address=address, port=port, folder=folder))
    with (folder / "unbound.log").open("wb") as log:
        process = subprocess.Popen([binary, "-d", "-c", str(settings)], stdout=log, stderr=log)
    try:
        _await(process, address, port)
        yield Recursor(address, port, process.pid)
    finally:
        process.terminate()
        process.wait()


def _await(process: subprocess.Popen[bytes], address: str, port: int) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
            return
        time.sleep(_LOOK_S)
    raise Failed("unbound did not start")
