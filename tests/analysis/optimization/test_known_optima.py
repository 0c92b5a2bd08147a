"""Instances whose answers are known: published matrices, OR-Library, and small ones of our own."""

import gzip
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from analysis.optimization import (
    Constraints,
    Effort,
    Facts,
    Measure,
    Missing,
    Objective,
    Samples,
    Study,
    check,
    recommend,
    samples_of,
)
from analysis.optimization.files.matrices import read_city_pairs, read_square
from core.errors import BadInput
from core.files import open_text

DATA = Path(os.environ.get("NEPHOSCOPE_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
CLOUD_CITIES = (
    "Dallas",
    "Dublin",
    "Frankfurt",
    "Sao Paulo",
    "Singapore",
    "Sydney",
    "Tokyo",
    "San Francisco",
)


def published(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not on this machine")
    return path


def test_it_works():
    rows = [
        ("1", "paris", "eu-west-1", 20),
        ("1", "paris", "us-east-1", 90),
        ("1", "boston", "eu-west-1", 85),
        ("1", "boston", "us-east-1", 10),
        ("1", "tokyo", "eu-west-1", 240),
        ("1", "tokyo", "us-east-1", 160),
    ]
    one = recommend(samples_of(rows), 1)
    assert (one.regions, one.value, one.proven) == (("us-east-1",), pytest.approx(260 / 3), True)
    assert one.runner_up.regions == ("eu-west-1",)
    both = recommend(samples_of(rows), 2)
    assert both.value == pytest.approx((20 + 10 + 160) / 3)


def test_planetlab_best_one_and_two():
    # The published figures take every cell as it stands, zeros too.
    samples = read_square(
        published("latency", "planetlab", "PlanetLabData_1.gz"), zero_is_missing=False
    )
    study = Study(samples)
    one, two = study.recommend(1), study.recommend(2)
    assert (one.regions, round(one.value, 3), one.proven) == (("398",), 99.756, True)
    assert (set(two.regions), round(two.value, 3), two.proven) == ({"147", "194"}, 58.863, True)
    assert check(samples, one) == []
    assert check(samples, two) == []


@pytest.mark.parametrize("missing", list(Missing))
def test_wondernetwork_equals_plain_enumeration(missing):
    path = published("latency", "wondernetwork", "pings-2018-11-sources-odd.csv.xz")
    samples = read_city_pairs(path, CLOUD_CITIES)
    values = samples.values[:, :, 0]
    gap = np.nanmax(values)
    study = Study(samples, Objective(missing=missing))
    for k in range(1, 9):
        least = np.inf
        for chosen in combinations(range(8), k):
            best = np.fmin.reduce(values[list(chosen)])
            answered = best[~np.isnan(best)]
            lost = len(best) - len(answered)
            if missing is Missing.PENALTY:
                least = min(least, (answered.sum() + lost * gap) / len(best))
            elif len(answered):
                least = min(least, answered.mean())
        answer = study.recommend(k)
        assert answer.proven
        assert answer.value == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("number", [1, 5, 9, 11, 15])
def test_p_median_of_or_library(number):
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    folder = published("pmedian")
    plain = folder / f"pmed{number}.txt"
    path = plain if plain.exists() else folder / f"pmed{number}.txt.gz"
    with open_text(path) as stream:
        numbers = [int(word) for word in stream.read().split()]
    nodes, p = numbers[0], numbers[2]
    weights = np.zeros((nodes, nodes))
    for a, b, cost in zip(numbers[3::3], numbers[4::3], numbers[5::3], strict=True):
        weights[a - 1, b - 1] = weights[b - 1, a - 1] = cost
    values = shortest_path(csr_matrix(weights), directed=False)
    names = tuple(map(str, range(nodes)))
    samples = Samples(names, names, ("all",), values[:, :, None])
    answer = recommend(samples, p, effort=Effort(runners_up=0))
    known = dict(
        line.split()
        for line in (folder / "pmedopt-odd.txt").read_text().splitlines()
        if line.strip()
    )
    assert answer.proven
    assert round(answer.value * nodes) == int(known[f"pmed{number}"])
    assert check(samples, answer) == []


def test_throughput_takes_the_fastest():
    values = np.array([[[5.0], [1.0]], [[4.0], [4.0]], [[1.0], [9.0]]])
    samples = Samples(("a", "b", "c"), ("x", "y"), ("1",), values)
    answer = recommend(samples, 1, Objective(Measure.THROUGHPUT))
    assert (answer.regions, answer.value) == (("c",), 5.0)
    assert answer.runner_up.regions == ("b",)


def test_missing_answers_are_counted_and_cost_what_was_asked():
    nan = np.nan
    values = np.array([[[10.0, nan], [nan, nan]], [[50.0, 50.0], [50.0, 50.0]]])
    samples = Samples(("flaky", "steady"), ("x", "y"), ("1", "2"), values)
    dropped = recommend(samples, 1, Objective(missing=Missing.EXCLUDE))
    assert (dropped.regions, dropped.value, dropped.unanswered) == (("flaky",), 10.0, 3)
    assert dropped.missing == 3
    priced = recommend(samples, 1, Objective(penalty=100))
    assert (priced.regions, priced.value, priced.unanswered) == (("steady",), 50.0, 0)
    with pytest.raises(BadInput, match="no better than 50"):
        recommend(samples, 1, Objective(penalty=20))


def test_constraints_that_nothing_meets_say_so():
    samples = Samples(("a", "b"), ("x",), ("1",), np.array([[[1.0]], [[2.0]]]))
    facts = {"a": Facts("aws"), "b": Facts("aws")}
    answer = recommend(samples, 2, constraints=Constraints(per_provider=1, facts=facts))
    assert answer.regions == ()
    assert "constraints" in answer.reason


def test_unknown_names_and_facts_are_refused():
    samples = Samples(("a", "b"), ("x",), ("1",), np.array([[[1.0]], [[2.0]]]))
    with pytest.raises(BadInput, match="'z'"):
        recommend(samples, 1, constraints=Constraints(include=frozenset("z")))
    with pytest.raises(BadInput, match="provider"):
        recommend(samples, 1, constraints=Constraints(per_provider=1))
    with pytest.raises(BadInput, match="price"):
        recommend(samples, 1, constraints=Constraints(price_ceiling=3))
    for k in (0, 3):
        with pytest.raises(BadInput, match="between 1 and 2"):
            recommend(samples, k)


def test_all_sets_within_a_share_of_the_best():
    g = np.random.default_rng(4)
    values = g.integers(10, 100, (9, 30, 1)).astype(float)
    samples = Samples(tuple("abcdefghi"), tuple(map(str, range(30))), ("1",), values)
    answer = recommend(samples, 3, effort=Effort(within=0.05))
    every = sorted(
        values[list(chosen), :, 0].min(axis=0).mean() for chosen in combinations(range(9), 3)
    )
    near = [value for value in every if value <= every[0] * 1.05]
    found = [answer.value, *(s.value for s in answer.runners_up)]
    assert found == pytest.approx(near)
    assert answer.runners_up_proven >= len(near) - 1


def test_time_is_kept_and_the_gap_is_honest():
    g = np.random.default_rng(3)
    values = g.uniform(10, 200, (60, 400, 1)).round(1)
    samples = Samples(tuple(map(str, range(60))), tuple(map(str, range(400))), ("1",), values)
    hurried = recommend(samples, 7, effort=Effort(time_limit_s=0.3))
    assert hurried.seconds < 10
    assert not hurried.proven
    assert 0 < hurried.gap < 0.5
    assert hurried.bound < hurried.value
    assert check(samples, hurried) == []


def test_weights_in_fractions_are_exact():
    values = np.array([[[1.0], [3.0]], [[2.0], [2.0]]])
    samples = Samples(("a", "b"), ("x", "y"), ("1",), values, np.array([0.5, 0.500001]))
    answer = recommend(samples, 1)
    assert answer.regions == ("b",)
    assert answer.rounding == 0.0


def test_gzip_is_read_like_plain_text(tmp_path):
    with gzip.open(tmp_path / "m.gz", "wt") as stream:
        stream.write("0 5 2\n5 0 0\n2 0 0\n")
    samples = read_square(tmp_path / "m.gz")
    assert samples.missing == 2
    assert recommend(samples, 2).regions == ("0", "1")


@pytest.mark.parametrize("plain_cells", [0, 10**9])
@pytest.mark.parametrize("objective", [Objective(), Objective(percentile=90)])
def test_more_regions_required_than_a_set_holds_leaves_no_set(objective, plain_cells):
    values = np.random.default_rng(1).integers(5, 100, (6, 9, 2)).astype(float)
    samples = Samples(tuple("abcdef"), tuple("123456789"), ("1", "2"), values)
    limits = Constraints(include=frozenset("abc"))
    answer = Study(samples, objective).recommend(2, limits, Effort(plain_cells=plain_cells))
    assert answer.regions == ()
    assert answer.proven
    assert "no set of this size" in answer.reason
