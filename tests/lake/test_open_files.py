"""Open files: closed when they are displaced, replaced or deleted."""

from contextlib import suppress
from pathlib import Path

import pytest

from lake import open_files
from lake.open_files import OpenFiles


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(open_files.time, "monotonic", lambda: now[0])
    return now


def is_open(folder, name):
    """Whether this process has a file open that has, or had, this name."""
    found = set()
    for number in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(str(number.readlink()).removesuffix(" (deleted)"))
    return str(folder / name) in found


def write(folder, *names):
    for name in names:
        (folder / name).write_text(name)


def opened(most):
    return OpenFiles(lambda path: Path(path).open("rb", buffering=0), most)


def test_a_deleted_file_is_closed_by_the_next_reader_of_another(tmp_path, clock):
    files = opened(10)
    write(tmp_path, "a", "b")
    files.get(tmp_path / "a"), files.get(tmp_path / "b")
    (tmp_path / "a").unlink()
    assert is_open(tmp_path, "a")
    clock[0] += open_files.CHECK_S
    assert files.get(tmp_path / "b").read() == b"b"
    assert not is_open(tmp_path, "a")
    assert is_open(tmp_path, "b")
    with pytest.raises(FileNotFoundError):
        files.get(tmp_path / "a")


def test_a_replaced_file_is_read_anew(tmp_path, clock):
    files = opened(10)
    write(tmp_path, "a", "new")
    first = files.get(tmp_path / "a")
    assert files.get(tmp_path / "a") is first
    (tmp_path / "new").replace(tmp_path / "a")
    assert files.get(tmp_path / "a").read() == b"new"


def test_the_least_recently_used_is_closed_first(tmp_path, clock):
    files = opened(2)
    write(tmp_path, "a", "b", "c")
    for name in ("a", "b", "a", "c"):
        files.get(tmp_path / name)
    assert [is_open(tmp_path, name) for name in "abc"] == [True, False, True]
