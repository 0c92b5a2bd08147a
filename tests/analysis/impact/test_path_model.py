"""The model of paths: where it is exact, where it is the curve, and what its errors mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.impact.latency_models.distance_model import ideal_ms
from analysis.impact.latency_models.hold_out import (
    FOLDS,
    predict_unseen_pairs,
    predict_unseen_places,
)
from analysis.impact.latency_models.kriging import NOISE, covariance, solve
from analysis.impact.latency_models.pair_files import read_latency_pairs, read_places
from analysis.impact.latency_models.pair_matrices import (
    Pairs,
    join_pairs,
    merge_near,
    mirror_mesh,
    select_possible,
)
from analysis.impact.latency_models.path_model import _curve_ms, cross_validate, fit_paths
from analysis.impact.latency_models.stated_model import STATED
from analysis.impact.places import Client, Region
from core.errors import BadInput, MissingData
from core.files import open_text
from tests.shared import shared_file

# Degrees of two circles of places; paths from the second take twice the time.
DIRECT, DETOUR = (10.0, 0.0), (-20.0, 60.0)


def places_around(centre, n, rng):
    return [(centre[0] + a, centre[1] + b) for a, b in rng.uniform(-4, 4, (n, 2))]


def world(seed=1, n=30, noise=0.02):
    """Pairs of which half have twice the inflation, by where their sources are."""
    rng = np.random.default_rng(seed)
    at = places_around(DIRECT, n, rng) + places_around(DETOUR, n, rng)
    inflation = np.repeat([1.5, 3.0], n)
    order = rng.permutation(2 * n)
    sources = tuple(Client(continent="africa", at=at[i]) for i in order)
    targets = tuple(Region(at=(50.0 + 3 * j, 20.0 + 5 * j)) for j in range(8))
    rtt = 4.0 + inflation[order][:, None] * ideal_ms(sources, targets)
    return Pairs(sources, targets, rtt * rng.lognormal(0, noise, rtt.shape))


def test_detours_of_a_part_of_the_world_are_learnt_where_distance_alone_cannot():
    pairs = world()
    model, accuracy = fit_paths(pairs), cross_validate(pairs)
    assert accuracy.model.median < 0.04
    assert accuracy.model.p90 < 0.1
    assert accuracy.seen.median < 0.03
    assert accuracy.stated.median > 0.1
    assert accuracy.impossible == 0
    assert accuracy.continents["africa"] == accuracy.model
    # 80 of 100 ratios are between, with noise of 2 %.
    assert 0.9 < accuracy.low < 1 < accuracy.high < 1.1
    new = [Client(at=DIRECT), Client(at=DETOUR)]
    regions = [Region(at=(50.0, 20.0))]
    expected = 4.0 + np.array([[1.5], [3.0]]) * ideal_ms(new, regions)
    assert model.predict(new, regions) == pytest.approx(expected, rel=0.04)


def test_stated_errors_are_those_of_places_that_the_fit_has_not_seen():
    seen, unseen = world(seed=1), world(seed=2)
    found = fit_paths(seen).predict(unseen.sources, unseen.targets)
    median = np.median(np.abs(found - unseen.rtt_ms) / unseen.rtt_ms)
    assert median == pytest.approx(cross_validate(seen).model.median, rel=0.35)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6))
def test_coefficients_solve_the_kriging_equations_of_all_known_pairs(seed, n, m):
    rng = np.random.default_rng(seed)
    sources, targets = (
        covariance(np.abs(p[:, None] - p))
        for p in (rng.uniform(0, 9000, n), rng.uniform(0, 9000, m))
    )
    values, is_known = rng.normal(size=(n, m)), rng.random((n, m)) < 0.7
    noise = NOISE * rng.uniform(1, 9, (n, m))
    found = solve(values, is_known, noise, (sources, targets), np.zeros((n, m)))
    cells = np.flatnonzero(is_known)
    system = np.kron(sources, targets)[np.ix_(cells, cells)] + np.diag(noise.ravel()[cells])
    expected = np.zeros(n * m)
    expected[cells] = np.linalg.solve(system, values.ravel()[cells])
    given = sources @ found @ targets
    assert given == pytest.approx(sources @ expected.reshape(n, m) @ targets, abs=0.01)
    assert (found[~is_known] == 0).all()


def test_one_wrong_pair_hardly_changes_the_others():
    pairs = world(n=12)
    spoiled = Pairs(pairs.sources, pairs.targets, pairs.rtt_ms.copy())
    spoiled.rtt_ms[3, 4] *= 20
    before, after = (
        fit_paths(one).predict(pairs.sources, pairs.targets) for one in (pairs, spoiled)
    )
    others = np.ones(before.shape, bool)
    others[3, 4] = False
    assert np.abs(after / before - 1)[others].max() < 0.05
    assert after[3, 4] < 1.2 * pairs.rtt_ms[3, 4]


def test_far_from_everything_measured_the_curve_is_nearly_left():
    model = fit_paths(world())
    near = [Client(at=DIRECT)], [Region(at=(50.0, 20.0))]
    far = [Client(at=(-60.0, -150.0))], [Region(at=(-50.0, -120.0))]
    inflation = [
        abs(np.log(model.predict(*ends) / _curve_ms(model.curve, ideal_ms(*ends))).item())
        for ends in (near, far)
    ]
    assert inflation[1] < inflation[0] / 5


def mesh(seed=0, n=14):
    """Round trips between places of one kind, every second one a source."""
    rng = np.random.default_rng(seed)
    at = [tuple(p) for p in rng.uniform((-50, -170), (60, 170), (n, 2))]
    sources = tuple(Client(at=p) for p in at[::2])
    targets = tuple(Region(at=p) for p in at)
    factor = rng.uniform(1.3, 2.5, n)
    rtt = 3 + ideal_ms(sources, targets) * np.sqrt(factor[::2, None] * factor)
    same = np.array([[c.at == r.at for r in targets] for c in sources])
    return Pairs(sources, targets, np.where(same, np.nan, rtt))


@given(st.integers(0, 1000))
def test_a_mesh_has_both_directions_of_each_pair_and_no_other(seed):
    pairs = mesh(seed)
    both = mirror_mesh(pairs)
    row = {client.at: both.rtt_ms[i] for i, client in enumerate(both.sources)}
    column = {region.at: j for j, region in enumerate(both.targets)}
    for i, source in enumerate(pairs.sources):
        for j, target in enumerate(pairs.targets):
            if np.isfinite(pairs.rtt_ms[i, j]):
                assert row[target.at][column[source.at]] == row[source.at][j] == pairs.rtt_ms[i, j]
    # Pairs of two places that are no sources were not measured.
    assert both.n_pairs == pairs.n_pairs + len(pairs.sources) * (len(pairs.targets) // 2)


def test_vantage_points_that_are_no_targets_stay_sources():
    pairs = world(n=6)
    same = mirror_mesh(pairs)
    assert (same.sources, same.targets) == (pairs.sources, pairs.targets)
    assert (same.rtt_ms == pairs.rtt_ms).all()


@pytest.mark.parametrize("hold", [predict_unseen_places, predict_unseen_pairs])
def test_no_held_out_pair_is_in_its_own_fit(hold):
    """A fit that returns what it has seen gives nothing for a pair that is held out."""
    both = mirror_mesh(mesh(n=20))
    sources, targets = both.ends()

    def recall(rtt_ms):
        seen = {
            frozenset((tuple(sources[i]), tuple(targets[j])))
            for i, j in np.argwhere(np.isfinite(rtt_ms)).tolist()
        }
        places = {place for pair in seen for place in pair}
        leaks = [
            [
                frozenset((tuple(s), tuple(t))) in seen
                or (hold is predict_unseen_places and tuple(s) in places)
                for t in targets
            ]
            for s in sources
        ]
        return np.where(leaks, 2.0, 1.0)

    found = hold(recall, both.rtt_ms, both.ends())
    tested = found[np.isfinite(found) & np.isfinite(both.rtt_ms)]
    assert (tested == 1.0).all()
    n_pairs = both.n_pairs if hold is predict_unseen_places else mesh(n=20).n_pairs - 45
    assert len(tested) >= n_pairs * (FOLDS - 2) / FOLDS


def test_pairs_faster_than_light_are_left_out_and_counted():
    pairs = world(n=12)
    pairs.rtt_ms[2, 3] = 1.0
    found, impossible = select_possible(pairs)
    assert impossible == 1
    assert np.isnan(found.rtt_ms[2, 3])
    assert cross_validate(pairs).impossible == 1


def test_of_too_many_places_near_ones_are_merged():
    pairs = world(n=30)
    assert merge_near(pairs) is pairs
    merged = merge_near(pairs, limit=20)
    assert len(merged.sources) <= 20
    assert {client.at for client in merged.sources} <= {client.at for client in pairs.sources}
    assert np.nanmin(merged.rtt_ms) >= pairs.rtt_ms.min()
    assert np.nanmax(merged.rtt_ms) <= pairs.rtt_ms.max()


@given(
    st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=5),
    st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=5),
)
def test_no_round_trip_is_faster_than_light(clients, regions):
    people, homes = [Client(at=at) for at in clients], [Region(at=at) for at in regions]
    found = MODEL.predict(people, homes)
    assert found.shape == (len(people), len(homes))
    assert np.isfinite(found).all()
    assert (found >= ideal_ms(people, homes)).all()


MODEL = fit_paths(world(n=15))


def test_too_few_pairs_are_refused():
    pairs = world(n=4)
    with pytest.raises(MissingData, match="10 places and 100 pairs"):
        fit_paths(pairs)
    lost = Pairs(tuple(Client() for _ in pairs.sources), pairs.targets, pairs.rtt_ms)
    with pytest.raises(MissingData, match="there are 0 and 0"):
        fit_paths(lost)


def test_files_of_cities_and_of_countries_are_read():
    places = read_places(["City,Lat,Long,Population\n", "Here,1.5,2.5,9\n", "There,-3,4,\n"])
    assert places == {"Here": (1.5, 2.5), "There": (-3.0, 4.0)}
    lines = ["source,destination,distance_km,rtt_avg_ms\n"]
    lines += ["Here,There,9,20\n", "Here,There,9,30\n", "Here,Here,0,1\n", "There,Lost,9,5\n"]
    found = read_latency_pairs(lines, places)
    assert found.unknown == ("Lost",)
    assert found.pairs.rtt_ms.tolist() == [[25.0]]
    assert found.pairs.sources[0].at == (1.5, 2.5)
    assert found.pairs.sources[0].continent == "africa"
    both = read_latency_pairs(["cty1,cty2,rtt_cnt,rtt_avg\n", "DE,JP,3,240.5\n"], {})
    assert both.pairs.rtt_ms.tolist() == [[240.5]]
    joined = join_pairs([found.pairs, both.pairs])
    assert joined.rtt_ms.shape == (2, 2)
    assert joined.n_pairs == 2


def test_listed_regions_need_no_file_of_places():
    found = read_latency_pairs(["client,region,value\n", "DE,aws/eu-west-1,25\n"], {})
    assert found.unknown == ()
    assert found.pairs.targets[0].at is not None


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["source,destination\n"], "line 1: .*'rtt_ms'"),
        (["source,destination,rtt_ms\n", "DE,JP,fast\n"], "line 2: .*'fast' is not a number"),
        (["source,destination,rtt_ms\n", "DE,JP,-1\n"], "line 2: .*not between"),
        (["source,destination,rtt_ms\n", "DE,JP\n"], "line 2: .*2 cells"),
        (["source,destination,rtt_ms\n", ",JP,3\n"], "line 2: .*source is empty"),
        (["source,destination,rtt_ms\n", "Atlantis,Mu,3\n"], "no place is known"),
    ],
)
def test_wrong_files_name_the_line_or_column(lines, reason):
    with pytest.raises(BadInput, match=reason):
        read_latency_pairs(lines, {})


def errors(found, known):
    relative = np.abs(found - known) / known
    return np.percentile(relative[np.isfinite(relative)], (50, 90))


def test_real_cities_are_a_third_better_than_distance_alone():
    pings = shared_file("latency/wondernetwork/pings-2018-11-sources-odd.csv.xz")
    with open_text(shared_file("latency/wondernetwork/cities.csv")) as stream:
        places = read_places(stream)
    with open_text(pings) as stream:
        pairs = read_latency_pairs(stream, places).pairs
    # Half of the targets: the test is to be quick; the benchmark has all.
    targets = pairs.targets[::2]
    odd, even = (pairs.sources[half::2] for half in (0, 1))
    seen, unseen = (pairs.rtt_ms[half::2, ::2] for half in (0, 1))
    ours = errors(fit_paths(Pairs(odd, targets, seen)).predict(even, targets), unseen)
    stated = errors(STATED.predict(even, targets), unseen)
    assert (ours < 0.5 * stated).all()


def test_real_countries_are_a_third_better_than_distance_alone():
    with open_text(shared_file("latency/ripe-atlas-country-rtt-2025-04.csv.gz")) as stream:
        pairs, _ = select_possible(read_latency_pairs(stream, {}).pairs)
    odd = np.add.outer(np.arange(len(pairs.sources)), np.arange(len(pairs.targets))) % 2 == 1
    seen, unseen = (np.where(is_out, np.nan, pairs.rtt_ms) for is_out in (odd, ~odd))
    model = fit_paths(Pairs(pairs.sources, pairs.targets, seen))
    ours = errors(model.predict(pairs.sources, pairs.targets), unseen)
    stated = errors(STATED.predict(pairs.sources, pairs.targets), unseen)
    assert (ours < 2 / 3 * stated).all()
