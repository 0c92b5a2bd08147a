"""A store of an earlier version opens with everything that it held, on both database engines."""

import tempfile
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import pytest

from tests import forks, services, stores

OLD_LINK = "an-old-link-of-forty-characters-0123456"
NOW = "2026-01-01 00:00:00"
BEFORE = "0001"
COLUMNS = {
    "sqlite": 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)',
    "postgresql": (
        "SELECT column_name, data_type, is_nullable = 'NO', column_default, column_name = 'id'"
        " FROM information_schema.columns WHERE table_name = ?"
    ),
}


class Store:
    """A data folder with its database, on SQLite unless ``url`` names a server."""

    def __init__(self, folder, url=""):
        self.folder = folder
        self.engine = "postgresql" if url else "sqlite"
        self.url = url or f"sqlite:///{folder / 'nephoscope.sqlite3'}"

    def environment(self):
        settings = {"DJANGO_SETTINGS_MODULE": "webapp.settings", "DATABASE_URL": self.url}
        return forks.bare_environment(self.folder) | settings

    def migrate(self, *to):
        words = [forks.sys.executable, "manage.py", "migrate", "--verbosity", "0", *to]
        self._run(words)

    def python(self, code):
        return self._run([forks.sys.executable, "-c", f"import django; django.setup(); {code}"])

    def _run(self, words):
        pipes = {"capture_output": True, "text": True}
        done = forks.run(words, env=self.environment(), cwd=forks.ROOT, **pipes)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def connect(self):
        """A function that runs a query with ``?`` for each value and gives the rows."""
        if self.engine == "sqlite":
            return stores.open_file(self.folder / stores.NAME)
        return stores.connect_to(self.url)

    def ask(self, query, *values):
        with self.connect() as run:
            return run(query, *values)

    def insert(self, table, **values):
        """A row with these values, and something in every other column that must not be null."""
        with self.connect() as run:
            for name, kind, is_needed, default, is_key in run(COLUMNS[self.engine], table):
                if is_needed and default is None and not is_key and name not in values:
                    values[name] = _filler(kind)
            marks = ", ".join("?" * len(values))
            names = ", ".join(f'"{name}"' for name in values)
            query = f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING id"
            return run(query, *values.values())[0][0]


def _filler(kind):
    if kind.startswith(("datetime", "timestamp")):
        return NOW
    if kind.startswith(("varchar", "character")):
        return ""
    return {"text": "{}", "jsonb": "{}", "bool": False, "boolean": False}.get(kind, 0)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request, tmp_path):
    found = tmp_path / "var"
    found.mkdir()
    if request.param == "sqlite":
        yield Store(found)
        return
    pytest.importorskip("psycopg", reason="the PostgreSQL driver psycopg is not installed")
    # Folders of a test belong to its own account, which the server's cannot enter.
    with tempfile.TemporaryDirectory(prefix="nephoscope-pg-") as folder, ExitStack() as running:
        try:
            url = running.enter_context(services.run_postgresql(Path(folder)))
        except services.NotInstalled as missing:
            pytest.skip(str(missing))
        yield Store(found, url)


@pytest.fixture(params=[BEFORE, "0008", "0009"])
def store(request, empty):
    """A store that an early version filled, migrated as far as a later one did.

    Links were stored as they are, and ``Campaign`` was the name of a survey.
    """
    empty.migrate("store", BEFORE)
    # Accounts and sessions are of Django's own apps.
    empty.migrate("auth")
    anna = empty.insert("auth_user", username="anna", is_active=True)
    survey = empty.insert("store_campaign", slug="shops", name="Shops", owner_id=anna)
    empty.insert("store_shard", campaign_id=survey, key="s00000", state="done", last=7)
    empty.insert("store_report", campaign_id=survey, table_id="providers")
    hers = empty.insert("store_measurement", slug="hers", owner_id=anna, share_token=OLD_LINK)
    empty.insert("store_recommendation", token="t", owner_id=anna, share_token="another")
    empty.insert("store_measurement", slug="nobodys", cloned_from_id=hers)
    empty.insert("store_measurementunit", measurement_id=hers, key="r000000.ping.00000")
    empty.insert("store_measurementreport", measurement_id=hers, table_id="grid")
    if request.param != BEFORE:
        empty.migrate("store", request.param)
    # That version knew its own six migrations, and none that stands for all of them.
    empty.ask("DELETE FROM django_migrations WHERE name = ?", "0001_pools_and_before")
    known = "SELECT count(*) FROM django_migrations WHERE app = ? AND name < ?"
    assert empty.ask(known, "store", "0007") == [(6,)]
    return empty


def test_surveys_and_campaigns_keep_their_rows_links_and_makers(store):
    store.migrate()
    assert store.ask("SELECT slug, name FROM store_survey") == [("shops", "Shops")]
    joined = (
        "SELECT s.slug, x.key, x.state, x.last FROM store_shard x JOIN store_survey s"
        " ON s.id = x.survey_id"
    )
    assert store.ask(joined) == [("shops", "s00000", "done", 7)]
    joined = "SELECT table_id FROM store_report JOIN store_survey s ON s.id = survey_id"
    assert store.ask(joined) == [("providers",)]
    makers = "SELECT slug, maker_id IS NOT NULL FROM store_campaign ORDER BY slug"
    assert store.ask(makers) == [("hers", True), ("nobodys", False)]
    cloned = "SELECT a.slug, b.slug FROM store_campaign a JOIN store_campaign b"
    cloned += " ON b.id = a.cloned_from_id"
    assert store.ask(cloned) == [("nobodys", "hers")]
    for table in ("campaignunit", "campaignreport", "sharelink"):
        joined = f"SELECT c.slug FROM store_{table} JOIN store_campaign c ON c.id = campaign_id"
        assert store.ask(joined) == [("hers",)], table
    hashed = sha256(b"another").hexdigest()
    assert store.ask("SELECT share_sha256 FROM store_recommendation") == [(hashed,)]
    code = (
        "from webapp.store.access import sharing; "
        f"link = sharing.find('{OLD_LINK}'); print(link.kind, link.slug)"
    )
    assert store.python(code).split() == ["campaign", "hers"]
    if store.engine == "sqlite":
        names = "SELECT name FROM sqlite_master WHERE tbl_name = 'store_survey' AND type = 'index'"
        assert not [name for (name,) in store.ask(names) if "campaign" in name]
        assert store.ask("PRAGMA foreign_key_check") == []
