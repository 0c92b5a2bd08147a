"""Pages of experiments: the list, the form with its refusals, a run from start to figures."""

from html import escape

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tasks.platform import leased_rows
from tasks.simulations import catalogue, celery_tasks
from tests.pages.simulations.simulation_cast import QUICK, finished_run
from webapp.pages.simulations import comparison
from webapp.store.models import Simulation
from webapp.store.simulations import services

pytestmark = pytest.mark.django_db


@pytest.fixture
def queued(monkeypatch):
    """What was queued, instead of a broker."""
    found = []
    monkeypatch.setattr(leased_rows, "queue", lambda task, pk: found.append(pk))
    return found


def start(client, django_capture_on_commit_callbacks, name="topology", **given):
    with django_capture_on_commit_callbacks(execute=True):
        return client.post(f"/inside/{name}/", {"seed": "3", **given})


def test_the_list_asks_every_question(client):
    html = client.get("/inside/").content.decode()
    for row in catalogue.experiments():
        assert escape(row["question"]) in html
        assert f'href="/inside/{row["experiment"]}/"' in html


def test_a_run_from_its_form_to_its_figures(client, queued, django_capture_on_commit_callbacks):
    answer = start(client, django_capture_on_commit_callbacks, kind="fat-tree", k="4")
    waiting = client.get(answer["Location"]).content.decode()
    assert "Waiting for a worker" in waiting
    assert 'data-simulation="queued"' in waiting
    celery_tasks.run(*queued)
    html = client.get(answer["Location"]).content.decode()
    assert "16 hosts on 20 switches" in html
    assert "5 of 5 figures with a published value" in html
    assert "data-simulation" not in html
    assert 'aria-label="Wiring: 16 hosts, 20 switches"' in html


def test_a_wrong_parameter_is_shown_at_its_field_and_nothing_is_stored(client, queued):
    answer = client.post("/inside/vm-scheduling/", {"slice_ms": "900", "seed": "1"})
    html = answer.content.decode()
    assert answer.status_code == 422
    assert "&#x27;900&#x27; is not a number from 1 to 100 ms" in html
    assert 'value="900"' in html
    assert 'aria-invalid="true"' in html
    assert not Simulation.objects.exists()
    assert client.post("/inside/topology/", {"seed": "x"}).status_code == 422


def test_parameters_of_the_address_fill_the_form(client):
    assert 'value="42"' in client.get("/inside/vm-scheduling/?slice_ms=42").content.decode()


def test_a_run_is_cancelled_and_has_no_figures(client, queued, django_capture_on_commit_callbacks):
    address = start(client, django_capture_on_commit_callbacks)["Location"]
    assert client.post(f"{address}cancel/")["Location"] == address
    celery_tasks.run(*queued)
    assert "This run was cancelled" in client.get(address).content.decode()
    assert Simulation.objects.get().result is None


def test_a_failed_run_says_why(client, queued, django_capture_on_commit_callbacks):
    address = start(client, django_capture_on_commit_callbacks)["Location"]
    services.RUNS.fail(services.claim(queued[0]), "the disk is full")
    html = client.get(address).content.decode()
    assert "This run has failed" in html
    assert "The disk is full." in html


def test_runs_of_an_account_are_its_own(client, queued, django_capture_on_commit_callbacks):
    users = get_user_model().objects
    anna, bert = Client(), Client()
    anna.force_login(users.create_user("anna"))
    bert.force_login(users.create_user("bert"))
    address = start(anna, django_capture_on_commit_callbacks)["Location"]
    assert anna.get(address).status_code == 200
    for other in (bert, client):
        assert other.get(address).status_code == 404
        assert other.post(f"{address}cancel/").status_code == 404
    assert "topology" in anna.get("/inside/").content.decode()
    assert address not in bert.get("/inside/").content.decode()


def test_what_is_not_there_is_not_found(client):
    assert client.get("/inside/nothing/").status_code == 404
    assert client.get("/inside/runs/nothing/").status_code == 404


def test_the_finding_of_the_papers_parameters_is_on_the_list_and_the_form(client):
    finished_run(None)
    for address in ("/inside/", "/inside/topology/"):
        assert "128 hosts on 80 switches" in client.get(address).content.decode()
    assert "128 hosts" not in client.get("/inside/presto/").content.decode()


def test_two_topologies_are_compared_side_by_side(client):
    first, second = (
        finished_run(None, k=4),
        finished_run(None, kind="leaf-spine", leaves=4, spines=4),
    )
    html = client.get(f"/inside/runs/{first.token}/against/{second.token}/").content.decode()
    assert "Kind fat-tree beside leaf-spine, and 3 more differences" in html
    assert html.count("<svg viewBox") == 2  # the two topologies
    assert html.count("experiment-chart__wide") == html.count("experiment-chart__tall") == 2
    for run in (first, second):
        assert escape(run.headline) in html
    rows = {row["name"]: row for row in comparison.compare_figures(first, second)}
    assert rows["hosts"]["first"]["text"] == "16"
    assert rows["hosts"]["second"]["text"] == "32"
    assert rows["hosts"]["change"] == "+100 %"
    # A leaf–spine network has no pods.
    assert rows["paths inside pod"]["second"]["text"] == "no data"
    assert rows["paths inside pod"]["change"] == "no data"


def test_intervals_that_are_apart_are_marked():
    def row(value, low, high):
        return {"name": "p99_9", "value": value, "interval": [low, high], "unit": "ms"}

    def verdict(*rows):
        runs = (Simulation(result={"results": [one]}) for one in rows)
        return comparison.compare_figures(*runs)[0]["verdict"]

    assert verdict(row(2.0, 1.9, 2.1), row(3.0, 2.9, 3.1)) == "apart"
    assert verdict(row(2.0, 1.5, 2.9), row(3.0, 2.9, 3.1)) == "overlap"
    assert verdict({**row(2.0, 0, 0), "interval": None}, row(3.0, 2.9, 3.1)) == ""


def test_only_finished_runs_of_one_experiment_that_the_reader_sees_are_compared(client, queued):
    user = get_user_model().objects.create_user("anna")
    wired, scheduled = finished_run(None, k=4), finished_run(None, "vm-scheduling", **QUICK)
    private = finished_run(user, k=6)
    waiting = services.create("topology", wired.parameters, 2, None)
    for other in (scheduled, private, waiting):
        address = f"/inside/runs/{wired.token}/against/{other.token}/"
        assert client.get(address).status_code == 404
    client.force_login(user)
    assert client.get(f"/inside/runs/{wired.token}/against/{private.token}/").status_code == 200


def test_a_run_made_from_another_offers_their_comparison(
    client, queued, django_capture_on_commit_callbacks
):
    first = finished_run(None, k=4)
    shown = client.get(f"/inside/runs/{first.token}/").content.decode()
    assert f'name="beside" value="{first.token}"' in shown
    given = {"kind": "f10", "k": "4", "beside": first.token}
    address = start(client, django_capture_on_commit_callbacks, **given)["Location"]
    celery_tasks.run(*queued)
    second = Simulation.objects.latest("pk")
    comparison_address = f"/inside/runs/{first.token}/against/{second.token}/"
    assert comparison_address in client.get(address).content.decode()
    # Without the address of the first, a stranger does not learn of it.
    assert comparison_address not in client.get(f"/inside/runs/{second.token}/").content.decode()
