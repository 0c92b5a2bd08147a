"""What sets survive, cost and give, counted by hand and again one client-round at a time."""

import json

import numpy as np
import pytest

from analysis.impact import availability, failures, latency_statistics, prices
from analysis.impact.assignment import serve
from analysis.impact.distances import distance, great_circle_km
from analysis.impact.latency_models.distance_model import FIBRE_KM_PER_MS, cover, fit
from analysis.impact.places import (
    Client,
    Region,
    describe_regions,
    read_clients,
    read_populations,
    read_regions,
)
from analysis.impact.routes import read_routes
from analysis.optimization import Measure, Objective, Samples, Study
from core.errors import BadInput, MissingData

NAN = float("nan")
# Region a: good for p; b: good for q; c: far from all, and silent for q. One round.
VALUES = np.array([[[10.0], [90.0]], [[80.0], [20.0]], [[200.0], [NAN]]])
FACTS = {
    "a": Region("aws", "US", zones=3, price=10),
    "b": Region("aws", "DE", zones=1, price=12),
    "c": Region("azure", "JP"),
}


def study(values=VALUES, weights=(3.0, 1.0), objective=None):
    shape = values.shape
    samples = Samples(
        tuple("abcdefgh"[: shape[0]]),
        tuple(f"c{i}" for i in range(shape[1])),
        tuple(map(str, range(shape[2]))),
        values,
        np.array(weights),
    )
    return Study(samples, objective or Objective())


def by_name(found, kind):
    return {loss.name: loss for loss in found if loss.kind == kind}


def test_who_serves_whom():
    serving = serve(study(), ("a", "b"))
    assert serving.by[:, 0].tolist() == serving.homes.tolist() == [0, 1]
    assert serving.best[:, 0].tolist() == [10, 20]
    assert serving.home_shares().tolist() == [0.75, 0.25]
    assert serve(study(), ("c",)).homes.tolist() == [0, -1]


def test_a_lost_region_moves_its_clients():
    found = failures.losses(serve(study(), ("a", "b")), FACTS, {})

    lost = by_name(found, "region")["a"]
    assert (lost.clients_moved, lost.moved, lost.clients_lost, lost.lost) == (1, 0.75, 0, 0)
    assert lost.added == 70
    assert lost.value == (3 * 80 + 20) / 4
    everything = by_name(found, "provider")["aws"]
    assert (everything.clients_moved, everything.clients_lost, everything.lost) == (0, 2, 1)
    assert (everything.added, everything.value) == (None, None)


def test_who_has_no_other_region_is_lost():
    lost = by_name(failures.losses(serve(study(), ("b", "c")), FACTS, {}), "region")["b"]
    assert (lost.clients_moved, lost.moved) == (1, 0.75)
    assert (lost.clients_lost, lost.lost) == (1, 0.25)
    assert lost.added == 120


def test_a_zone_fails_alone_only_where_others_stand_beside_it():
    zones = by_name(failures.losses(serve(study(), ("a", "b", "c")), FACTS, {}), "zone")
    assert set(zones) == {"a", "b"}
    assert (zones["a"].moved, zones["a"].added) == (0.25, 0)
    assert zones["b"].added == 70
    assert "only zone" in zones["b"].note


def test_an_isp_cuts_off_its_share_of_routes():
    routes = {"AS1": {"a": 0.5, "b": 0.2}}
    lost = by_name(failures.losses(serve(study(), ("a", "b")), FACTS, routes), "isp")["AS1"]
    # Client c0, weight 3: half lose a; of those, a fifth lose b too.
    assert lost.moved == pytest.approx((3 * 0.5 * 0.8 + 1 * 0.2 * 0.5) / 4)
    assert lost.lost == pytest.approx(0.5 * 0.2)
    worse = 3 * 0.5 * 0.8 * 70 + 0.2 * 0.5 * 70
    assert lost.added == pytest.approx(worse / (3 * 0.4 + 0.1))


