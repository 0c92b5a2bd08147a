"""Drills on one installation: restore after a loss, and an upgrade from an earlier version.

Each compares every page of a survey, byte for byte but for tokens of forms, before and after.
"""

import json
import shutil
import sqlite3

import pytest

from tests.forks import bare_environment, manage, run, sys
from tests.stores import copy_store

pytestmark = pytest.mark.services
SURVEY = "observed"
# The migrations of the version before; older ones are in tests/store/test_migrations.py.
BEFORE = "0016"
PAGES = f"""
import re, django
django.setup()
from datetime import UTC, datetime
from hashlib import sha256
from django.test import Client
from django.utils import timezone
from tasks.surveys import derived
from webapp.store.models import Report, Survey
# A backup has no derived files; a worker builds them again.
derived.index_survey(Survey.objects.get(slug="{SURVEY}"))
paths = ["/", "/surveys/", "/s/{SURVEY}/", "/s/{SURVEY}/map/", "/s/{SURVEY}/domains/", "/about/"]
paths += ["/s/{SURVEY}/reports/%s/" % page for page in ("providers", "regions", "patterns")]
paths += ["/api/v1/surveys/{SURVEY}/tables/%s" % r.table_id for r in Report.objects.all()]
# Ages on pages are of one moment.
timezone.now = lambda: datetime(2030, 1, 1, tzinfo=UTC)
client = Client(SERVER_NAME="localhost")
for path in paths:
    reply = client.get(path)
    body = b"".join(reply) if reply.streaming else reply.content
    body = re.sub(rb'name="csrfmiddlewaretoken" value="[^"]+"', b"", body)
    print(path, reply.status_code, sha256(body).hexdigest())
"""


def pages_of(folder):
    """A line for each page: path, status and digest."""
    env = bare_environment(folder) | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
    done = run([sys.executable, "-c", PAGES], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) > 20
    assert {line.split()[1] for line in lines} == {"200"}, lines
    return lines


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """An installation with one finished survey, and the digests of its pages."""
    folder = copy_store(tmp_path_factory.mktemp("installation") / "var")
    done = manage(folder, "testbed", "observe", "tiny", "--name", SURVEY)
    assert done.returncode == 0, done.stderr
    return folder, pages_of(folder)


def test_all_pages_are_equal_after_a_loss_and_a_restore(installation, tmp_path):
    folder, before = installation
    copy = tmp_path / "backup"
    assert manage(folder, "backup", copy).returncode == 0
    shutil.rmtree(folder)
    copy.rename(folder)
    assert pages_of(folder) == before


def test_all_pages_are_equal_after_an_upgrade(installation, tmp_path):
    folder, before = installation
    assert manage(folder, "migrate", "store", BEFORE, "--verbosity", "0").returncode == 0
    report = json.loads(manage(folder, "upgrade", "--check", "--json").stdout)
    assert report["missing"][0].startswith("store.0017")
    assert report["problems"] == report["unknown"] == []
    again = json.loads(manage(folder, "upgrade", "--check", "--json").stdout)
    assert again["missing"] == report["missing"]
    done = manage(folder, "upgrade")
    assert f"{len(report['missing'])} migrations applied" in done.stderr
    assert json.loads(manage(folder, "upgrade", "--check", "--json").stdout)["missing"] == []
    assert pages_of(folder) == before


def test_a_database_of_a_newer_version_is_refused(installation):
    folder, _ = installation
    with sqlite3.connect(folder / "nephoscope.sqlite3") as store:
        row = ("store", "9999_of_the_future", "2030-01-01 00:00:00")
        store.execute("INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, ?)", row)
    done = manage(folder, "upgrade", "--check")
    assert done.returncode == 2
    assert "newer version" in done.stderr
    assert "store.9999_of_the_future" in done.stderr
