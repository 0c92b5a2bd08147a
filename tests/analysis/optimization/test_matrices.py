"""Tables of samples are read, and what is wrong with them is said."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.optimization import recommend
from analysis.optimization.files.matrices import (
    read_city_pairs,
    read_samples,
    read_square,
    read_weights,
)
from core.errors import BadInput

SAMPLES = """round,client,region,value
1,paris,dublin,18.5
1,paris,oregon,140
1,boston,dublin,
1,boston,oregon,72
2,paris,dublin,19.5
"""


def write(tmp_path, text, name="samples.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_it_works(tmp_path):
    samples = read_samples(write(tmp_path, SAMPLES), {"paris": 2, "boston": 1})
    assert samples.regions == ("dublin", "oregon")
    assert samples.clients == ("paris", "boston")
    assert samples.rounds == ("1", "2")
    assert samples.weights.tolist() == [2, 1]
    assert samples.missing == 4
    assert samples.values[0, 0].tolist() == [18.5, 19.5]
    assert recommend(samples, 1).proven


def test_columns_may_stand_in_any_order(tmp_path):
    text = "value,extra,region,client,round\n5,x,a,c,1\n7,y,b,c,1\n"
    samples = read_samples(write(tmp_path, text))
    assert samples.values.ravel().tolist() == [5, 7]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("round,client,region\n1,c,a\n", "value"),
        ("round,client,region,value\n1,c,a,fast\n", "fast"),
        ("round,client,region,value\n1,c,a,5\n1,c,b,6\n1,c,a,7\n", "line 4"),
        ("round,client,region,value\n1,c,a,-5\n", "line 2: .*'-5' is below zero"),
        ("round,client,region,value\n1,c,a,5\n\n1,d,a,inf\n", "line 4: .*not finite"),
        ("round,client,region,value\n1,c,a,1e400\n", "line 2: .*not finite"),
        ("round,client,region,value\n1,c,a,0x5\n", "line 2: .*'0x5' is not a number"),
        ("round,client,region,value\n1,c,a,1_0\n", "line 2: .*'1_0' is not a number"),
        ("round,client,region,value\n1,c,a,8,5\n", "line 2: .*5 columns, where"),
        ("round,client,region,value\n1,c,a,5\n1,c\n", "line 3: .*2 columns, where"),
        ("round,client,region,value\n1,,a,5\n", "line 2: .*the client is empty"),
        ("round;client;region;value\n1;c;a;5\n", "line 1: .*semicolons"),
        ("round\tclient\tregion\tvalue\n1\tc\ta\t5\n", "line 1: .*tabs"),
        ("Round,client,region,value\n1,c,a,5\n", "line 1: .*'round' is missing.*'Round'"),
        ("1,c,a,5\n", "line 1: .*'round' is missing"),
        (f"round,client,region,value\n1,{'c' * 200_000},a,-1\n", "line 2: .*cannot be read"),
        ("round,client,region,value\n", "no samples"),
        ("", "samples.csv"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, says):
    with pytest.raises(BadInput, match=says):
        read_samples(write(tmp_path, text))


@pytest.mark.parametrize("text", [SAMPLES.replace("\n", "\r\n"), "\ufeff" + SAMPLES])
def test_marks_of_other_systems_change_nothing(tmp_path, text):
    found = read_samples(write(tmp_path, text))
    plain = read_samples(write(tmp_path, SAMPLES))
    assert found.regions == plain.regions
    assert np.array_equal(found.values, plain.values, equal_nan=True)


@pytest.mark.parametrize("octets", [SAMPLES.encode("utf-16"), b"\xff" + SAMPLES.encode()])
def test_what_is_no_text_is_refused_with_its_line(tmp_path, octets):
    path = tmp_path / "samples.csv"
    path.write_bytes(octets)
    with pytest.raises(BadInput, match=r"line 1: samples\.csv: "):
        read_samples(path)


def test_weights(tmp_path):
    path = write(tmp_path, "client,weight\nparis,2.5\nboston,1\n")
    assert read_weights(path) == {"paris": 2.5, "boston": 1}
    with pytest.raises(BadInput, match="no weight"):
        read_samples(write(tmp_path, SAMPLES), {"paris": 2})
    with pytest.raises(BadInput, match="two weights"):
        read_weights(write(tmp_path, "client,weight\nparis,2.5\nparis,1\n"))
    with pytest.raises(BadInput, match="line 3"):
        read_weights(write(tmp_path, "client,weight\nparis,2.5\nboston,\n"))
    with pytest.raises(BadInput, match=r"line 3: .*below zero"):
        read_weights(write(tmp_path, "client,weight\nparis,2.5\nboston,-1\n"))
    with pytest.raises(BadInput, match="from 0 up"):
        read_samples(write(tmp_path, SAMPLES), {"paris": -2, "boston": 1})


def test_square_tables(tmp_path):
    samples = read_square(write(tmp_path, "0 5 2\n5 0 0\n2 0 0\n"))
    assert np.isnan(samples.values[1, 2, 0])
    assert samples.values[1, 1, 0] == 0
    with pytest.raises(BadInput, match="columns"):
        read_square(write(tmp_path, "0 5\n5 0\n1 2\n"))
    with pytest.raises(BadInput, match="numbers"):
        read_square(write(tmp_path, "0 x\n5 0\n"))


def test_city_pairs(tmp_path):
    text = "source,destination,rtt_avg_ms\nOslo,Dublin,30\nOslo,Tokyo,\nRome,Dublin,40\n"
    samples = read_city_pairs(write(tmp_path, text), ["Dublin", "Tokyo"])
    assert samples.regions == ("Dublin", "Tokyo")
    assert samples.missing == 2
    with pytest.raises(BadInput, match="Lima"):
        read_city_pairs(write(tmp_path, text), ["Lima"])
    with pytest.raises(BadInput, match="line 2"):
        read_city_pairs(write(tmp_path, "source,destination,rtt_avg_ms\nOslo,Rome,x\n"), ["Rome"])


ROW = st.tuples(
    st.sampled_from(["1", "2"]),
    st.sampled_from(["paris", "boston", "lima"]),
    st.sampled_from(["dublin", "oregon"]),
    st.one_of(st.none(), st.floats(0, 1e4)),
)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(ROW, min_size=1, max_size=12, unique_by=lambda row: row[:3]),
    st.integers(1, 5),
    st.booleans(),
)
def test_parquet_gives_the_same_samples_as_csv(tmp_path_factory, rows, group, coded):
    folder = tmp_path_factory.mktemp("samples")
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    plain = read_samples(write(folder, "\n".join(["round,client,region,value", *lines, ""])))
    path = folder / "samples.parquet"
    write_parquet(path, rows, row_group_size=group, use_dictionary=coded)
    found = read_samples(path, parquet=True)
    assert (found.regions, found.clients, found.rounds) == (
        plain.regions,
        plain.clients,
        plain.rounds,
    )
    np.testing.assert_array_equal(found.values, plain.values)


def write_parquet(path, rows, **how):
    names = ("round", "client", "region", "value")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({name: list(column) for name, column in columns.items()}), path, **how)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("1", "c", "a", 5.0), ("1", "c", "b", -1.0)], "line 2: .*value -1 is below 0"),
        ([("1", "c", "a", 5.0), ("1", "c", "b", math.inf)], "line 2: .*inf is not finite"),
        ([("1", "c", "a", 5.0), ("1", "c", "a", 6.0)], "line 2: .*a second value"),
        ([("1", "c", "a", 5.0), ("1", None, "a", 6.0)], "line 2: .*a client is empty"),
        ([("1", "c", "", 5.0)], "a region is empty"),
        ([("1", "c", "a", "fast")], "'value' holds string, not numbers"),
    ],
)
def test_what_is_wrong_in_parquet_is_said(tmp_path, rows, says):
    path = tmp_path / "samples.parquet"
    write_parquet(path, rows, row_group_size=1)
    with pytest.raises(BadInput, match=says):
        read_samples(path, parquet=True)


def test_parquet_is_bounded_damaged_or_of_the_command(tmp_path):
    path = tmp_path / "samples.parquet"
    write_parquet(path, [("1", "c", "a", 5.0), ("1", "c", "b", 6.0)])
    with pytest.raises(BadInput, match="at most 1 "):
        read_samples(path, None, 1, parquet=True)
    with pytest.raises(BadInput, match="give CSV"):
        read_samples(path)
    pq.write_table(pa.table({"client": ["c"], "value": [1.0]}), path)
    with pytest.raises(BadInput, match="'region' is missing"):
        read_samples(path, parquet=True)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(BadInput, match="cannot be read"):
        read_samples(path, parquet=True)
