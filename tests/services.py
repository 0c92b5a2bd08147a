"""The tests on PostgreSQL and stock Redis: ``python -m tests.services COMMAND …``.

Starts a PostgreSQL of its own on a free port of loopback and runs the command, whose tests then
have their stores there. Sites of tests start the stock server that is installed instead of the
embedded Valkey, and reach it over TLS. Everything ends with the command.
"""

import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from deploy import broker, certificates

DATABASE = "NEPHO_TESTS_DATABASE_URL"
DATABASE_URL = os.environ.get(DATABASE, "")
# The server refuses to run as root; Debian has this account everywhere.
UNPRIVILEGED = "nobody"
_STOCK = ("valkey-server", "redis-server")


class NotInstalled(Exception):
    """What the services need and this machine lacks."""


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def run_postgresql(folder: Path) -> Iterator[str]:
    """Run a server with its data in ``folder``, made where there is none; yield the database's URL.

    Raises ``NotInstalled`` where the server or the driver is not installed.
    """
    port = free_port()

    def run(name: str, *words: str) -> None:
        _run_postgresql(folder, name, *words)

    create_cluster(folder)
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
    start = ("-w", "-l", str(folder / "log"), "-o", f"{options} -c max_connections=300", "start")
    run("pg_ctl", *start)
    try:
        yield f"postgresql://nephoscope@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-m", "immediate", "stop")


def create_cluster(folder: Path) -> Path:
    """Make a folder of data below ``folder``, unless there is one; return it."""
    data = folder / "data"
    if not data.exists():
        _run_postgresql(folder, "initdb", "-U", "nephoscope", "-A", "trust", "--no-sync")
    return data


def _run_postgresql(folder: Path, name: str, *words: str) -> None:
    account = _unprivileged(folder)
    command = [find_postgresql(name), "-D", str(folder / "data"), *words]
    subprocess.run(command, check=True, user=account, cwd=folder, stdout=subprocess.DEVNULL)


def _unprivileged(folder: Path) -> str | None:
    """The account of a server that refuses to run as root, which then owns ``folder``."""
    if os.geteuid():
        return None
    shutil.chown(folder, UNPRIVILEGED)
    return UNPRIVILEGED


def find_postgresql(name: str) -> str:
    """The path of a program of PostgreSQL; raises ``NotInstalled``."""
    packaged = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(packaged[-1]) if packaged else shutil.which(name)
    if not found:
        raise NotInstalled("PostgreSQL is not installed")
    return found


def broker_command(folder: Path) -> list[str]:
    """The command of a site's broker: the embedded Valkey, or the stock server with TLS."""
    embedded = broker.command(folder)
    if not DATABASE_URL:
        return embedded
    files = certificates.ensure(folder / "broker-tls", ["127.0.0.1"])
    secure = {
        "tls-port": _broker_port(folder),
        "tls-cert-file": files.certificate,
        "tls-key-file": files.key,
        "tls-ca-cert-file": files.authority,
        "tls-auth-clients": "no",
        "bind": "127.0.0.1",
    }
    words = [text for name, value in secure.items() for text in (f"--{name}", str(value))]
    return [_find_stock(), *embedded[1:], *words]


def _find_stock() -> str:
    found = next(filter(None, map(shutil.which, _STOCK)), None)
    if not found:
        raise NotInstalled("neither Valkey nor Redis is installed")
    return found


def broker_url(folder: Path) -> str:
    """Where a site's processes reach its broker."""
    if not DATABASE_URL:
        return f"redis+socket://{broker.socket_path(folder)}"
    trusted = {
        "ssl_ca_certs": folder / "broker-tls" / "ca.pem",
        "ssl_cert_reqs": "required",
    }
    return f"rediss://127.0.0.1:{_broker_port(folder)}/0?{urlencode(trusted)}"


@functools.cache
def _broker_port(folder: Path) -> int:
    """A port that stays a site's own, also while its broker is away."""
    return free_port()


def main() -> int:
    """Run a command beside the services; its status, or 77 where they are not installed."""
    # Ended by a signal, it still ends its server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # The server's account cannot enter the folder of a test that belongs to this one.
    with tempfile.TemporaryDirectory(prefix="nephoscope-pg-") as folder:
        try:
            _find_stock()
            with run_postgresql(Path(folder)) as url:
                return subprocess.run(sys.argv[1:], env=os.environ | {DATABASE: url}).returncode
        except NotInstalled as missing:
            sys.stdout.write(f"skipped: {missing}\n")
            return 77


if __name__ == "__main__":
    sys.exit(main())
