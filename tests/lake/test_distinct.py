import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.distinct import RowSet, distinct_rows

TEXT = st.none() | st.text(max_size=20)
ROWS = st.lists(st.tuples(TEXT, st.integers(0, 3), st.sampled_from(["a", "b"])), max_size=60)


def batch_of(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = (pa.string(), pa.uint32(), pa.large_string())
    arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
    return pa.record_batch(arrays, names=["text", "number", "kind"])


def rows_of(batch):
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


# The first call may compile.
@settings(deadline=None)
@given(ROWS, ROWS)
def test_each_row_comes_out_once_and_in_order(first, second):
    seen = RowSet()
    found = [r for rows in (first, second) for r in rows_of(seen.filter_new(batch_of(rows)))]
    assert found == list(dict.fromkeys(first + second))
    assert seen.count == len(found)


def test_the_set_grows_until_it_is_full_and_then_lets_all_rows_pass():
    seen = RowSet(max_slots=1 << 21)
    numbers = [pa.array(range(n, n + 600_000), pa.int64()) for n in (0, 400_000, 800_000)]
    batches = [pa.record_batch([column], names=["n"]) for column in numbers]
    assert len(seen.filter_new(batches[0])) == 600_000
    assert not seen.is_full
    passed = len(seen.filter_new(batches[1])), len(seen.filter_new(batches[2]))
    assert seen.is_full
    assert passed[1] == 600_000


def test_a_file_is_read_by_columns(tmp_path):
    table = pa.table({"a": ["x", "y", "x"], "b": [1, 2, 3]})
    pq.write_table(table, tmp_path / "rows.parquet")
    found = distinct_rows(tmp_path / "rows.parquet", ["a"], RowSet()).read_all()
    assert found.to_pydict() == {"a": ["x", "y"]}
