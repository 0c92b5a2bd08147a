"""Traceroutes as runs: changes between successive ones, the prevalent route, hops."""

from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from analysis.campaigns.probe_reports.summaries import build_probe_tables
from analysis.campaigns.routes.path_runs import build_path_runs
from lake.campaigns import table_of
from webapp.pages.campaigns.pairs.route_changes import count_changes


def path(number, addresses, **more):
    """A traceroute with one answer per hop; an empty address is no answer."""
    hops = [
        {"ttl": ttl, "address": address or None, "rtt_ms": 1.0}
        for ttl, address in enumerate(addresses, 1)
    ]
    row = {
        "round": number,
        "vantage": "berlin",
        "target": "t",
        "region": "eu-west-1",
        "zone": "a",
        "at": number * 3_600_000_000,
        "probe": "traceroute",
        "reached": True,
        "hops": hops,
    }
    return {**row, **more}


def build(rows):
    return build_path_runs(table_of("paths", rows))


def test_changes_prevalence_and_hops_of_planted_paths():
    ways = ["abz", "abz", "a z", "acz", "abz"]
    rows = [path(n, [c.strip() for c in way]) for n, way in enumerate(ways)]
    rows.append(path(9, "qq", vantage="tokyo", reached=False))
    found = build(rows).to_pylist()
    # A silent hop is compared with nothing, neither with the path before nor with the one after.
    assert [r["changed"] for r in found] == [None, 0, 0, 0, 1, None]
    assert [r["prevalent"] for r in found] == [1, 1, 0, 0, 1, 1]
    assert [r["values"] for r in found] == [[3.0]] * 5 + [[]]


def test_the_report_has_shares_with_intervals():
    rows = [path(n, "abz" if n % 4 else "acz") for n in range(48)]
    table = build_probe_tables(build(rows))["probe-traceroute"].to_pylist()
    by = {(r["grouped_by"], r["hour"], r["statistic"]): r for r in table}
    changed = by["region", None, "changed"]
    # Of 47 successive pairs, two of four differ, and the last three do once.
    assert (changed["n"], changed["share"]) == (47, 23 / 47)
    assert changed["share_low"] < changed["share"] < changed["share_high"]
    assert by["region", None, "prevalence"]["share"] == 0.75
    assert by["region", None, "hops"]["p50"] == 3
    assert by["region", None, "not_reached"]["share"] == 0
    assert by["hour", 4, "changed"]["n"] == 2


replies = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["", "a", "b", "c"])), min_size=0, max_size=8
)


@given(st.lists(st.tuples(st.sampled_from(["t", "u"]), st.integers(0, 1), replies), min_size=1))
def test_changes_are_those_that_the_page_of_a_pair_counts(given_paths):
    rows = []
    for number, (target, flow, found) in enumerate(given_paths):
        hops = [{"ttl": t, "address": a or None, "rtt_ms": None} for t, a in sorted(found)]
        rows.append(path(number, "", target=target, flow=flow, hops=hops))
    built = build(rows)
    counts = count_changes(table_of("paths", rows).to_pylist(), {})
    changed = built["changed"].to_pylist()
    assert sum(c is not None for c in changed) == counts["of"]
    assert sum(c == 1 for c in changed) == counts["ways"]


def test_failed_traceroutes_among_samples_have_no_report():
    row = {"vantage": "v", "region": "r", "at": 0, "probe": "traceroute", "sent": 1, "values": []}
    assert build_probe_tables(table_of("samples", [row])) == {}


def test_files_of_several_parts_are_one_table(tmp_path):
    rows = [path(n, "abz" if n < 3 else "acz") for n in range(6)]
    files = []
    for at, (first, last) in enumerate(pairwise((0, 2, 6))):
        files.append(tmp_path / f"{at}.parquet")
        pq.write_table(table_of("paths", rows[first:last]), files[-1])
    assert build_path_runs(files).equals(build(rows))
    assert isinstance(build(rows), pa.Table)
