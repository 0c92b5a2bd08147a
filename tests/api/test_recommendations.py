"""The best regions over HTTP: answered at once or by a worker, varied, and refused with reasons."""

import json
from itertools import combinations

import numpy as np
import pytest
from django.test import Client

from tasks.recommendations import celery_tasks
from webapp.store.models import Recommendation
from webapp.store.ranges import asn, geolocation
from webapp.store.recommendations import services

pytestmark = pytest.mark.django_db
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1")
URL = "/api/v1/recommendations"
PLACES = "/api/v1/client-places"


@pytest.fixture
def client(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return Client(raise_request_exception=False)


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(4).integers(20, 200, (len(REGIONS), 12, 5))


@pytest.fixture(scope="module")
def samples(values):
    rows = [
        f"{t},c{i},{name},{values[j, i, t]}"
        for j, name in enumerate(REGIONS)
        for i in range(12)
        for t in range(5)
    ]
    return "round,client,region,value\n" + "\n".join(rows) + "\n"


def post(client, url=URL, headers=None, **body):
    return client.post(url, json.dumps(body), content_type="application/json", headers=headers)


def best(values, k, allowed=range(4)):
    """The best mean by listing all sets."""
    return min(values[list(s)].min(axis=0).mean() for s in combinations(allowed, k))


def test_a_small_question_is_answered_at_once(client, samples, values):
    reply = post(client, samples=samples, k="1..4", current=["us-east-1"])

    assert reply.status_code == 201, reply.content
    body = reply.json()
    assert body["status"] == "finished"
    assert "samples" not in body["options"]
    for row in body["result"]["results"]:
        assert row["value"] == pytest.approx(best(values, row["k"]))
        assert row["proven"]
        assert row["certificate"]["checked"]
    again = client.get(reply["Location"])
    assert again.json() == body
    tag = {"If-None-Match": again["ETag"]}
    assert client.get(reply["Location"], headers=tag).status_code == 304


def test_weights_may_be_an_object(client, samples, values):
    weights = {f"c{i}": i + 1.0 for i in range(12)}

    row = post(client, samples=samples, k=1, weights=weights).json()["result"]["results"][0]
    means = np.average(values.mean(axis=2), axis=1, weights=list(weights.values()))
    assert row["value"] == pytest.approx(means.min())


def test_constraints_are_solved_anew_for_the_same_samples(client, samples, values):
    made = post(client, samples=samples, k=2).json()

    reply = post(client, f"{made['links']['variants']}", exclude=["us-east-1"], draws=0)
    assert reply.status_code == 200, reply.content
    found = reply.json()["result"]["results"][0]
    assert found["value"] == pytest.approx(best(values, 2, (1, 2, 3)))
    assert found["interval"] is None
    assert client.get(made["links"]["self"]).json() == made


def test_clients_stay_near_after_any_loss(client, samples, values):
    made = post(client, samples=samples, k=3, current=["us-east-1", "us-west-2"]).json()
    asked = {"after_loss_ms": 120, "after_loss_share": 0.22, "draws": 0}

    def worst(chosen):
        rests = combinations(chosen, len(chosen) - 1)
        return max((values[list(r)].min(axis=0) > 120).mean() for r in rests)

    found = post(client, f"{made['links']['variants']}", **asked).json()["result"]
    sets = [s for s in combinations(range(4), 3) if worst(s) <= 0.22]
    assert 0 < len(sets) < 4
    row = found["results"][0]
    assert row["value"] == pytest.approx(min(best(values, 3, s) for s in sets))
    told = found["current"]["after_loss"]
    assert told["worst_share"] == pytest.approx(worst((0, 1)))
    assert told["kept"] == (worst((0, 1)) <= 0.22)


def test_a_worker_answers_what_is_not_to_wait_for(client, samples):
    reply = post(client, samples=samples, k=2, headers={"Prefer": "respond-async"})
    assert reply.status_code == 202
    assert (reply.json()["status"], reply.json()["result"]) == ("queued", None)
    assert client.get(f"{reply['Location']}/curve.csv").status_code == 404

    for pk, _ in services.waiting():
        celery_tasks.solve(pk)
    done = client.get(reply["Location"]).json()
    assert done["status"] == "finished"
    assert done["result"]["results"][0]["proven"]
    assert services.waiting() == []
    curve = client.get(f"{reply['Location']}/curve.csv").content.decode().splitlines()
    assert curve[0].startswith("k,value,low,high,bound,proven")
    assert len(curve) == 2


def test_a_silent_workers_question_is_taken_up_and_given_up_in_the_end(client, samples, settings):
    from django.utils import timezone

    post(client, samples=samples, k=1, headers={"Prefer": "respond-async"})
    for attempt in range(1, services.MAX_ATTEMPTS + 2):
        ((pk, _),) = services.waiting()
        row = services.claim(pk)
        assert row.attempt == attempt
        assert services.claim(pk) is None
        Recommendation.objects.update(leased_until=timezone.now())
    first = Recommendation.objects.get()
    first.attempt = 1
    assert not services.finish(first, {})
    celery_tasks.solve(pk)
    assert Recommendation.objects.get().state == "failed"


def test_the_same_key_is_one_question(client, samples):
    replies = [post(client, samples=samples, k=1, headers={"Idempotency-Key": "a"}) for _ in "12"]
    assert len({reply["Location"] for reply in replies}) == 1
    assert Recommendation.objects.count() == 1
    for other in ({"samples": samples, "k": 2}, {"samples": samples + "\n", "k": 1}):
        reply = post(client, **other, headers={"Idempotency-Key": "a"})
        assert reply.status_code == 422
        assert reply.json()["type"].endswith("/idempotency-key-reused")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"k": "0"}, "k"),
        ({"k": 9}, "k"),
        ({"k": "1..x"}, "k"),
        ({"include": ["mars"]}, "include"),
        ({"current": ["mars"]}, "current"),
        ({"include": ["us-east-1"], "exclude": ["us-east-1"]}, "include"),
        ({"country": ["XX"]}, "country"),
        ({"presence": [":3"]}, "presence"),
        ({"objective": "speed"}, "objective"),
        ({"time_limit_s": 1e9}, "time_limit_s"),
        ({"draws": -1}, "draws"),
        ({"colour": "red"}, "colour"),
        ({"clients": "client,country\nnobody,DE\n"}, "clients"),
        ({"penalty": 5, "missing": "exclude"}, "penalty"),
    ],
)
def test_errors_name_the_field_and_leave_nothing(client, samples, more, field):
    reply = post(client, **{"samples": samples, **more})

    assert reply.status_code == 422
    assert reply["Content-Type"] == "application/problem+json"
    assert reply.json()["field"] == field
    assert Recommendation.objects.count() == 0
    folder = services.folder_of("x").parent
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_bad_line_is_named(client):
    text = "round,client,region,value\n1,a,x,1\n1,a,x,2\n"
    assert post(client, samples=text).json()["line"] == 3
    prices = "region,to,price\nx,,1\nx,,2\n"
    body = post(client, samples="round,client,region,value\n1,a,x,1\n", prices=prices).json()
    assert (body["line"], "prices" in body["detail"]) == (3, True)