@pytest.mark.parametrize("measure", list(Measure))
def test_losses_equal_a_simulation_by_hand(measure):
    g = np.random.default_rng(2)
    values = g.integers(1, 100, (4, 9, 3)).astype(float)
    values[g.random(values.shape) < 0.3] = NAN
    weights = g.integers(1, 9, 9).astype(float)
    serving = serve(study(values, weights, Objective(measure)), ("a", "b", "c", "d"))
    shares = dict(zip("abcd", (0.3, 0.0, 1.0, 0.6), strict=True))
    got = by_name(failures.losses(serving, dict.fromkeys("abcd", Region()), {"x": shares}), "isp")[
        "x"
    ]

    sign = 1 if measure is Measure.LATENCY else -1
    heard = lost = moved = worse = value = 0.0
    penalty = sign * (np.nanmax(values) if sign > 0 else 0)
    weights = weights / np.isfinite(values).any(axis=0).sum(axis=1)
    for i in range(9):
        for t in range(3):
            order = sorted(
                (sign * values[j, i, t], name)
                for j, name in enumerate("abcd")
                if not np.isnan(values[j, i, t])
            )
            if not order:
                continue
            heard, left = heard + weights[i], 1.0
            for place, (cost, name) in enumerate(order):
                part = left * (1 - shares[name])
                left *= shares[name]
                value += weights[i] * part * cost
                if place:
                    moved += weights[i] * part
                    worse += weights[i] * part * (cost - order[0][0])
            lost += weights[i] * left
            value += weights[i] * left * penalty
    assert got.lost == pytest.approx(lost / heard)
    assert got.moved == pytest.approx(moved / heard)
    assert got.added == pytest.approx(worse / moved)
    assert got.value == pytest.approx(sign * value / heard)


def test_percentiles_count_silence_as_worst():
    found = latency_statistics.spread(serve(study(), ("c",)))
    assert (found.mean, found.unanswered) == (200, 0.25)
    assert found.percentiles == {50: 200, 95: None, 99: None}
    faster = serve(study(objective=Objective(Measure.THROUGHPUT)), ("a", "b"))
    assert latency_statistics.spread(faster).percentiles == {50: 80, 95: 80, 99: 80}
    groups = latency_statistics.by_group(serve(study(), ("a", "b")), ("DE", "US"))
    assert list(groups) == ["DE", "US"]
    assert (groups["US"].mean, groups["US"].share) == (20, 0.25)


def test_availability_is_that_of_all_orders_of_failure():
    assumed = availability.Assumed(region=0.9, zone=0.8, provider=0.95)
    found = availability.estimate(serve(study(), ("a", "b", "c")), FACTS, assumed)
    assert found.inputs["b"] == (0.8, "assumed for one zone")
    aws = 0.05 + 0.95 * 0.1 * 0.2
    azure = 0.05 + 0.95 * 0.1
    assert found.served == pytest.approx(1 - (3 * aws * azure + aws) / 4)


def test_a_bill_names_the_prices_that_it_lacks():
    table = prices.read_prices(
        b"region,to,price\na,,10\nb,,12\na,internet,0.1\nb,internet,0.2\na,b,0.02\n"
    )
    serving = serve(study(), ("a", "b"))
    cost = prices.bill(table, serving, prices.Traffic(100, 0))
    assert (cost.running, cost.to_clients, cost.between) == (22, pytest.approx(12.5), 0)
    assert cost.total == pytest.approx(34.5)
    cost = prices.bill(table, serving, prices.Traffic(100, 5))
    assert (cost.between, cost.total, cost.unknown) == (None, None, ("b to a",))


def test_distances():
    quarter = great_circle_km(np.array([[0.0, 0.0]]), np.array([[0.0, 90.0], [90.0, 0.0]]))
    assert quarter[0] == pytest.approx([10007.5, 10007.5], abs=0.1)
    facts = FACTS | {"a": Region("aws", "US", "north-america", (0.0, 0.0))}
    clients = [Client("US", "north-america", (0.0, 90.0)), Client("FR", "europe")]
    found = distance(serve(study(), ("a", "b")), clients, facts)
    assert (found.known_share, found.in_country) == (0.75, 0.75)
    assert found.mean_km == pytest.approx(10007.5, abs=0.1)


