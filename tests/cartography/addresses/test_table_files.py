"""Compiled tables as files: what is opened is what was written, and damage is refused."""

import numpy as np
import pyarrow as pa
import pytest

from cartography.addresses.array_file import open_snapshot, write_snapshot
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.placement.cloud_table import PrefixTable
from core.errors import BadInput
from tests.cartography.ranges.files import read_sample

ASKED = [
    "198.51.100.40",
    "198.51.100.7",
    "203.0.113.200",
    "2001:db8:1:0:8000::1",
    "10.0.0.1",
    "::ffff:192.0.2.70",
    "nephos",
    "2001:db8:ffff::",
]
SAMPLES = (
    "aws-sample.json",
    "azure-tags-sample.json",
    "google-cloud-sample.json",
    "google-goog-sample.json",
)


@pytest.fixture(scope="module")
def table():
    return PrefixTable.build([read_sample(name) for name in SAMPLES])


def test_it_works(table, tmp_path):
    digest = table.write(tmp_path / "a.map")
    opened = PrefixTable.open(tmp_path / "a.map")

    assert opened.place_many(ASKED) == table.place_many(ASKED)
    assert [opened.place(a) for a in ASKED] == table.place_many(ASKED)
    assert opened.label_table() == table.label_table()
    assert opened.boundaries(6) == table.boundaries(6)
    column = pa.array(ASKED)
    assert (opened.addresses.match_text(column) == table.addresses.match_text(column)).all()
    assert opened.write(tmp_path / "b.map") == digest
    assert (tmp_path / "a.map").read_bytes() == (tmp_path / "b.map").read_bytes()


def test_the_order_of_files_does_not_change_the_digest(table, tmp_path):
    again = PrefixTable.build([read_sample(name) for name in SAMPLES])

    assert again.write(tmp_path / "a.map") == table.write(tmp_path / "b.map")


def test_what_is_mapped_cannot_be_changed(table, tmp_path):
    table.write(tmp_path / "a.map")
    labels = PrefixTable.open(tmp_path / "a.map").addresses.families[4].labels

    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 7


def test_every_damaged_byte_is_noticed(tmp_path):
    path = tmp_path / "small.map"
    arrays = {"a": np.arange(5, dtype=np.int32), "none": np.empty(0), "b": np.arange(3.0)}
    write_snapshot(path, "test", arrays, {"said": "much"})
    data = path.read_bytes()
    found = open_snapshot(path)
    assert found.arrays["a"].tolist() == [0, 1, 2, 3, 4]
    assert found.document == {"said": "much"}

    noticed = 0
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        try:
            changed = open_snapshot(path)
        except BadInput:
            noticed += 1
        else:  # a byte between the arrays, which nobody reads
            assert {n: a.tolist() for n, a in changed.arrays.items()} == {
                n: a.tolist() for n, a in found.arrays.items()
            }
            assert data[at] in b"\0 "
    assert noticed > len(data) * 0.6


def test_a_file_that_is_cut_off(table, tmp_path):
    table.write(tmp_path / "a.map")
    data = (tmp_path / "a.map").read_bytes()
    for size in (0, 4, 12, 500, len(data) // 2, len(data) - 1):
        (tmp_path / "a.map").write_bytes(data[:size])
        with pytest.raises(BadInput, match="damaged"):
            PrefixTable.open(tmp_path / "a.map")


def test_a_table_of_another_kind(tmp_path):
    OriginTable.build(read_origins(b"192.0.2.0/24\t64500\n")).write(tmp_path / "a.map")

    with pytest.raises(BadInput, match="one of origins, not of cloud"):
        PrefixTable.open(tmp_path / "a.map")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        PrefixTable.open(tmp_path / "none.map")


def test_a_table_of_an_older_form(tmp_path):
    write_snapshot(tmp_path / "a.map", "cloud", {"starts4": np.arange(3)}, {})

    with pytest.raises(BadInput, match="lacks 'words'"):
        PrefixTable.open(tmp_path / "a.map")
