"""Regret of domains beside exhaustive enumeration, and the change that gains most."""

from itertools import combinations

import numpy as np
import pytest

from analysis.impact.domain_regret import (
    BestSet,
    DomainUse,
    best_changes,
    find_regrets,
    read_domain_uses,
    summarise,
)
from analysis.optimization import Measure, Objective, Samples, Study
from core.errors import BadInput

REGIONS = tuple("abcdefgh")


def samples(seed, gaps=0.05):
    rng = np.random.default_rng(seed)
    values = rng.uniform(5, 300, (len(REGIONS), 30, 3)).round(1)
    values[rng.random(values.shape) < gaps] = np.nan
    names = tuple(f"c{i}" for i in range(30))
    return Samples(REGIONS, names, ("1", "2", "3"), values, rng.integers(1, 9, 30).astype(float))


def domains(seed, n=200):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    return [
        DomainUse(f"d{i}.example", tuple(rng.choice(REGIONS, k, replace=False)), float(1 + i % 7))
        for i, k in enumerate(sizes)
    ]


def brute(study, sign):
    """The best set of each size by trying all."""
    found = {}
    for k in range(1, 5):
        sets = {names: study.value_of(names) for names in combinations(REGIONS, k)}
        best = min(sets, key=lambda names: sign * sets[names])
        found[k] = BestSet(best, sets[best])
    return found


@pytest.mark.parametrize("objective", [Objective(), Objective(percentile=90.0)])
def test_regrets_of_200_domains_equal_enumeration(objective):
    study, uses = Study(samples(3), objective), domains(4)
    best = {
        k: BestSet(found.regions, found.value)
        for k in range(1, 5)
        if (found := study.recommend(k)).proven
    }
    expected = brute(study, 1)
    assert {k: one.value for k, one in best.items()} == pytest.approx(
        {k: one.value for k, one in expected.items()}
    )
    found = find_regrets(study, uses, best, REGIONS)
    assert {one.domain for one in found} == {use.domain for use in uses}
    assert [one.regret for one in found] == sorted((one.regret for one in found), reverse=True)
    for one in found:
        best_value = expected[len(one.regions)].value
        assert one.regret == pytest.approx(study.value_of(one.regions) - best_value)
        assert one.regret >= 0
    summary = summarise(found)
    weights = {use.domain: use.weight for use in uses}
    total = sum(weights.values())
    assert summary["value"] == pytest.approx(
        sum(weights[one.domain] * one.value for one in found) / total
    )
    assert summary["value"] - summary["best_value"] == pytest.approx(
        sum(one.weight * one.regret for one in found) / total
    )


def test_changes_are_the_best_of_all_replacements_and_additions():
    study = Study(samples(5))
    for regions in (("a",), ("c", "f"), ("b", "d", "g")):
        here = study.value_of(regions)
        others = set(REGIONS) - set(regions)
        moved = {
            (new, lost): study.value_of((*(r for r in regions if r != lost), new))
            for new in others
            for lost in regions
        }
        added = {new: study.value_of((*regions, new)) for new in others}
        move, addition = best_changes(study, regions, REGIONS, 1.0)
        assert addition.value == min(added.values()) == added[addition.region]
        assert addition.gain == pytest.approx(here - addition.value)
        if min(moved.values()) < here:
            assert move.value == min(moved.values()) == moved[move.region, move.instead_of]
        else:
            assert move is None


def test_throughput_gains_upwards_and_candidates_are_kept_to():
    study = Study(samples(6, gaps=0.0), Objective(Measure.THROUGHPUT))
    found = find_regrets(study, [DomainUse("x.example", ("a",))], brute(study, -1), ("b", "c"))[0]
    assert found.best_value > found.value
    assert found.regret == pytest.approx(found.best_value - found.value)
    assert found.addition.region in {"b", "c"}
    assert found.addition.value > found.value
    assert found.move is None or found.move.value > found.value


def test_domains_beyond_the_solved_sizes_are_left_out():
    study = Study(samples(7))
    assert find_regrets(study, [DomainUse("x.example", REGIONS)], {}, REGIONS) == []
    assert summarise([]) == {"value": None, "best_value": None, "losing": 0}


def test_a_table_of_domains_is_read_by_line():
    text = b"domain,region,weight\na.example,x,2\na.example,y,3\nb.example,x,\n"
    assert read_domain_uses(text) == [
        DomainUse("a.example", ("x", "y"), 5.0),
        DomainUse("b.example", ("x",), 1.0),
    ]
    with pytest.raises(BadInput, match=r"line 3: domains: a.example has x twice"):
        read_domain_uses(b"domain,region\na.example,x\na.example,x\n")
    with pytest.raises(BadInput, match="region is empty"):
        read_domain_uses(b"domain,region\na.example,\n")
