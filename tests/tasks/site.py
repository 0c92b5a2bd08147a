"""A data folder with its own broker, testbed and workers, each a process that can be killed."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from celery import Celery

from deploy import broker, links
from tests import forks, services, stores

ROOT = Path(__file__).resolve().parents[2]

_PATIENCE = 4
# A command that has not ended by then never will, however busy the machine is.
HANGS_S = 600


def _environment():
    hidden = ("NEPHOSCOPE", "DATABASE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    return {**kept, "DJANGO_SETTINGS_MODULE": "webapp.settings"}


class Site:
    """A data folder with its own broker, testbed and workers."""

    def __init__(self, folder):
        self.folder = folder
        self.env = _environment() | {
            "NEPHOSCOPE_DATA": str(folder),
            "REDIS_URL": services.broker_url(folder),
            **stores.settings_of(folder),
        }
        self.children = []
        self.gate_port = 0
        self.web_server = None

    def start(self, *command, env=None, **more):
        more.setdefault("stdout", subprocess.DEVNULL)
        stores.copy_store(self.folder)
        if "stderr" not in more:
            with self.log_file(command).open("wb") as log:
                return self.start(*command, env=env, stderr=log, **more)
        more |= {"cwd": ROOT, "start_new_session": True, "text": True, "env": env or self.env}
        child = forks.Process(command, **more)
        self.children.append(child)
        return child

    def log_file(self, command):
        """The standard error of a child; its end is part of the report of a failed test."""
        logs = self.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        words = re.findall(r"[\w.]+", " ".join(map(str, command[1:4])))
        return logs / f"{len(self.children):02d}-{'-'.join(words)[:40]}.log"

    def manage(self, *arguments, **more):
        return self.start(sys.executable, "manage.py", *map(str, arguments), **more)

    def celery(self, *arguments, **more):
        return self.start(
            sys.executable, "-m", "celery", "-A", "tasks.platform.app", *arguments, **more
        )

    def worker(self, concurrency=2, name="celery"):
        options = (
            "--concurrency",
            str(concurrency),
            "--queues",
            "crawl,analysis,sweeps,alerts",
            "--without-gossip",
        )
        return self.celery("worker", *options, "--without-mingle", "--hostname", f"{name}@%h")

    def open_links(self, collect=True):
        """The broker that vantage points reach, its door over TLS, and the collector."""
        if not shutil.which("openssl"):
            pytest.skip("openssl is not installed: vantage points come in over TLS")
        self.start_links()
        port_file = self.folder / "gate.port"
        self.gate = self.start(
            *links.gate_command(self.folder, "127.0.0.1", 0), "--port-file", str(port_file)
        )
        wait(lambda: port_file.exists() and port_file.read_text(), 20)
        self.gate_port = int(port_file.read_text())
        return self.collector() if collect else None

    def start_links(self):
        """Start the vantage points' broker, also after it was ended."""
        self.links = self.start(*links.command(self.folder))
        wait(lambda: links.answers(self.folder), 20)

    def web(self, port=0):
        """The site's web server, at a free port unless one is given; its address."""
        if not port:
            with socket.socket() as sock:
                sock.bind(("127.0.0.1", 0))
                port = sock.getsockname()[1]
        gate = f"127.0.0.1:{self.gate_port}" if self.gate_port else ""
        env = self.env | ({"NEPHOSCOPE_LINKS_ADDRESS": gate} if gate else {})
        command = ["-m", "webapp.server", "--port", str(port)]
        self.web_server = self.start(sys.executable, *command, env=env)
        wait(lambda: answers(port), 30)
        return f"http://127.0.0.1:{port}"

    def collector(self):
        return self.manage("vantage", "collect")

    def join(self, *names, **limits):
        """Identities of vantage points, as if their machines had used their tokens."""
        maker = [sys.executable, "-m", "tests.tasks.vantages.joined", str(self.folder / "points")]
        env = self.env | {"LIMITS": json.dumps({"probes_per_s": 10_000} | limits)}
        address = f"127.0.0.1:{self.gate_port}"
        forks.run([*maker, address, *names], cwd=ROOT, env=env, check=True)

    def vantage(self, name, *servers, **more):
        """A worker of a measuring point that has joined, with nothing of Django."""
        hidden = ("NEPHOSCOPE", "DJANGO", "REDIS")
        env = {k: v for k, v in self.env.items() if not k.startswith(hidden)}
        env["NEPHOSCOPE_NAME_SERVERS"] = ",".join(servers)
        folder = str(self.folder / "points" / name)
        command = [sys.executable, "-m", "tasks.vantage.joining", "--folder", folder]
        return self.start(*command, env=env, **more)

    def beat(self):
        return self.celery("beat", "--schedule", str(self.folder / "beat"), "--pidfile", "")

    def valkey(self):
        child = self.start(*services.broker_command(self.folder))
        wait(lambda: broker.answers(self.folder), 20)
        return child

    def testbed(self, *arguments):
        """Serve a world; its server and its domain list."""
        child = self.manage(*("testbed", "serve", *arguments, "--port", 0), stderr=subprocess.PIPE)
        line = next(x for x in child.stderr if x.startswith("answering"))
        port = line.split("port ")[1].split(";")[0]
        return f"127.0.0.1:{port}", line.split("survey ")[1].split()[0]

    def survey(self, server, domains, *more):
        servers = [server] if isinstance(server, str) else server
        named = [text for one in servers for text in ("--name-server", one)]
        return self.manage(
            *("survey", domains, *named, "--json", *more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def sweep(self, *tasks):
        """What the scheduler asks for every few seconds, now."""
        with Celery(broker=self.env["REDIS_URL"]) as app:
            for task in tasks or ("tasks.crawl.sweep",):
                app.send_task(task, queue="crawl")

    def pretend_attempts(self, n):
        """As if every shard had been taken up so often, and its workers had died each time."""
        self.ask("UPDATE store_shard SET attempt = ?", n)

    def has_workers(self, n):
        """Whether so many workers answer."""
        with Celery(broker=self.env["REDIS_URL"]) as app:
            return len(app.control.ping(timeout=0.3)) >= n

    def let_leases_end(self):
        """Let the time pass that silent workers are given; how many shards are running."""
        query = "UPDATE store_shard SET leased_until='2000-01-01' WHERE state='running'"
        return len(self.ask(f"{query} RETURNING id"))

    def retake(self, prefix, attempt):
        """Let leases end until a shard is taken up for the ``attempt``-th time."""
        ended_at = [0.0]

        def is_taken():
            if self.attempts(prefix) >= attempt:
                return True
            # A worker that is just beginning may renew what was ended a moment ago.
            if time.monotonic() > ended_at[0] + 3:
                self.let_leases_end()
                self.sweep()
                ended_at[0] = time.monotonic()
            return False

        wait(is_taken, 30)

    def has_lapsed_lease(self):
        """Whether a running shard's lease is over."""
        query = (
            "SELECT count(*) FROM store_shard WHERE state='running' AND leased_until < '2001-01-01'"
        )
        return self.ask(query)[0][0] > 0

    def attempts(self, prefix):
        """How often the newest survey's shards were taken up whose keys begin so; 0 before."""
        query = (
            "SELECT max(attempt) FROM store_shard WHERE key LIKE ? "
            "AND survey_id = (SELECT max(id) FROM store_survey)"
        )
        return self.ask(query, prefix + "%")[0][0] or 0

    def shards(self):
        """State, worker, attempt and counters of every shard."""
        return self.ask("SELECT state, worker, attempt, CAST(counters AS text) FROM store_shard")

    def waits(self):
        """For what the newest survey waits, or its error."""
        query = (
            "SELECT coalesce((SELECT counters->>'waits' FROM store_shard "
            "WHERE survey_id = c.id AND counters->>'waits' != '' LIMIT 1), error) "
            "FROM store_survey c ORDER BY id DESC LIMIT 1"
        )
        return self.ask(query)[0][0]

    def ask(self, query, *values):
        """Run one query with ``?`` for each value on the store; its rows."""
        with stores.connect(self.folder) as run:
            return run(query, *values)

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                kill(child, signal.SIGKILL)


def answers(port):
    """Whether something listens on a port."""
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def kill(child, number):
    """Send a signal to a process and its own children, and wait until it has ended."""
    os.killpg(child.pid, number)
    child.wait()


def wait(ready, limit_s):
    """Wait until ``ready`` says so; a busy machine takes its time, and that is no fault."""
    deadline = time.monotonic() + _PATIENCE * limit_s
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
