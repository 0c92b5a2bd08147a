"""The tables of a campaign: the same figures by columns as by rows, and edges that have none."""

import random
from dataclasses import asdict

import pyarrow as pa
import pytest

from analysis.campaigns.aggregation import counting, grouped_values
from analysis.campaigns.aggregation.grid import summarise
from analysis.campaigns.aggregation.pivot import build_pivot
from analysis.campaigns.tables import best_region, tables, zones
from analysis.campaigns.tables.headlines import headline_of
from lake.campaigns import table_of
from tests.analysis.campaigns import reference


def rows(vantages=6, regions=4, rounds=5, seed=1, **more):
    chance = random.Random(seed)
    return [
        {
            "round": n,
            "vantage": f"v{v}",
            "target": f"r{r}",
            "provider": "aws",
            "region": f"r{r}",
            "zone": f"r{r}{'ab'[n % 2]}",
            "at": 0,
            "probe": "tcp-ping",
            "status": "OK" if values else "TIMEOUT",
            "sent": 3,
            "values": values,
            **more,
        }
        for n in range(rounds)
        for v in range(vantages)
        for r in range(regions)
        for values in [[] if chance.random() < 0.15 else [chance.uniform(5, 300) for _ in "ab"]]
    ]


@pytest.fixture(scope="module")
def samples():
    silent = [{**r, "vantage": "deaf", "values": [], "status": "REFUSED"} for r in rows(1)]
    return table_of("samples", rows() + silent)


@pytest.mark.parametrize("higher", [False, True])
def test_columns_say_what_rows_say(samples, higher):
    grid = summarise(samples)
    found = build_pivot(grid, higher_is_better=higher)
    assert found.counts() == reference.count_regions(grid, higher)
    expected = reference.find_factors(grid, higher)
    assert found.factors().keys() == expected.keys()
    for name, own in found.factors().items():
        assert own == pytest.approx(expected[name])


def test_what_does_not_fit_is_built_in_parts_with_the_same_figures(samples, monkeypatch):
    whole = tables.build_tables(samples)
    monkeypatch.setattr(tables, "MAX_CELLS", 4 * 5 * 2)
    monkeypatch.setattr(tables, "MAX_ROUND_ROWS", 4 * 5 * 2)
    monkeypatch.setattr(grouped_values, "MAX_VALUES", 50)
    monkeypatch.setattr(counting, "MAX_BUFFER_BYTES", 500)
    parted = tables.build_tables(samples)
    assert "latency-rounds" not in parted.files
    told = [b.files["latency-vantages"].to_pylist() for b in (parted, whole)]
    assert told[0] == told[1]
    assert parted.files["latency-grid"].equals(whole.files["latency-grid"])
    assert {r.id: r.rows for r in parted.reports} == {r.id: r.rows for r in whole.reports}


@pytest.mark.parametrize("providers", [("aws",), ("aws", "google")])
def test_what_is_held_says_the_same_as_each_cell_by_itself(samples, providers):
    """Regions of several providers may share a name; names come in any order."""
    table = samples
    for provider in providers[1:]:
        extra = [
            {**r, "provider": provider, "region": f"r{(v % 3) + 2}"}
            for v, r in enumerate(rows(4, 2, 7, seed=5, vantage="b0"))
        ]
        table = pa.concat_tables([table_of("samples", extra), samples]).unify_dictionaries()
    built = tables.build_tables(table)
    told = {r.id: [dict(zip(r.columns, c, strict=True)) for c in r.rows] for r in built.reports}

    def plain(rows, keys):
        kept = [{k: None if v != v else v for k, v in r.items()} for r in rows]
        return {tuple(r[k] for k in keys): r for r in kept}

    for keys, found in (
        (("vantage", "region"), built.files["latency-grid"].to_pylist()),
        (("vantage",), built.files["latency-vantages"].to_pylist()),
        (("region", "round"), told["latency-course"]),
        (("provider", "region"), told["latency-regions"]),
    ):
        expected = plain(summarise(table, keys).to_pylist(), keys)
        own = plain(found, keys)
        assert own.keys() == expected.keys()
        for key, row in expected.items():
            assert {k: own[key][k] for k in row} == pytest.approx(row, nan_ok=True)
    assert told["latency-zones"] == [asdict(c) for c in zones.compare_zones(table)]
    choice = {
        c.vantage: c.differs for c in best_region.choose_regions(reference.average_rounds(table))
    }
    vantages = built.files["latency-vantages"].to_pylist()
    assert {r["vantage"]: r["differs"] for r in vantages} == choice


def test_failures_are_counted_by_region_and_by_vantage_point(samples):
    told = {
        r.id: [dict(zip(r.columns, c, strict=True)) for c in r.rows]
        for r in tables.build_tables(samples).reports
    }
    assert sum(r["runs"] for r in told["failures"]) == samples.num_rows
    failed = sum(s != "OK" for s in samples["status"].to_pylist())
    assert sum(r["failed"] for r in told["failures"]) == failed
    assert told["failing-vantages"][0]["vantage"] == "deaf"
    assert told["failing-vantages"][0]["share"] == 1.0


def test_nothing_gives_no_table_and_no_finding():
    built = tables.build_tables([])
    assert (built.reports, built.files) == ([], {})
    assert headline_of("latency-regions", []) == ""


def test_only_failures_give_tables_without_values():
    dead = [{**r, "values": [], "status": "TIMEOUT"} for r in rows(2, 2, 2)]
    told = {r.id: r for r in tables.build_tables(table_of("samples", dead)).reports}
    assert told["latency-regions"].headline == "None of 2 regions gave a value"
    assert told["failures"].headline == "8 of 8 runs gave no value"
    assert told["latency-choice"].n == 2
    assert not any(c != c for t in told.values() for r in t.rows for c in r)


def test_probes_of_public_networks_count_as_latency():
    mixed = table_of("samples", rows(1, 1, 1) + rows(1, 1, 1, seed=3, probe="icmp-echo"))
    (regions,) = [r for r in tables.build_tables(mixed).reports if r.id == "latency-regions"]
    assert regions.n == sum(len(v) for v in mixed["values"].to_pylist())
    assert isinstance(mixed, pa.Table)


def test_a_long_course_tells_some_rounds_as_they_were(samples, monkeypatch):
    def course():
        (found,) = [r for r in tables.build_tables(samples).reports if r.id == "latency-course"]
        return [dict(zip(found.columns, c, strict=True)) for c in found.rows]

    whole = course()
    monkeypatch.setattr(tables, "MAX_COURSE_ROWS", 10)
    short = course()
    assert sorted({r["round"] for r in short}) == [0, 2, 4]
    assert short == [r for r in whole if r["round"] % 2 == 0]