def made_by_distance(noise, n=60):
    g = np.random.default_rng(3)
    clients = [Client("", "", (g.uniform(-60, 70), g.uniform(-180, 180))) for _ in range(n)]
    facts = {name: Region(at=(g.uniform(-40, 60), g.uniform(-180, 180))) for name in "abcdefgh"}
    km = great_circle_km(
        np.array([c.at for c in clients]), np.array([r.at for r in facts.values()])
    )
    rtts = (8 + 1.7 * 2 * km / FIBRE_KM_PER_MS) * g.lognormal(0, noise, km.shape)
    values = np.ascontiguousarray(rtts.T[:, :, None])
    return study(values, np.ones(n)), clients, facts


def test_the_model_finds_the_stretch_that_was_put_in():
    s, clients, facts = made_by_distance(0.1)
    model = fit(s.samples, clients, facts)
    assert model.stretch == pytest.approx(1.7, rel=0.03)
    assert model.access_ms == pytest.approx(8, rel=0.35)
    assert model.error == pytest.approx(0.0675, abs=0.015)
    here = [Client(at=facts["a"].at, weight=2.0)]
    found = cover(model, here, facts, ("a", "b"))
    assert found.mean_ms == pytest.approx(model.access_ms)
    assert cover(model, here, facts | {"b": Region()}, ("a", "b")) is None


def test_too_few_places_make_no_model():
    s, clients, facts = made_by_distance(0.1, 4)
    with pytest.raises(MissingData, match="32 of 4"):
        fit(s.samples, clients, facts)


def test_regions_are_known_by_code_where_only_one_provider_has_it():
    found = describe_regions(
        ["eu-central-1", "azure/westeurope", "mars-1"], {"mars-1": Region("acme", price=2.0)}
    )
    assert (found["eu-central-1"].provider, found["eu-central-1"].country) == ("aws", "DE")
    assert found["azure/westeurope"].continent == "europe"
    assert (found["mars-1"].provider, found["mars-1"].country) == ("acme", "")


def test_isps_come_as_csv_or_as_a_document():
    table = read_routes(b"region,zone,isp,share\na,1,AS1,0.5\na,2,AS1,0.1\na,2,AS2,0.9\n")
    assert table["AS1"]["a"] == pytest.approx(0.3)
    assert table["AS2"]["a"] == pytest.approx(0.45)
    region = {"region": "a", "zone": None, "isps": [{"asn": 7, "name": "N", "share": 0.4}]}
    document = {"regions": [region]}
    assert read_routes(json.dumps(document).encode()) == {"AS7 N": {"a": 0.4}}


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_regions, b"region,zones\na,0\n", "line 2: regions: zones '0' is not between"),
        (read_regions, b"region,zones\na,1.5\n", "not a whole number"),
        (read_regions, b"region,size\na,1\n", "unknown column 'size'"),
        (read_regions, b"region,price\na,1\na,2\n", "line 3: regions: 'a' is listed twice"),
        (read_regions, b"region,price\na\n", "line 2"),
        (read_regions, b"region,price\na,nan\n", "not from 0 up"),
        (read_clients, b"name,country\n", "the column 'client' is missing"),
        (read_clients, b"client,country\nx,Germany\n", "country code"),
        (read_clients, b"client,latitude,longitude\nx,91,0\n", "latitude"),
        (read_clients, b"client,latitude,longitude\nx,1,\n", "go together"),
        (read_clients, b"client\n\xff\n", "UTF-8"),
        (read_populations, b"population,latitude,longitude\np,,\n", "latitude is empty"),
        (prices.read_prices, b"region,to,price\na,,\n", "price is empty"),
        (prices.read_prices, b"region,to,price\na,,-1\n", "from 0 up"),
        (read_routes, b"region,isp,share\na,x,0.7\na,y,0.7\n", "over 1"),
        (read_routes, b'{"regions": 5}', "not a document"),
    ],
)
def test_bad_tables_are_refused_with_their_place(reader, text, message):
    with pytest.raises(BadInput) as refused:
        reader(text)
    assert message in str(refused.value)
