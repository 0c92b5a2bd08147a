"""Lasting changes of paths: found where a hop has a new address, and not where balancers vary."""

from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import fisher_exact

from analysis.changes.paths import Series, compare_hop, count_hops, find_path_changes
from lake.campaigns import table_of

PAIRS, HOPS = 20, 12


def traces(rng, number, of=lambda pair, ttl, rng: f"10.{pair}.{ttl}.1"):
    """Hops of so many traceroutes of each pair."""
    return {
        Series(f"v{pair}", "east", "t", "", 0): {
            ttl: Counter(of(pair, ttl, rng) for _ in range(number)) for ttl in range(HOPS)
        }
        for pair in range(PAIRS)
    }


def balanced(pair, ttl, rng):
    """Load balancers at every third hop choose one of four at random, others stay."""
    return f"10.{pair}.{ttl}.{rng.integers(4) if ttl % 3 == 0 else 9}"


def test_it_works():
    rng = np.random.default_rng(1)

    def moved(pair, ttl, rng):
        return f"172.16.{ttl}.1" if pair == 3 and ttl in (5, 6) else balanced(pair, ttl, rng)

    (found,) = find_path_changes(traces(rng, 48, balanced), traces(rng, 12, moved))
    assert found.series.vantage == "v3"
    assert [(h.ttl, h.after) for h in found.hops] == [(5, "172.16.5.1"), (6, "172.16.6.1")]
    assert found.hops[0].before == "10.3.5.9"
    assert found.p_value <= 0.01
    assert {(h.n_before, h.n_after) for h in found.hops} == {(48, 12)}


@pytest.mark.parametrize("number", [(4, 4), (48, 4), (12, 12)])
def test_balancers_cause_no_false_change(number):
    rng, false = np.random.default_rng(2), 0
    for _ in range(100):
        before, after = (traces(rng, n, balanced) for n in number)
        false += bool(find_path_changes(before, after))
    # At most 1 % of comparisons is stated; 5 of 100 have a probability of 0.3 % then.
    assert false < 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": 20}, {"b": 8}),
        ({"a": 19, "b": 1}, {"b": 9}),
        ({"a": 30, "c": 10}, {"b": 10, "a": 1}),
    ],
)
def test_the_p_value_is_that_of_fishers_exact_test(old, new):
    n, m = sum(old.values()), sum(new.values())
    was, now = old.get("b", 0), new["b"]
    expected = fisher_exact([[now, m - now], [was, n - was]], "greater").pvalue
    assert compare_hop(Counter(old), Counter(new)) == pytest.approx(expected)


def test_what_is_x():
    assert compare_hop(Counter(a=40), Counter(a=5, b=6)) == 1
    assert compare_hop(Counter(a=20, b=20), Counter(b=20)) == 1
    assert find_path_changes({}, {}) == []


def test_traceroutes_of_the_lake_are_counted_by_hop(tmp_path):
    hops = [
        {"ttl": 1, "address": "10.0.0.1", "rtt_ms": 1.0},
        {"ttl": 1, "address": "10.0.0.1", "rtt_ms": 1.1},
        {"ttl": 2, "address": None, "rtt_ms": None},
        {"ttl": 3, "address": "10.0.0.3", "rtt_ms": 3.0},
    ]
    rows = [
        {"round": n, "vantage": "v", "region": "east", "target": "t", "at": n, "hops": hops}
        for n in range(4)
    ]
    pq.write_table(table_of("paths", rows), tmp_path / "p.parquet")
    found = count_hops([tmp_path / "p.parquet"])
    expected = {1: Counter({"10.0.0.1": 4}), 3: Counter({"10.0.0.3": 4})}
    assert found == {Series("v", "east", "t", "", 0): expected}
