"""Tables of many rows in files: what is read is what was asked for, by vantage point and region."""

import pyarrow as pa
import pytest

from webapp.store.campaigns import table_files


@pytest.fixture(scope="module")
def whole():
    rows = table_files.LARGE_ROWS + 5
    return pa.table(
        {
            "vantage": [f"v{i // 50:05}" for i in range(rows)],
            "region": [f"r{i % 50:02}" for i in range(rows)],
            "n": list(range(rows)),
        }
    )


@pytest.fixture(scope="module", params=["large", "small"])
def stored(request, whole, tmp_path_factory):
    table = whole if request.param == "large" else whole.slice(0, 10_000)
    path = tmp_path_factory.mktemp("files") / "grid.parquet"
    table_files.write(path, table)
    return path, table.to_pylist()


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"region": ["r07"]},
        {"vantage": ["v00003", "v00150"]},
        {"vantage": ["nobody"]},
        {"vantage": ["v00003"], "region": ["r07", "r49"]},
        {"region": []},
        {"region": ["r49"], "n": [49]},
    ],
)
def test_rows_are_those_that_were_asked_for(stored, wanted):
    path, rows = stored
    found = table_files.read_rows(path, ["n", "region"], wanted)
    expected = [
        {"n": r["n"], "region": r["region"]}
        for r in rows
        if all(r[k] in v for k, v in wanted.items())
    ]
    assert found.column_names == ["n", "region"]
    assert found.to_pylist() == expected
