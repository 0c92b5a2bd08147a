import os

import pytest

from core.errors import BadInput
from webapp.store.surveys import drafts


@pytest.fixture
def folder(settings, tmp_path):
    settings.UPLOADS_DIR = tmp_path
    return tmp_path / "drafts"


def kept(keys):
    found = []
    for key in keys:
        try:
            drafts.load_draft(key)
        except BadInput:
            continue
        found.append(key)
    return found


def save(size, sender, age_s):
    key = drafts.save_draft(b"x" * size, sender)
    path = next(drafts._folder().glob(f"{key}.*"))
    moment = path.stat().st_mtime - age_s
    os.utime(path, (moment, moment))
    return key


def test_each_sender_keeps_the_newest_drafts(folder):
    other = save(10, "198.51.100.7", 900)
    keys = [save(10, "192.0.2.1", 800 - n) for n in range(drafts.MOST_OF_SENDER + 5)]
    assert kept(keys) == keys[5:]
    assert kept([other])
    assert not kept(["0" * 64, "../" * 10])


def test_octets_of_one_sender_and_of_all_have_a_limit(folder, monkeypatch):
    monkeypatch.setattr(drafts, "MOST_BYTES_OF_SENDER", 1_000)
    monkeypatch.setattr(drafts, "MOST_BYTES", 2_500)
    own = [save(400, "a", 900 - n) for n in range(4)]
    assert kept(own) == own[2:]
    others = [save(900, name, 100 - n) for n, name in enumerate(("b", "c"))]
    assert kept(own) == own[3:]
    assert kept(others) == others
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 2_500
