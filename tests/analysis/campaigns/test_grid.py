import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.campaigns.aggregation.grid import summarise
from analysis.campaigns.aggregation.pivot import build_pivot
from analysis.campaigns.importers.csv_columns import Vocabulary
from analysis.campaigns.tables.best_region import choose_regions, summarise_choices
from analysis.campaigns.tables.zones import compare_zones, median_spread, relative_spreads
from core.errors import BadInput
from lake.campaigns import table_of
from tests.analysis.campaigns.reference import average_rounds
from tests.examples import examples


def row(region, vantage, values, sent=None, **more):
    lost = {"sent": len(values) if sent is None else sent, "values": values}
    return {"region": region, "vantage": vantage, "target": region, **lost, **more}


RUN = st.tuples(
    st.sampled_from(["east", "west", "north"]),
    st.sampled_from(["home", "work"]),
    st.lists(st.floats(0.125, 1e4, width=32), max_size=6),
    st.integers(0, 3),
    st.integers(0, 4),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(RUN, min_size=1, max_size=40), st.integers(0, 1))
def test_the_grid_is_what_numpy_says(runs, memory_mb):
    table = table_of("samples", [row(r, v, x, len(x) + lost) for r, v, x, lost, _ in runs])
    # Without memory, each cell is gathered by itself.
    found = summarise(table, memory_mb=memory_mb).to_pylist()
    expected = {}
    for region, vantage, values, lost, _ in runs:
        cell = expected.setdefault((region, vantage), [[], 0])
        cell[0] += values
        cell[1] += len(values) + lost
    assert [(r["region"], r["vantage"]) for r in found] == sorted(
        k for k, (_, sent) in expected.items() if sent
    )
    for got in found:
        values, sent = expected[got["region"], got["vantage"]]
        assert (got["n"], got["sent"], got["lost"]) == (len(values), sent, sent - len(values))
        assert got["loss"] == pytest.approx(1 - len(values) / sent)
        if not values:
            assert got["mean"] is got["p50"] is got["p99"] is None
            continue
        exact = np.array(values, np.float32).astype(np.float64)
        wanted = [exact.mean(), exact.min(), *np.quantile(exact, [0.5, 0.95, 0.99]), exact.max()]
        names = ("mean", "min", "p50", "p95", "p99", "max")
        assert [got[n] for n in names] == pytest.approx(wanted, rel=1e-9)
        if len(values) > 1:
            assert got["sd"] == pytest.approx(exact.std(ddof=1), abs=1e-6)


def test_files_are_read_as_one_and_selected_from(tmp_path):
    for number in range(3):
        rows = [row("east", f"v{number}", [1.0, 2.0], round=number), row("west", "v0", [5.0])]
        pq.write_table(table_of("samples", rows), tmp_path / f"{number}.parquet")
    paths = sorted(tmp_path.glob("*.parquet"))
    assert [(r["vantage"], r["n"]) for r in summarise(paths).to_pylist()] == [
        ("v0", 2),
        ("v1", 2),
        ("v2", 2),
        ("v0", 3),
    ]
    only = summarise(paths, equal={"region": "west"}).to_pylist()
    assert [(r["region"], r["n"], r["mean"]) for r in only] == [("west", 3, 5.0)]
    course = summarise(paths, ("round",), equal={"region": "east"}).to_pylist()
    assert [r["round"] for r in course] == [0, 1, 2]
    of_one = summarise(paths, ("round",), equal={"region": "east", "vantage": "v1"})
    assert [r["n"] for r in of_one.to_pylist()] == [2]


def test_one_value_a_row_is_read_as_well():
    table = pa.table(
        {"region": ["a", "a", "b"], "vantage": ["x", "x", "x"], "value": [1.0, None, 3.0]}
    )
    found = summarise(table).to_pylist()
    assert [(r["region"], r["n"], r["lost"], r["mean"]) for r in found] == [
        ("a", 1, 1, 1.0),
        ("b", 1, 0, 3.0),
    ]


@settings(deadline=None)
@given(st.lists(st.lists(st.none() | st.text(max_size=2), min_size=1), max_size=5), st.booleans())
def test_numbers_of_words_hold_from_batch_to_batch(batches, coded):
    words, expected = Vocabulary(), {}
    for batch in batches:
        column = pa.array(batch, pa.string())
        found = words.encode(column.dictionary_encode() if coded else column).tolist()
        again = dict(zip(batch, found, strict=True))
        assert all(expected.setdefault(w, c) == c for w, c in again.items())
        assert [words.values[c] for c in found] == batch
    assert len(words) == len(set(expected.values())) == len(expected)


def test_nothing_has_no_cells():
    assert summarise(table_of("samples", [])).num_rows == 0


def test_keys_that_come_late_keep_the_cells_of_those_before(tmp_path):
    """Each file brings regions and vantage points that were not seen before."""
    for number in range(30):
        rows = [row(f"r{i}", f"v{number - i}", [float(i)]) for i in range(number + 1)]
        pq.write_table(table_of("samples", rows), tmp_path / f"{number:02}.parquet")
    found = summarise(sorted(tmp_path.glob("*.parquet"))).to_pylist()
    assert len(found) == 30 * 31 // 2
    assert all((r["n"], r["mean"]) == (1, float(r["region"][1:])) for r in found)


def test_what_is_not_there_is_named():
    with pytest.raises(BadInput, match="no column 'zone'"):
        summarise(pa.table({"region": ["a"], "vantage": ["b"], "value": [1.0]}), ("zone",))
    with pytest.raises(BadInput, match="no results"):
        summarise([])


def rounds_of(by_round):
    """Rows from {vantage: {region: value per round}}; None is a round that was lost."""
    return table_of(
        "samples",
        [
            row(region, vantage, [] if v is None else [v], 1, round=number)
            for vantage, regions in by_round.items()
            for region, values in regions.items()
            for number, v in enumerate(values)
        ],
    )


