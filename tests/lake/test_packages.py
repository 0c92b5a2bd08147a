"""Packages: the same bytes from the same members, and a reader that refuses all others."""

import hashlib
import io
import tarfile
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput, Damaged
from lake.packages import Member, PackageReader, member_of, package_bytes, write_package

NAMES = st.from_regex(r"[a-z]{1,20}(/[a-z0-9.]{1,30}){0,2}", fullmatch=True)
FILES = st.dictionaries(NAMES, st.binary(max_size=1_500), min_size=1, max_size=5)


def members(files):
    return [member_of(name, data) for name, data in sorted(files.items())]


def pack(files, first=0):
    return b"".join(write_package(members(files), first))


def read(data, files, folder):
    """Read a package whose first member stands for a manifest of the others."""
    reader = PackageReader(io.BytesIO(data))
    (first, *rest) = members(files)
    found = {first.name: reader.read_manifest(first.name, 10_000)}
    for number, member in enumerate(rest):
        path = folder / f"{len(list(folder.iterdir()))}-{number}"
        digest = hashlib.sha256(files[member.name]).hexdigest()
        reader.copy_member(member.name, member.size, digest, path)
        found[member.name] = path.read_bytes()
    reader.finish(sum(512 + m.size + -m.size % 512 for m in members(files)))
    return found


@given(FILES)
def test_a_package_is_a_tar_of_the_announced_size(files):
    data = pack(files)
    assert len(data) == package_bytes(members(files))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {entry.name: archive.extractfile(entry).read() for entry in archive}
    assert found == files


@given(FILES, st.integers(0, 20_000))
def test_a_download_goes_on_at_any_byte(files, first):
    assert pack(files, first) == pack(files)[first:]


@given(FILES, st.data())
def test_what_is_written_is_read_and_nothing_else(tmp_path_factory, files, data):
    folder = tmp_path_factory.mktemp("read")
    whole = pack(files)
    assert read(whole, files, folder) == files
    at = data.draw(st.integers(0, len(whole) - 1))
    first = members(files)[0]
    if 512 <= at < 512 + first.size:
        return  # The manifest has a reader that checks it.
    changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    with pytest.raises(BadInput):
        read(changed, files, folder)
    with pytest.raises(BadInput):
        read(whole[:at], files, folder)
    with pytest.raises(BadInput):
        read(whole + b"\0", files, folder)


def test_a_file_that_changes_meanwhile_ends_the_writing(tmp_path):
    path = tmp_path / "part"
    path.write_bytes(b"a" * 100)
    member = member_of("part", path)
    path.write_bytes(b"a" * 99)
    with pytest.raises(Damaged, match="part"):
        list(write_package([member]))


@pytest.mark.parametrize(("name", "size"), [("x" * 101, 1), ("x", 8**11), ("ä", 1)])
def test_what_a_header_cannot_say_is_refused(name, size):
    with pytest.raises(BadInput, match="too long"):
        list(write_package([Member(name, size, b"")]))


def test_large_files_are_written_and_read_in_pieces(tmp_path):
    """Neither side holds more of a file of 64 MiB than a few pieces of 1 MiB."""
    path, n_bytes = tmp_path / "large", 64 << 20
    with path.open("wb") as handle:
        handle.truncate(n_bytes)
    large = [member_of("manifest.json", b"{}"), member_of("large", path)]
    tracemalloc.start()
    try:
        with (tmp_path / "package.tar").open("wb") as handle:
            handle.writelines(write_package(large))
        digest = hashlib.file_digest(path.open("rb"), "sha256").hexdigest()
        with (tmp_path / "package.tar").open("rb") as stream:
            reader = PackageReader(stream)
            reader.read_manifest("manifest.json", 10)
            reader.copy_member("large", n_bytes, digest, tmp_path / "copy")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert (tmp_path / "copy").stat().st_size == n_bytes
