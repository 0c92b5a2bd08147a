"""A store of an earlier version opens with everything that it held."""

import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest

from tests import forks

OLD_LINK = "an-old-link-of-forty-characters-0123456"
NOW = "2026-01-01 00:00:00"


def migrate(folder, *to):
    done = forks.manage(folder, "migrate", "--verbosity", "0", *to)
    assert done.returncode == 0, done.stderr


def ask(folder, query, *values):
    with closing(sqlite3.connect(folder / "nephoscope.sqlite3")) as store:
        return store.execute(query, values).fetchall()


def insert(store, table, **values):
    """A row with these values, and something in every other column that must not be null."""
    for _, name, kind, is_needed, default, is_key in store.execute(f"PRAGMA table_info({table})"):
        if is_needed and default is None and not is_key and name not in values:
            values[name] = NOW if kind == "datetime" else "{}" if kind == "text" else 0
            if kind.startswith("varchar"):
                values[name] = ""
    marks = ", ".join("?" * len(values))
    names = ", ".join(f'"{name}"' for name in values)
    return store.execute(
        f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values())
    ).lastrowid


@pytest.fixture
def folder(tmp_path):
    """A store as an early version left it: links as they are, ``Campaign`` for a survey."""
    found = tmp_path / "var"
    found.mkdir()
    migrate(found, "store", "0006")
    # Accounts and sessions are of Django's own apps.
    migrate(found, "auth")
    with closing(sqlite3.connect(found / "nephoscope.sqlite3")) as store, store:
        anna = insert(store, "auth_user", username="anna", is_active=1)
        survey = insert(store, "store_campaign", slug="shops", name="Shops", owner_id=anna)
        insert(store, "store_shard", campaign_id=survey, key="s00000", state="done", last=7)
        insert(store, "store_report", campaign_id=survey, table_id="providers")
        hers = insert(store, "store_measurement", slug="hers", owner_id=anna, share_token=OLD_LINK)
        insert(store, "store_recommendation", token="t", owner_id=anna, share_token="another")
        insert(store, "store_measurement", slug="nobodys", cloned_from_id=hers)
        insert(store, "store_measurementunit", measurement_id=hers, key="r000000.ping.00000")
        insert(store, "store_measurementreport", measurement_id=hers, table_id="grid")
    return found


def test_surveys_and_campaigns_keep_their_rows_links_and_makers(folder):
    migrate(folder)
    assert ask(folder, "SELECT slug, name FROM store_survey") == [("shops", "Shops")]
    joined = (
        "SELECT s.slug, x.key, x.state, x.last FROM store_shard x JOIN store_survey s"
        " ON s.id = x.survey_id"
    )
    assert ask(folder, joined) == [("shops", "s00000", "done", 7)]
    joined = "SELECT table_id FROM store_report JOIN store_survey s ON s.id = survey_id"
    assert ask(folder, joined) == [("providers",)]
    makers = "SELECT slug, maker_id IS NOT NULL FROM store_campaign ORDER BY slug"
    assert ask(folder, makers) == [("hers", 1), ("nobodys", 0)]
    cloned = "SELECT a.slug, b.slug FROM store_campaign a JOIN store_campaign b"
    cloned += " ON b.id = a.cloned_from_id"
    assert ask(folder, cloned) == [("nobodys", "hers")]
    for table in ("campaignunit", "campaignreport", "sharelink"):
        joined = f"SELECT c.slug FROM store_{table} JOIN store_campaign c ON c.id = campaign_id"
        assert ask(folder, joined) == [("hers",)], table
    hashed = sha256(b"another").hexdigest()
    assert ask(folder, "SELECT share_sha256 FROM store_recommendation") == [(hashed,)]
    code = (
        "import django; django.setup(); from webapp.store.access import sharing; "
        f"link = sharing.find('{OLD_LINK}'); print(link.kind, link.slug)"
    )
    shown = forks.run(
        [forks.sys.executable, "-c", code],
        env=forks.bare_environment(folder) | {"DJANGO_SETTINGS_MODULE": "webapp.settings"},
        cwd=forks.ROOT,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.split() == ["campaign", "hers"], shown.stderr


def test_no_index_has_the_name_of_an_earlier_table(folder):
    migrate(folder)
    names = "SELECT name FROM sqlite_master WHERE tbl_name = 'store_survey' AND type = 'index'"
    assert not [name for (name,) in ask(folder, names) if "campaign" in name]
    assert ask(folder, "PRAGMA foreign_key_check") == []
