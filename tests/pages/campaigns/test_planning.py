"""Campaigns on pages: planned, started, watched, paused, stopped and cloned by whoever may."""

import re

import pytest
from django.contrib.auth.models import User

from tests.probes.networks import LIMITS, Network
from tests.tasks.campaigns.field import Field, join, targets
from webapp.store.campaigns import progress, services
from webapp.store.models import Campaign

pytestmark = pytest.mark.django_db
CSV = "host,port,provider,region\n8.8.1.8,80,aws,us-east-1\n8.8.2.8,80,aws,us-west-2\n"


@pytest.fixture(autouse=True)
def lake(settings, tmp_path):
    settings.LAKE_DIR = settings.UPLOADS_DIR = tmp_path


@pytest.fixture
def anna(client):
    join("v0", "v1", "v2")
    user = User.objects.create_user("anna", "anna@example.org", "a long pass phrase")
    client.force_login(user)
    return user


def text(answer, status=200):
    assert answer.status_code == status
    page = answer.content.decode()
    assert "<h1" in page
    assert not re.search(r">None\b|\bnan\b|{{|{%", page)
    return page


def hidden(page):
    return dict(re.findall(r'type="hidden" name="(draft|once|before)" value="([^"]*)"', page))


def send(client, path="/wide-area/new/", **more):
    asked = {"targets": CSV, "vantages": ["v0", "v2"], "preset": "latency", "rounds": 4}
    return client.post(path, {**asked, **more})


def test_a_campaign_is_planned_before_anything_is_sent(client, anna):
    form = text(client.get("/wide-area/new/"))
    assert form.count('type="checkbox" name="vantages"') == 3
    plan = text(send(client, name="Mine"))
    assert "16 probes between 2 vantage points and 2 targets" in plan
    assert not Campaign.objects.exists()
    asked = hidden(plan)
    first = client.post("/wide-area/run/", asked)
    again = client.post("/wide-area/run/", asked)
    made = Campaign.objects.get()
    assert first["Location"] == again["Location"] == f"/wide-area/{made.slug}/progress/"
    assert (made.owner, made.vantages) == (anna, ["v0", "v2"])
    page = text(client.get(first["Location"]))
    assert "Waiting to begin: 16 slots are planned" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": ""}, "Name one target at least"),
        ({"targets": "10.0.0.1"}, "is not a public address"),
        ({"targets": "host,colour\na,red"}, "no field"),
        ({"vantages": []}, "Choose one vantage point"),
        ({"vantages": ["nobody"]}, "not one of the available choices"),
        ({"rounds": 0}, "greater than or equal to 1"),
        ({"round_minutes": 0.05}, "a round takes"),
        ({"starts_at": "soon"}, "Write it like"),
        ({"preset": "none"}, "not one of the available choices"),
        ({"targets": "<script>alert(1)</script>"}, ""),
    ],
)
def test_what_cannot_be_is_told_beside_its_field(client, anna, change, message):
    answer = send(client, **change)
    page = text(answer, answer.status_code)
    assert message in page
    assert "<script>alert" not in page
    if message:
        assert answer.status_code == 422
        assert "field__error" in page


def test_progress_counts_slots_and_names_what_is_missing(client, anna):
    field = Field(
        preset="latency",
        rounds=2,
        round_s=60,
        targets=targets(2),
        vantages=["v0", "v1"],
        name="Live",
    )
    row = field.start()
    Campaign.objects.filter(pk=row.pk).update(owner=anna, maker=anna)
    field.dead.add("v1")
    for _ in range(30):
        field.step()
    page = text(client.get("/wide-area/live/progress/"))
    assert "2 slots were measured" in page or "of 8 slots" in page
    assert "sent nothing" in page
    assert "the vantage point did not begin" in page
    part = client.get("/wide-area/live/progress/part/")
    assert part["X-Campaign-State"] == Campaign.objects.get().state
    assert "slots are over" in part.content.decode()


def test_buttons_do_what_they_say_for_whoever_may(client, anna):
    field = Field(preset="latency", targets=targets(2), vantages=["v0"], name="Mine")
    row = field.start()
    Campaign.objects.filter(pk=row.pk).update(owner=anna, maker=anna)
    services.create_units(row, field.now)
    services.mark_running(row, field.now)
    for action, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        answer = client.post(f"/wide-area/mine/do/{action}/")
        assert answer.status_code == 302
        row.refresh_from_db()
        assert row.state == state
        text(client.get("/wide-area/mine/progress/"))
    assert client.post("/wide-area/mine/do/melt/").status_code == 404
    assert client.get("/wide-area/mine/do/stop/").status_code == 405
    client.force_login(User.objects.create_user("bert", "b@example.org", "another pass phrase"))
    for path in ("progress/", "progress/part/", "clone/"):
        assert client.get(f"/wide-area/mine/{path}").status_code == 404
    assert client.post("/wide-area/mine/do/stop/").status_code == 404
    Campaign.objects.update(owner=None)
    assert client.post("/wide-area/mine/do/stop/").status_code == 403
    assert "Stop permanently" not in text(client.get("/wide-area/mine/progress/"))