SEATTLE = {"east": [60.0, 60, 60, 60], "west-1": [20.0, 20, 20, 20], "west-2": [25.0, 25, 25, 25]}
BOULDER = {"east": [30.0, 50, 30, 50], "west-1": [40.0, 30, 50, None], "west-2": [90.0, 9, 90, 90]}


def test_the_best_region_changes_for_one_client_and_not_for_the_other():
    samples = average_rounds(rounds_of({"seattle": SEATTLE, "boulder": BOULDER}))
    assert (samples.regions, samples.clients) == (
        ("east", "west-1", "west-2"),
        ("boulder", "seattle"),
    )
    assert samples.rounds == ("0", "1", "2", "3")
    boulder, seattle = choose_regions(samples)
    assert (seattle.fixed, seattle.differs, seattle.gain, seattle.changes) == ("west-1", 0.0, 0, 0)
    # Means: east 40, west-1 40 (of three), west-2 69.75; of equals the first is kept.
    assert (boulder.fixed, boulder.differs, boulder.changes) == ("east", 0.25, 2)
    assert boulder.fixed_mean == 40.0
    assert boulder.best_mean == (30 + 9 + 30 + 50) / 4
    assert boulder.gain == pytest.approx(40 - 29.75)
    found = summarise_choices([boulder, seattle])
    assert (found["never_differs"], found["vantages"]) == (1, 2)
    assert found["differs_mean"] == 0.125


def test_for_throughput_more_is_better_and_lost_rounds_are_told():
    by_round = {"v": {"a": [5.0, 5, None, 5], "b": [4.0, 9, 4, None]}}
    (choice,) = choose_regions(average_rounds(rounds_of(by_round)), higher_is_better=True)
    assert (choice.fixed, choice.unanswered, choice.rounds) == ("b", 1, 4)
    # The rounds that b answered: 4 (a had 5), 9, 4.
    assert (choice.fixed_mean, choice.best_mean) == (pytest.approx(17 / 3), pytest.approx(6.0))
    assert choice.differs == 0.5
    assert choice.gain == pytest.approx(1 / 3)


def test_a_region_that_hardly_answered_is_no_fixed_choice():
    by_round = {"v": {"a": [10.0] * 10, "b": [1.0] + [None] * 9}, "w": {"a": [None] * 10}}
    first, second = choose_regions(average_rounds(rounds_of(by_round)))
    assert (first.fixed, first.differs) == ("a", 0.1)
    assert (second.fixed, second.rounds) == (None, 0)
    assert summarise_choices([second]) == {"vantages": 1, "without_choice": 1}


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 10**6))
def test_choosing_always_is_never_worse(seed):
    chance = np.random.default_rng(seed)
    values = chance.uniform(1, 100, (3, 4, 6))
    values[chance.random(values.shape) < 0.2] = np.nan
    by_round = {
        f"v{v}": {
            f"r{r}": [None if np.isnan(x) else float(x) for x in values[r, v]] for r in range(3)
        }
        for v in range(4)
    }
    for choice in choose_regions(average_rounds(rounds_of(by_round))):
        if choice.fixed is not None:
            assert choice.gain >= -1e-9
            assert 0 <= choice.differs <= 1
            assert choice.unanswered <= choice.rounds * choice.differs + 1e-9


def test_regions_are_counted_by_vantage_point():
    grid = summarise(rounds_of({"seattle": SEATTLE, "boulder": BOULDER, "far": {"east": [200.0]}}))
    found = build_pivot(grid).counts()
    assert (found["west-1"]["without_value"], found["west-1"]["best_for"]) == (1, 1)
    assert sum(r["best_for"] for r in found.values()) == 3
    factors = build_pivot(grid).factors()
    assert (factors["seattle"]["best"], factors["seattle"]["factor"]) == ("west-1", 3.0)


def test_zones_are_compared_by_the_vantage_points_that_saw_both():
    rows = []
    for number, vantage in enumerate(["a", "b", "c", "d"]):
        rows.append(row("east", vantage, [100.0 + number], zone="z1"))
        rows.append(row("east", vantage, [101.0 + 2 * number], zone="z2"))
        rows.append(row("west", vantage, [10.0], zone="z1"))
    rows.append(row("east", "only-one", [900.0], zone="z1"))
    rows.append(row("east", "nowhere", [900.0], zone=""))
    (found,) = compare_zones(table_of("samples", rows))
    assert (found.region, found.first, found.second, found.vantages) == ("east", "z1", "z2", 4)
    assert found.difference == pytest.approx(2.5)
    assert found.low < 2.5 < found.high
    assert found.relative == pytest.approx(np.median([1 / 100.5, 2 / 102, 3 / 103.5, 4 / 105]))
    spread = median_spread(relative_spreads(average_rounds(table_of("samples", rows))))
    assert spread["relative"] > 50 * found.relative


def test_files_whose_batches_end_elsewhere_for_fewer_columns_are_read_right(tmp_path):
    """Texts that are new in each group of rows make other batches than values alone."""
    chance, rows = np.random.default_rng(3), 40_000
    whole = pa.table(
        {
            "region": [f"r{i // 9_000}-{i % 7}" for i in range(rows)],
            "vantage": [f"v{i // 7_000}-{i % 5}" for i in range(rows)],
            "sent": np.ones(rows, np.int32),
            "values": [[float(v)] if v > 1 else [] for v in chance.gamma(2.0, 9.0, rows).round(3)],
        }
    )
    path = tmp_path / "odd.parquet"
    pq.write_table(whole, path, row_group_size=3_000)
    told = summarise([path])
    assert told.equals(summarise(whole))
