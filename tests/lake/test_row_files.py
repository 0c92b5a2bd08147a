"""Rows by number from both formats, beside a list of all rows; damage is an error."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Damaged
from lake.row_files import open_dataset, open_rows, paths_of, write_rows
from tests.examples import examples

SCHEMA = pa.schema({"name": pa.string(), "sets": pa.list_(pa.struct({"a": pa.int64()}))})
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.none() | st.text("aé.", max_size=4),
            "sets": st.none() | st.lists(st.fixed_dictionaries({"a": st.integers(0, 9)})),
        }
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=examples(60))
@given(ROWS, st.integers(1, 5), st.integers(0, 14), st.integers(0, 14), st.booleans())
def test_rows_are_those_of_the_table(rows, size, first, count, is_old):
    table = pa.Table.from_pylist(rows, SCHEMA)
    with TemporaryDirectory() as name:
        folder = Path(name)
        if is_old:
            pq.write_table(table, folder / "t.parquet", row_group_size=size)
        else:
            write_rows(folder / "t.arrow", table, size)
        found = open_rows(folder, "t")
        assert found.n_rows == len(rows)
        assert found.rows(first, count) == rows[first : first + count]
        names = [{"name": row["name"]} for row in rows[first : first + count]]
        assert found.rows(first, count, ["name"]) == names
        assert found.column("name").to_pylist() == [row["name"] for row in rows]
        assert open_dataset(paths_of(folder, "t")).to_table().to_pylist() == rows


def test_a_changed_octet_is_an_error_of_its_batch_alone(tmp_path):
    rows = [{"name": f"{number}.example", "sets": []} for number in range(100)]
    path = tmp_path / "t.arrow"
    write_rows(path, pa.Table.from_pylist(rows, SCHEMA), 10)
    octets = bytearray(path.read_bytes())
    middle = len(octets) // 2
    octets[middle] ^= 1
    path.write_bytes(octets)
    found, failed = open_rows(tmp_path, "t"), []
    for batch in range(10):
        try:
            assert found.rows(batch * 10, 10) == rows[batch * 10 : batch * 10 + 10]
        except Damaged as error:
            failed.append(str(error))
    assert len(failed) == 1
    assert "t.arrow is damaged: checksum of batch" in failed[0]


def test_a_file_without_its_places_cannot_be_opened(tmp_path):
    write_rows(tmp_path / "t.arrow", SCHEMA.empty_table(), 10)
    (tmp_path / "t.places.npy").unlink()
    with pytest.raises(OSError, match=r"t\.places\.npy"):
        open_rows(tmp_path, "t")
