"""The model of paths: where it is exact, where it is the curve, and what its errors mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.impact.distances import great_circle_km
from analysis.impact.latency_models.distance_model import ideal_ms
from analysis.impact.latency_models.pair_files import join_pairs, read_latency_pairs, read_places
from analysis.impact.latency_models.path_model import _PRIOR, Pairs, _curve_ms, fit_paths
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
    model, accuracy = fit_paths(world())
    assert accuracy.model.median < 0.03
    assert accuracy.model.p90 < 0.08
    assert accuracy.stated.median > 0.1
    assert accuracy.continents["africa"] == accuracy.model
    # 80 of 100 ratios lie between: noise of 2 %.
    assert 0.95 < accuracy.low < 1 < accuracy.high < 1.05
    new = [Client(at=DIRECT), Client(at=DETOUR)]
    regions = [Region(at=(50.0, 20.0))]
    expected = 4.0 + np.array([[1.5], [3.0]]) * ideal_ms(new, regions)
    assert model.predict(new, regions) == pytest.approx(expected, rel=0.04)


def test_stated_errors_are_those_of_places_that_the_fit_has_not_seen():
    seen, unseen = world(seed=1), world(seed=2)
    model, accuracy = fit_paths(seen)
    found = model.predict(unseen.sources, unseen.targets)
    median = np.median(np.abs(found - unseen.rtt_ms) / unseen.rtt_ms)
    assert median == pytest.approx(accuracy.model.median, rel=0.35)


def test_predictions_are_the_weighted_sum_over_all_pairs():
    pairs = world(seed=3, n=14)
    pairs.rtt_ms[2, 3] = pairs.rtt_ms[5, 1] = np.nan
    model, _ = fit_paths(pairs)
    client, region = Client(at=(3.0, 20.0)), Region(at=(51.0, 19.0))
    to_sources = great_circle_km(np.array([client.at]), model.sources)[0]
    to_targets = great_circle_km(model.targets, np.array([region.at]))[:, 0]
    above = below = _PRIOR
    for i, row in enumerate(pairs.rtt_ms):
        for j, rtt in enumerate(row):
            if np.isfinite(rtt):
                km = to_sources[i] / model.source_km + to_targets[j] / model.target_km
                pair = ideal_ms([pairs.sources[i]], [pairs.targets[j]])
                above += np.exp(-km)
                below += np.exp(-km) * _curve_ms(model.curve, pair)[0, 0] / rtt
    expected = _curve_ms(model.curve, ideal_ms([client], [region]))[0, 0] * above / below
    assert model.predict([client], [region])[0, 0] == pytest.approx(expected, rel=1e-9)


def test_far_from_everything_measured_the_curve_is_left():
    model, _ = fit_paths(world())
    client, region = [Client(at=(-60.0, -150.0))], [Region(at=(-50.0, -120.0))]
    curve = _curve_ms(model.curve, ideal_ms(client, region))
    assert model.predict(client, region) == pytest.approx(curve, rel=1e-3)


@given(
    st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=5),
    st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=5),
)
def test_no_round_trip_is_faster_than_light(clients, regions):
    model, _ = MODEL
    people, homes = [Client(at=at) for at in clients], [Region(at=at) for at in regions]
    found = model.predict(people, homes)
    assert found.shape == (len(people), len(homes))
    assert np.isfinite(found).all()
    assert (found >= ideal_ms(people, homes)).all()


MODEL = fit_paths(world(n=15))


def test_too_few_pairs_are_refused():
    pairs = world(n=4)
    with pytest.raises(MissingData, match="10 sources and 200 pairs"):
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
    assert both.pairs.rtt_ms[0, 1] == both.pairs.rtt_ms[1, 0] == 240.5
    joined = join_pairs([found.pairs, both.pairs])
    assert joined.rtt_ms.shape == (3, 3)
    assert np.isfinite(joined.rtt_ms).sum() == 3


def test_listed_regions_need_no_file_of_places():
    found = read_latency_pairs(["client,region,value\n", "DE,aws/eu-west-1,25\n"], {})
    assert found.unknown == ()
    assert found.pairs.targets[0].at is not None


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["source,destination\n"], "line 1: .*'rtt_ms'"),
        (["source,destination,rtt_ms\n", "DE,JP,fast\n"], "line 2: .*'fast' is no number"),
        (["source,destination,rtt_ms\n", "DE,JP,-1\n"], "line 2: .*not between"),
        (["source,destination,rtt_ms\n", "DE,JP\n"], "line 2: .*2 cells"),
        (["source,destination,rtt_ms\n", ",JP,3\n"], "line 2: .*source is empty"),
        (["source,destination,rtt_ms\n", "Atlantis,Mu,3\n"], "no place is known"),
    ],
)
def test_wrong_files_name_the_line_or_column(lines, reason):
    with pytest.raises(BadInput, match=reason):
        read_latency_pairs(lines, {})


def test_real_cities_are_a_third_better_than_distance_alone():
    pings = shared_file("latency/wondernetwork/pings-2018-11-sources-odd.csv.xz")
    with open_text(shared_file("latency/wondernetwork/cities.csv")) as stream:
        places = read_places(stream)
    with open_text(pings) as stream:
        pairs = read_latency_pairs(stream, places).pairs
    odd, even = slice(0, None, 2), slice(1, None, 2)
    model, _ = fit_paths(Pairs(pairs.sources[odd], pairs.targets, pairs.rtt_ms[odd]))
    known = pairs.rtt_ms[even]

    def errors(found):
        relative = np.abs(found - known) / known
        return np.percentile(relative[np.isfinite(relative)], (50, 90))

    ours = errors(model.predict(pairs.sources[even], pairs.targets))
    stated = errors(STATED.predict(pairs.sources[even], pairs.targets))
    assert (ours < 2 / 3 * stated).all()