def test_a_sparse_file_cannot_ask_for_all_memory(client):
    rows = "".join(f"t{n},c{n},r{n},1\n" for n in range(1000))
    reply = post(client, samples="round,client,region,value\n" + rows)
    assert reply.status_code == 422
    assert "1,000,000,000 cells" in reply.json()["detail"]


def test_too_many_open_questions_are_refused(client, samples):
    for _ in range(services.MOST_OPEN):
        assert post(client, samples=samples, headers={"Prefer": "respond-async"}).status_code == 202
    reply = post(client, samples=samples)
    assert (reply.status_code, reply["Retry-After"]) == (429, "30")


def test_unknown_tokens_are_not_found(client):
    assert client.get(f"{URL}/nothing").status_code == 404
    assert post(client, f"{URL}/nothing/variants").status_code == 404


TABLE = b"country,city,users\nDE,Berlin,120\nJP,,60\n(not set),,5\n"


def test_a_table_of_clients_becomes_an_audience_and_its_recommendation(client):
    read = client.post("/api/v1/client-weights", TABLE, content_type="application/octet-stream")
    assert read.status_code == 200, read.content
    document = read.json()
    assert document["weights"] == {"DE/Berlin": 120, "JP": 60}
    assert (document["form"], document["unplaced"]) == ("analytics table", 5)

    key = {"Idempotency-Key": "one"}
    made = post(client, headers=key, audience=document["weights"], k=2, draws=0, source="model")
    assert made.status_code == 201, made.content
    body = made.json()
    assert body["source"]["audience"] == document["weights"]
    assert body["source"]["basis"]["shares"]["modelled"] == 1
    again = post(client, headers=key, audience=document["weights"], k=2, draws=0, source="model")
    assert again.json()["id"] == body["id"]
    other = post(client, headers=key, audience={"FR": 1}, k=2, draws=0, source="model")
    assert other.status_code == 422
    # The same clients by a text, and by the form, have the same answer.
    text = post(client, audience=TABLE.decode(), k=2, draws=0, source="model").json()
    assert text["result"]["results"][0]["value"] == body["result"]["results"][0]["value"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give samples, or an audience"),
        ({"audience": {"XX": 1}}, "not a known country"),
        ({"audience": {"DE": -1}}, "the weight of DE"),
        ({"audience": {"DE": 0}}, "above 0"),
        ({"audience": "DE 4\nFR many"}, "line 2"),
        ({"audience": {"DE": 1}, "samples": "x"}, "has its own samples"),
        ({"audience": {"DE": 1}, "source": "nowhere"}, "no samples of a campaign"),
        ({"audience": {"DE": 1}, "current": ["mars"]}, "no samples of the region"),
    ],
)
def test_a_wrong_audience_is_refused_by_its_field(client, given, words):
    reply = post(client, **given)
    assert reply.status_code == 422, reply.content
    assert words in reply.json()["detail"]
    assert not Recommendation.objects.exists()


def test_a_wrong_file_of_clients_names_its_line(client):
    for data, words in ((b"country,users\nDE,x\n", "line 2"), (b"", "empty")):
        reply = client.post("/api/v1/client-weights", data, content_type="text/csv")
        assert (reply.status_code, words in reply.json()["detail"]) == (422, True)
    assert client.post("/api/v1/client-weights?by=planet", TABLE, "text/csv").status_code == 422


def test_clients_are_suggested_by_the_beginning_of_their_names(client):
    places = b"192.0.2.0/24,DE,,Berlin,\n198.51.100.0/24,US,,Berlin,\n203.0.113.0/24,DE,,Bern,\n"
    geolocation.import_file(places, file_name="places.csv")
    asn.import_file(b"64500 Example Net Ltd, DE\n64501 Nameless\n", file_name="names.txt")

    def found(text):
        return [row["client"] for row in client.get(f"{PLACES}?q={text}").json()["results"]]

    assert found("berl") == ["DE/Berlin", "US/Berlin"]
    assert found("ger") == ["DE"]
    assert found("gb") == ["GB"]
    assert "GB" in found("Great Brit")
    assert found("as645") == ["DE/AS64500"]
    assert found("example n") == ["DE/AS64500"]
    assert found("") == found("zzzz") == []
    assert client.get(f"{PLACES}?q={'x' * 61}").status_code == 422
