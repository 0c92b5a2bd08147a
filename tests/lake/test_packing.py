from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.packing import distinct_facts
from tests.examples import examples

COLUMNS = ("name", "type", "value")
TYPES = (1, 2, 5, 28)
KINDS = (pa.uint32(), pa.uint16(), pa.uint32())
NAME = st.integers(0, 3) | st.just((1 << 29) - 1)
VALUE = st.integers(0, 3) | st.sampled_from([(1 << 32) - 1, 1 << 31])
TYPE = st.sampled_from([*TYPES, 3, 65535, 0])
ROWS = st.lists(st.tuples(NAME, TYPE, VALUE), max_size=60)


def write(path, rows, kinds=KINDS):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
    pq.write_table(pa.table(arrays, names=list(COLUMNS)), path)
    return path


# The first call may compile.
@settings(deadline=None, max_examples=examples(40))
@given(ROWS)
def test_each_fact_comes_out_once_and_in_order(rows):
    with TemporaryDirectory() as folder:
        found = distinct_facts(write(Path(folder) / "f.parquet", rows), COLUMNS, TYPES)
    told = [tuple(row.values()) for row in found.to_pylist()]
    assert told == list(dict.fromkeys(row for row in rows if row[1] in TYPES))


def test_rows_that_lack_a_number_are_left_out(tmp_path):
    path = write(tmp_path / "f.parquet", [(1, 1, None), (None, 1, 2), (3, None, 4), (5, 1, 6)])
    assert distinct_facts(path, COLUMNS, TYPES).to_pylist() == [{"name": 5, "type": 1, "value": 6}]


def test_many_facts_make_room_for_themselves(tmp_path):
    path = write(tmp_path / "f.parquet", [(n % 700_000, 1, 0) for n in range(900_000)])
    assert len(distinct_facts(path, COLUMNS, TYPES)) == 700_000
    assert distinct_facts(path, COLUMNS, TYPES, max_slots=1 << 20) is None


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ((1 << 29, 1, 1), KINDS),
        ((1, 1, 1 << 32), (pa.uint32(), pa.uint16(), pa.uint64())),
        ((-1, 1, 1), (pa.int64(), pa.uint16(), pa.uint32())),
        (("one", 1, 1), (pa.string(), pa.uint16(), pa.uint32())),
    ],
)
def test_what_does_not_fit_is_left_to_others(tmp_path, row, kinds):
    assert distinct_facts(write(tmp_path / "f.parquet", [row], kinds), COLUMNS, TYPES) is None