def test_the_plan_says_what_may_be_spent_at_public_networks(client, anna, settings):
    join("far", source="atlas", country="DE", detail={"probe": 6123})
    join("near", source="globalping", country="DE", city="Berlin")
    asked = {"vantages": ["far", "near"], "preset": "routes", "rounds": 2}
    with Network() as network:
        settings.GLOBALPING_URL = settings.ATLAS_URL = network.url
        network.documents["/v1/limits"] = LIMITS
        network.documents["/api/v2/credits/"] = {
            "current_balance": 70,
            "estimated_daily_expenditure": 12,
        }
        plan = text(client.post("/wide-area/new/", {"targets": CSV, **asked}))
        assert "the account has 70, and spends 12 a day" in plan
        assert "RIPE Atlas may not complete this plan" in plan
        assert "free tests are left this hour, and 9,000 credits" in plan
        assert "Globalping may not complete this plan" not in plan
    # A network that does not answer costs the plan nothing but this line.
    plan = text(client.post("/wide-area/new/", {"targets": CSV, **asked}))
    assert plan.count("the balance cannot be read now") == 2
    assert not Campaign.objects.exists()


def test_a_clone_begins_with_what_was_asked(client, anna):
    field = Field(preset="quick", rounds=3, targets=targets(2), vantages=["v0", "v1"], name="First")
    field.start()
    page = text(client.get("/wide-area/first/clone/"))
    assert "8.8.1.8,80" in page
    assert page.count("checked") == 2
    plan = text(
        client.post(
            "/wide-area/first/clone/",
            {"targets": CSV, "vantages": ["v1"], "preset": "", "name": "Second"},
        )
    )
    made = client.post("/wide-area/run/", hidden(plan))
    second = Campaign.objects.get(name="Second")
    assert made["Location"] == f"/wide-area/{second.slug}/progress/"
    assert second.cloned_from.slug == "first"
    assert second.schedule["rounds"] == 3
    assert [a["name"] for a in second.schedule["activities"]] == ["throughput", "latency", "routes"]


def test_strangers_sign_in_first_and_old_plans_are_refused(client, anna):
    page = text(client.post("/wide-area/run/", {"draft": "0" * 64}), 422)
    assert "older than a day" in page
    client.logout()
    for path in ("new/", "run/"):
        answer = client.post(f"/wide-area/{path}")
        assert answer.status_code == 302
        assert answer["Location"].startswith("/sign-in/")
    for path in ("x/do/stop/", "x/clone/"):
        assert client.post(f"/wide-area/{path}").status_code == 404


def test_without_vantage_points_the_page_says_what_to_do(client):
    client.force_login(User.objects.create_user("cyd", "c@example.org", "a long pass phrase"))
    assert "campaign start --here" in text(client.get("/wide-area/new/"))


def test_what_was_kept_half_way_is_not_told_as_the_end(client, anna):
    field = Field(preset="latency", targets=targets(2), vantages=["v0"], name="Halves")
    row = field.start()
    Campaign.objects.filter(pk=row.pk).update(owner=anna, maker=anna)
    services.create_units(row, field.now)
    services.mark_running(row, field.now)
    # A report of a running campaign keeps how far it is; a stop makes that too old.
    services.save_summary(row, progress.summary(row))
    client.post("/wide-area/halves/do/stop/")
    row.refresh_from_db()
    slots = progress.progress(row)
    assert slots["missed"] == slots["planned"] > 0
    page = text(client.get("/wide-area/halves/progress/"))
    assert f"0 of {slots['planned']} slots were measured (0\u202f%)" in page


def test_one_that_is_stopped_before_its_time_says_so(client, anna):
    page = text(send(client, name="Later", starts_at="2099-01-02T03:04"))
    made = client.post("/wide-area/run/", hidden(page))
    assert "not before 2099-01-02 03:04 UTC" in text(client.get(made["Location"]))
    client.post(made["Location"].replace("/progress/", "/do/stop/"))
    assert "Stopped before it began: 16 slots were planned" in text(client.get(made["Location"]))


def test_vantage_points_are_selected_by_place(client, anna):
    join("oslo", "bergen", country="NO")
    plan = text(send(client, vantages=["v1"], selection="country:NO*1, rotate:none"), 422)
    assert "is not a campaign" in plan
    plan = text(send(client, vantages=["v1"], selection="country:NO*1"))
    asked = hidden(plan)
    client.post("/wide-area/run/", asked)
    assert Campaign.objects.get().vantages == ["v1", "bergen"]
