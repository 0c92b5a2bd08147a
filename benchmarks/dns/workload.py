"""The workload that every engine runs: zones and expected answers, made from a seed, served by NSD.

Takes a size and a folder; gives names to ask, the truth about each, and a name server (one process,
four loopback addresses) that also allows AXFR of its zones.
"""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from benchmarks.dns.accounting import family

ADDRESSES = ("127.0.53.1", "127.0.53.2", "127.0.53.3", "127.0.53.4")
FIRST_PORT = 5300
HOSTS, ALIASES, CHAINS, EMPTIES, MISSING = 80, 10, 5, 5, 50
# One zone in twenty answers for every name below it.
WILDCARD_EVERY = 20
TTL_S = 300
START_S = 60
# Steps that share no factor with any usual number of zones, so that chains cross zones.
_ALIAS_STEP, _CHAIN_STEP = 7919, 6007


class NoServer(RuntimeError):
    """NSD is absent or does not start; the text gives the reason."""


class Expected(NamedTuple):
    """The truth about one name: status, CNAME targets in order, sorted addresses."""

    status: str
    chain: tuple[str, ...]
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """Zones with 100 names each; each name is queried once, and 50 names that do not exist."""

    zones: int = 2_000
    seed: int = 1

    def origin(self, zone: int) -> str:
        """The name of a zone."""
        return f"zone{zone % self.zones:04d}.test"

    def is_wildcard(self, zone: int) -> bool:
        """Whether a zone answers for every name."""
        return zone % WILDCARD_EVERY == WILDCARD_EVERY - 1

    @cached_property
    def truth(self) -> dict[str, Expected]:
        """The expected answer of every name that is queried."""
        return {name: e for zone in range(self.zones) for name, e in self._zone_truth(zone)}

    def names(self, count: int | None = None) -> list[str]:
        """The names in the order in which they are queried, always the same for one seed."""
        shuffled = list(self.truth)
        random.Random(self.seed).shuffle(shuffled)
        return shuffled[:count]

    def zone_text(self, zone: int) -> str:
        """A zone in master-file form."""
        lines = [
            f"$ORIGIN {self.origin(zone)}.",
            f"$TTL {TTL_S}",
            f"@ SOA ns1 hostmaster 1 7200 3600 1209600 {TTL_S}",
            "@ NS ns1",
            f"ns1 A {ADDRESSES[0]}",
        ]
        lines += [f"host{i:02d} A {self._address(zone, i)}" for i in range(HOSTS)]
        lines += [f"alias{i:02d} CNAME {self._alias_target(zone, i)}." for i in range(ALIASES)]
        lines += [f"chain{i:02d} CNAME {self._chain_target(zone, i)}." for i in range(CHAINS)]
        lines += [f'empty{i:02d} TXT "no address here"' for i in range(EMPTIES)]
        if self.is_wildcard(zone):
            lines.append(f"* A {self._address(zone, HOSTS)}")
        return "\n".join(lines) + "\n"

    def _address(self, zone: int, host: int) -> str:
        zone %= self.zones
        return f"10.{zone >> 8}.{zone & 255}.{host}"

    def _alias_target(self, zone: int, alias: int) -> str:
        return f"host{alias:02d}.{self.origin(zone + _ALIAS_STEP + alias)}"

    def _chain_target(self, zone: int, chain: int) -> str:
        return f"alias{chain:02d}.{self.origin(zone + _CHAIN_STEP + chain)}"

    def _zone_truth(self, zone: int) -> Iterator[tuple[str, Expected]]:
        origin = self.origin(zone)
        for i in range(HOSTS):
            yield f"host{i:02d}.{origin}", Expected("NOERROR", (), (self._address(zone, i),))
        for i in range(ALIASES):
            yield f"alias{i:02d}.{origin}", self._alias_truth(zone, i)
        for i in range(CHAINS):
            end = self._alias_truth(zone + _CHAIN_STEP + i, i)
            chain = (self._chain_target(zone, i), *end.chain)
            yield f"chain{i:02d}.{origin}", Expected("NOERROR", chain, end.addresses)
        for i in range(EMPTIES):
            yield f"empty{i:02d}.{origin}", Expected("NODATA", (), ())
        caught = Expected("NOERROR", (), (self._address(zone, HOSTS),))
        for i in range(MISSING):
            missing = caught if self.is_wildcard(zone) else Expected("NXDOMAIN", (), ())
            yield f"missing{i:02d}.{origin}", missing

    def _alias_truth(self, zone: int, alias: int) -> Expected:
        address = self._address(zone + _ALIAS_STEP + alias, alias)
        return Expected("NOERROR", (self._alias_target(zone, alias),), (address,))


