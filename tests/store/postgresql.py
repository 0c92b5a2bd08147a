"""A PostgreSQL server of a test's own, on a free port of loopback."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

# The server refuses to run as root; Debian has this account everywhere.
_UNPRIVILEGED = "nobody"


def _find_program(name: str) -> str | None:
    packaged = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(packaged[-1]) if packaged else None)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def run_server(folder: Path) -> Iterator[str]:
    """Run a server with its data in ``folder`` and yield the URL of its database.

    Skips the test where the server or the driver is not installed.
    """
    initdb, pg_ctl = _find_program("initdb"), _find_program("pg_ctl")
    if not (initdb and pg_ctl):
        pytest.skip("PostgreSQL is not installed")
    if find_spec("psycopg") is None:
        pytest.skip("the PostgreSQL driver psycopg is not installed")
    account = None
    if os.geteuid() == 0:
        account = _UNPRIVILEGED
        shutil.chown(folder, account)
    data, port = folder / "data", _free_port()

    def run(*words: str) -> None:
        subprocess.run(words, check=True, user=account, cwd=folder, stdout=subprocess.DEVNULL)

    run(initdb, "-D", str(data), "-U", "nephoscope", "-A", "trust", "--no-sync")
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
    run(pg_ctl, "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql://nephoscope@127.0.0.1:{port}/postgres"
    finally:
        run(pg_ctl, "-D", str(data), "-m", "immediate", "stop")
