"""Files: replaced in one step, whatever ends the writer; decompressed within a limit."""

import gzip
import io
import os
import stat
import threading
import zlib

import pytest

from core.errors import BadInput
from core.files import (
    CutStream,
    DamagedStream,
    Inflater,
    PlainReader,
    TooLarge,
    decompress,
    open_text,
    replace_file,
    replace_folder,
    unpack,
    write_bytes,
    write_text,
)
from tests.tasks.surveys.disks import small_disk

TEXT = b"a line of text\n" * 1000
PACKED = gzip.compress(TEXT, mtime=0)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_its_folder_made(tmp_path):
    path = tmp_path / "new" / "file"
    write_text(path, "first")
    write_bytes(path, "grün".encode())
    assert path.read_text(encoding="utf-8") == "grün"
    assert names(path.parent) == ["file"]


@pytest.mark.parametrize("private", [True, False])
def test_only_a_private_file_is_hidden_from_others(tmp_path, private):
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "file", "x", private=private)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == (0o600 if private else 0o644)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_no_other(tmp_path, error):
    write_text(tmp_path / "file", "old")
    with pytest.raises(error), replace_file(tmp_path / "file") as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise error
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path):
    with small_disk(tmp_path, "64k"):
        write_text(tmp_path / "file", "old")
        with pytest.raises(OSError, match="No space"):
            write_bytes(tmp_path / "file", os.urandom(100_000))
        assert (tmp_path / "file").read_text() == "old"
        assert names(tmp_path) == ["file"]


def test_data_and_name_are_flushed_to_the_disk(tmp_path, monkeypatch):
    flushed = []
    sync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino) or sync(handle)
    )
    write_text(tmp_path / "file", "x")
    assert flushed == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]


def test_threads_that_write_one_file_never_show_half_of_it(tmp_path):
    path, wanted = tmp_path / "file", {letter * 50_000 for letter in "abcd"}
    write_text(path, "a" * 50_000)
    writers = [
        threading.Thread(target=lambda t=text: [write_text(path, t) for _ in range(20)])
        for text in wanted
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_text() in wanted
    assert names(tmp_path) == ["file"]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    for content in ("first", "second"):
        with replace_folder(tmp_path / "made") as folder:
            (folder / content).write_text(content)
    assert names(tmp_path / "made") == ["second"]
    assert names(tmp_path) == ["made"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    with replace_folder(tmp_path / "made") as folder:
        (folder / "first").write_text("first")
    with pytest.raises(ValueError, match="no"), replace_folder(tmp_path / "made") as folder:  # noqa: PT012
        (folder / "second").write_text("second")
        raise ValueError("no")
    assert names(tmp_path / "made") == ["first"]
    assert names(tmp_path) == ["made"]


@pytest.mark.parametrize(
    "data",
    [TEXT, PACKED, PACKED + PACKED, PACKED + bytes(512), gzip.compress(b"", mtime=0), b""],
    ids=["plain", "gzip", "two members", "padded", "nothing packed", "empty"],
)
def test_unpacking_gives_what_gzip_gives(data):
    expected = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    assert unpack(data, 100_000) == expected
    assert PlainReader(io.BytesIO(data)).readall() == expected


def test_every_cut_is_noticed_and_what_was_whole_is_kept():
    for end in range(2, len(PACKED)):
        with pytest.raises(CutStream):
            unpack(PACKED[:end], 100_000)
    reader = io.BufferedReader(PlainReader(io.BytesIO(PACKED[:-9])))
    assert TEXT.startswith(reader.read1(5_000))


@pytest.mark.parametrize("data", [b"\x1f\x8bnot gzip", PACKED[:-8] + bytes(8), PACKED + b"rest"])
def test_damage_is_bad_input(data):
    with pytest.raises(DamagedStream) as caught:
        unpack(data, 100_000)
    assert isinstance(caught.value, BadInput)


@pytest.mark.parametrize(("data", "size"), [(TEXT, 1), (PACKED, 1), (PACKED + PACKED, 2)])
def test_the_limit_holds_for_plain_and_packed(data, size):
    limit = size * len(TEXT) - 1
    with pytest.raises(TooLarge, match="too large"):
        unpack(data, limit)
    with pytest.raises(TooLarge):
        PlainReader(io.BytesIO(data), limit).readall()
    assert len(unpack(data, limit + 1)) == limit + 1


def test_a_bomb_is_refused_before_it_unpacks():
    bomb = gzip.compress(bytes(200 << 20), 9)
    inflater, most = Inflater(8 << 20), 0
    with pytest.raises(TooLarge, match="8 MiB"):  # noqa: PT012
        for piece in inflater.feed(bomb):
            most = max(most, len(piece))
    assert most <= 1 << 20
    assert inflater.plain_bytes <= 9 << 20


def test_zlib_streams_are_whole_and_alone():
    data = zlib.compress(TEXT)
    assert decompress(data, len(TEXT)) == TEXT
    for wrong in (data[:-1], data + b"x", b"nothing", b""):
        with pytest.raises(DamagedStream):
            decompress(wrong, len(TEXT))
    with pytest.raises(TooLarge):
        decompress(data, len(TEXT) - 1)


@pytest.mark.parametrize("cut", [1, 7, 100, 65_536])
def test_pieces_of_any_size_give_the_same(cut):
    inflater = Inflater()
    plain = [p for at in range(0, len(PACKED), cut) for p in inflater.feed(PACKED[at : at + cut])]
    assert b"".join([*plain, *inflater.finish()]) == TEXT
    assert (inflater.packed_bytes, inflater.plain_bytes) == (len(PACKED), len(TEXT))


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.xz"])
def test_texts_open_by_their_suffix(tmp_path, suffix):
    import lzma

    pack = {"gz": gzip.compress, "xz": lzma.compress}.get(suffix[4:], bytes)
    (tmp_path / f"t.{suffix}").write_bytes(pack(b"a,b\n\xff,2\n"))
    with open_text(tmp_path / f"t.{suffix}") as stream:
        assert stream.read() == "a,b\n\N{REPLACEMENT CHARACTER},2\n"