@dataclass(frozen=True)
class NameServer:
    """A running server: where it listens, and its processes."""

    addresses: tuple[str, ...]
    port: int
    pids: tuple[int, ...]

    @property
    def endpoints(self) -> list[str]:
        """``address:port`` of each."""
        return [f"{address}:{self.port}" for address in self.addresses]


@contextlib.contextmanager
def serving(workload: Workload, folder: Path) -> Iterator[NameServer]:
    """NSD on the workload for as long as the context lasts; raises ``NoServer``."""
    binary = shutil.which("nsd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if binary is None:
        raise NoServer("NSD is not installed (Debian: apt install nsd)")
    port = free_port(ADDRESSES)
    config = _write_files(workload, folder, port)
    with (folder / "nsd.log").open("w") as log:
        process = subprocess.Popen([binary, "-d", "-c", str(config)], stdout=log, stderr=log)
    try:
        _wait_until_ready(process, workload.origin(workload.zones - 1), port, folder)
        yield NameServer(ADDRESSES, port, tuple(family(process.pid)))
    finally:
        process.terminate()
        process.wait(timeout=20)


def free_port(addresses: tuple[str, ...]) -> int:
    """The first port from 5300 that is free on every address, by UDP and TCP."""
    for port in range(FIRST_PORT, FIRST_PORT + 500):
        with contextlib.ExitStack() as stack:
            try:
                for address in addresses:
                    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                        sock = stack.enter_context(socket.socket(socket.AF_INET, kind))
                        sock.bind((address, port))
            except OSError:
                continue
            return port
    raise NoServer(f"no port from {FIRST_PORT} on is free on {', '.join(addresses)}")


def _write_files(workload: Workload, folder: Path, port: int) -> Path:
    zones = folder / "zones"
    zones.mkdir(parents=True, exist_ok=True)
    lines = [_SERVER_CONFIG.format(folder=folder)]
    lines += [f"  ip-address: {address}@{port}" for address in ADDRESSES]
    lines.append("remote-control:\n  control-enable: no")
    for index in range(workload.zones):
        origin = workload.origin(index)
        (zones / origin).write_text(workload.zone_text(index))
        transfer = "provide-xfr: 127.0.0.0/8 NOKEY"
        lines.append(f"zone:\n  name: {origin}\n  zonefile: {origin}\n  {transfer}")
    config = folder / "nsd.conf"
    config.write_text("\n".join(lines) + "\n")
    return config


# No state outside the folder, no change of user, no answer held back by a rate limit.
_SERVER_CONFIG = """server:
  server-count: 1
  username: ""
  chroot: ""
  zonesdir: "{folder}/zones"
  database: ""
  pidfile: "{folder}/nsd.pid"
  xfrdfile: "{folder}/xfrd.state"
  xfrdir: "{folder}"
  zonelistfile: "{folder}/zone.list"
  zonefiles-check: no
  zonefiles-write: 0
  hide-version: yes
  do-ip6: no
  tcp-count: 1000
  receive-buffer-size: 4194304
  send-buffer-size: 4194304
  rrl-ratelimit: 0
  rrl-whitelist-ratelimit: 0"""


def _wait_until_ready(
    process: subprocess.Popen[bytes], origin: str, port: int, folder: Path
) -> None:
    query = b"\0\7\0\0\0\1\0\0\0\0\0\0"
    query += b"".join(bytes((len(p),)) + p.encode() for p in origin.split(".")) + b"\0\0\6\0\1"
    deadline = time.monotonic() + START_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.2)
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError):
                sock.sendto(query, (ADDRESSES[0], port))
                reply = sock.recv(4096)
                if reply[3] & 15 == 0 and reply[7]:
                    return
            time.sleep(0.05)
    raise NoServer("NSD did not start: " + (folder / "nsd.log").read_text()[-600:])
