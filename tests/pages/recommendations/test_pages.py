"""From files to the best sets, to constraints that are tried, to one clear message."""

import random
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from analysis.optimization import Study
from analysis.optimization.solver.certificate import Box, Multipliers
from tasks.recommendations import celery_tasks
from webapp.store.models import Recommendation
from webapp.store.recommendations import services

pytestmark = pytest.mark.django_db
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1")


@pytest.fixture
def client(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return Client()


def shown(text):
    """What a page says, without its tags."""
    return re.sub("<[^>]+>", "", text)


def samples():
    values = np.random.default_rng(4).integers(20, 200, (len(REGIONS), 12, 3))
    rows = [
        f"{t},c{i},{name},{values[j, i, t]}"
        for j, name in enumerate(REGIONS)
        for i in range(12)
        for t in range(3)
    ]
    text = "round,client,region,value\n" + "\n".join(rows)
    return SimpleUploadedFile("samples.csv", text.encode())


def ask(client, **more):
    given = {"samples": samples(), "objective": "latency", **more}
    return client.post("/recommendations/samples/", given)


def test_it_works(client):
    reply = ask(client, current="us-east-1")
    assert reply.status_code == 302
    text = client.get(reply["Location"]).content.decode()
    assert "optimal for these inputs" in text
    best = Recommendation.objects.get().result["results"][2]
    assert "Three regions cut your clients’ round-trip time by" in text
    assert ", ".join(best["regions"]) in shown(text)
    assert "Failures" in text
    assert "style=" not in text


def test_the_front_of_costs_names_date_and_source_of_its_prices(client):
    page = ask(client, k="1..3", front="1", traffic_gb="100", budget="400")["Location"]
    celery_tasks.solve(Recommendation.objects.get().pk)
    text = client.get(page).content.decode()
    front = Recommendation.objects.get().result["front"]
    assert front["evaluated"] == 4 + 6 + 4
    assert "Cost, round-trip time and loss of a region" in text
    assert "https://aws.amazon.com/ec2/pricing/on-demand/, as of 2024-06-01" in text
    assert ", ".join(front["rows"][-1]["regions"]) in re.sub(r"\s+", " ", shown(text))
    # Constraints are tried without it: it takes longer than a page may.
    assert "Pareto front" not in client.get(page, {"exclude": "eu-west-1"}).content.decode()


def test_constraints_are_solved_in_place(client):
    page = ask(client)["Location"]
    text = client.get(page, {"exclude": "eu-west-1, us-west-2", "k": 2}).content.decode()
    assert "us-east-1, ap-northeast-1" in shown(text)
    assert "Two regions serve your clients in" in text
    assert "No set of this size" in text
    assert 'value="eu-west-1, us-west-2"' in text
    text = client.get(page, {"exclude": "<mars>"}).content.decode()
    assert "cannot be met" in text
    assert "&lt;mars&gt;" in text
    text = client.get(page, {"survive_loss": "1", "k": "2"}).content.decode()
    assert "Two regions serve" in text


class SlowProofs(Study):
    """Solves, and gives proofs that hold, for which every set has to be listed."""

    def recommend(self, k, constraints=None, effort=None):
        found = super().recommend(k, constraints, effort)
        if k < 8:
            return found
        proof, points = found.proof, self.costs.weights.size
        held = frozenset.intersection(*(box.outside for box in proof.boxes))
        box = Box(frozenset(), held, frozenset(), 0)
        blank = Multipliers(np.zeros(points, np.int32), ())
        return replace(found, proof=replace(proof, boxes=(box,), multipliers=(blank,)))


def test_a_proof_that_takes_long_to_check_is_shown_as_unchecked(client, monkeypatch):
    numbers = np.random.default_rng(2).integers(20, 200, (32, 6))
    rows = [f"1,c{i},r{j},{numbers[j, i]}" for j in range(32) for i in range(6)]
    text = "round,client,region,value\n" + "\n".join(rows)
    page = ask(client, samples=SimpleUploadedFile("s.csv", text.encode()), k="2,8")["Location"]
    monkeypatch.setattr(celery_tasks, "Study", SlowProofs)
    celery_tasks.load_loops()
    begun = time.process_time()
    text = client.get(page, {"exclude": "r3", "k": 8}).content.decode()
    assert time.process_time() - begun < 2 * celery_tasks.WHOLE_S
    assert "optimal, proof not yet checked" in re.sub(r"\s+", " ", shown(text))
    assert text.count(">not yet checked</span>") == 1
    assert "a worker solve and check every size" in re.sub(r"\s+", " ", shown(text))
    # What is stored is checked to the end.
    client.post(page + "keep/?exclude=r3")
    kept = Recommendation.objects.order_by("-pk").first()
    assert all(row["certificate"]["checked"] for row in kept.result["results"])


def test_mistakes_are_shown_where_they_are(client):
    reply = ask(client, k="1..99")
    assert reply.status_code == 422
    assert "not from 1 to 4" in reply.content.decode()
    reply = client.post("/recommendations/samples/", {"objective": "latency"})
    assert reply.status_code == 422
    assert Recommendation.objects.count() == 0
    assert client.get("/recommendations/nothing/").status_code == 404


def test_a_page_that_waits_says_so(client):
    row = services.create({"samples": samples().read()}, {})
    assert "Waiting for a worker" in client.get(f"/recommendations/{row.token}/").content.decode()
    services.fail(services.claim(row.pk), "because")
    assert "Because" in client.get(f"/recommendations/{row.token}/").content.decode()


def test_screened_machines_of_the_set_are_shown_to_who_may_see_their_pool(client):
    from tasks.screening.emulated_reports import build_report
    from tests.pages.screening.screening_cast import make_person, make_pool, send

    person = make_person("screens@example.org")
    rng = random.Random(2)
    kinds = ("quiet", "quiet", "steal")
    reports = [
        build_report(f"m{n}", kind, time.time() - 60, rng, cpus=1, region="eu-west-1")
        for n, kind in enumerate(kinds)
    ]
    send(make_pool(person, "Mine"), reports)
    page = ask(client)["Location"] + "?k=4"
    celery_tasks.solve(Recommendation.objects.get().pk)
    text = client.get(page).content.decode()
    assert "No machine in these regions was screened in a pool that you can see" in text
    owner = Client()
    owner.force_login(person)
    text = re.sub(r"\s+", " ", shown(owner.get(page).content.decode()))
    assert "Good machines in these regions" in text
    assert "2 of 3" in text
    assert "No screened machines in" in text
