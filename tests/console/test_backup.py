"""``manage.py backup``: another installation goes on with the copy, whatever went on meanwhile."""

import json
import sqlite3
import stat

import pytest

from core.errors import BadInput
from tasks.platform.backup import back_up
from tests.forks import manage as start
from tests.stores import copy_store

pytestmark = pytest.mark.services

SURVEY = "observed"


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """An installation with one finished survey, and what a running one leaves lying about."""
    folder = copy_store(tmp_path_factory.mktemp("installation") / "var")
    done = start(folder, "testbed", "observe", "tiny", "--name", SURVEY)
    assert done.returncode == 0, done.stderr
    for name in ("logs", "valkey", "static", "lake/.derived"):
        (folder / name).mkdir(exist_ok=True, parents=True)
        (folder / name / "heavy").write_text("made again")
    (folder / "lake" / ".snapshots").mkdir()
    (folder / "lake" / ".snapshots" / "pinned").write_text("cannot be made again")
    (folder / "uploads" / "half.tmp").write_text("half")
    return folder


@pytest.fixture(scope="module")
def copy(installation):
    """A copy that was made while somebody was writing."""
    target = installation.parent / "copy"
    with sqlite3.connect(installation / "nephoscope.sqlite3") as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE store_survey SET name = 'half done'")
        done = start(installation, "backup", target, "--json")
        other.rollback()
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    files = [path for path in target.rglob("*") if path.is_file()]
    assert said["files"] == len(files)
    assert said["database"] is True
    return target


def test_another_installation_goes_on_with_the_copy(copy):
    done = start(copy, "study", "compute", SURVEY)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(copy / "nephoscope.sqlite3") as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert store.execute("SELECT name FROM store_survey").fetchall() == [(SURVEY,)]


def test_what_is_made_again_is_left_out_and_the_rest_is_not(copy):
    names = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
    assert "secret-key" in names
    assert "lake/.snapshots/pinned" in names
    assert any(name.startswith("ranges/") for name in names)
    assert not {n for n in names if "heavy" in n or n.endswith(".tmp")}


def test_strangers_of_the_machine_cannot_read_it(copy):
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("copy", "is there already"),
        ("var/inside", "in the data folder itself"),
        ("no/where", "there is no folder"),
    ],
)
def test_a_folder_that_cannot_take_it_is_refused(place, words, installation, copy, settings):
    settings.DATA_DIR = installation
    with pytest.raises(BadInput, match=words):
        back_up(installation.parent / place)
