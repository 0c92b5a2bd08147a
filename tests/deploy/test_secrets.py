"""The secrets of an installation: whole or not there, whatever ended the first start."""

import stat
import sys
from pathlib import Path

import pytest

from core.environment import read_secret
from core.errors import BadInput
from core.files import read_or_create_secret, write_text
from tests import forks
from tests.sites import environment
from tests.tasks.surveys.disks import small_disk

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {"NEPHOSCOPE_OIDC_CLIENT_ID": "nephoscope"}
READ = "from django.conf import settings; print(settings.SECRET_KEY)"


@pytest.mark.parametrize("left", [None, "", "short", "\n"])
def test_what_an_interrupted_start_left_counts_as_none(tmp_path, left):
    path = tmp_path / "secret-key"
    if left is not None:
        path.write_text(left)
    made = read_or_create_secret(path)
    assert len(made) >= 32
    assert read_or_create_secret(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["secret-key"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "secret-key"
    before = read_or_create_secret(path)
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["secret-key"]


def test_the_site_makes_a_key_in_place_of_an_empty_one(tmp_path):
    (tmp_path / "secret-key").touch()
    first, again = read_key(tmp_path).stdout, read_key(tmp_path).stdout
    assert first == again
    assert len(first.strip()) >= 32


def test_a_full_disk_at_the_first_start_is_one_line(tmp_path):
    with small_disk(tmp_path, "8k"):
        (tmp_path / "static").mkdir()
        (tmp_path / "fill").write_bytes(b"x" * 8192)
        done = read_key(tmp_path)
        left = sorted(path.name for path in tmp_path.iterdir())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: NEPHOSCOPE_DATA: cannot keep {tmp_path}/secret-key: No space")
    assert left == ["fill", "static"]


def read_key(folder, **more):
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", READ]
    return forks.run(
        command, cwd=ROOT, env=environment(folder, **more), capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "named",
    [
        "NEPHOSCOPE_SECRET_KEY_FILE",
        "NEPHOSCOPE_OIDC_CLIENT_SECRET_FILE",
        "NEPHOSCOPE_LAKE_SECRET_KEY_FILE",
    ],
)
def test_a_secret_may_come_from_a_file_and_the_variable_goes_first(tmp_path, named):
    path, name = tmp_path / "secret", named.removesuffix("_FILE")
    path.write_text("from the file\n")
    assert read_secret(name, {named: str(path)}) == "from the file"
    assert read_secret(name, {named: str(path), name: "given"}) == "given"
    assert read_secret(name, {}) == ""
    with pytest.raises(BadInput, match=f"{named}: cannot read .*/none"):
        read_secret(name, {named: str(tmp_path / "none")})


def test_the_site_reads_its_key_from_a_file(tmp_path):
    (tmp_path / "key").write_text("k" * 50)
    given = {"NEPHOSCOPE_SECRET_KEY_FILE": str(tmp_path / "key")}
    done = read_key(tmp_path / "data", **given)
    assert done.stdout.strip() == "k" * 50, done.stderr
    assert not (tmp_path / "data" / "secret-key").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"NEPHOSCOPE_OIDC_ISSUER": "http://login.example", **KNOWN}, "begins with https://"),
        ({"NEPHOSCOPE_OIDC_ISSUER": "https://login.example"}, "NEPHOSCOPE_OIDC_CLIENT_ID"),
    ],
)
def test_a_provider_that_is_half_configured_stops_the_start(tmp_path, given, said):
    done = read_key(tmp_path, **given)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert said in line
