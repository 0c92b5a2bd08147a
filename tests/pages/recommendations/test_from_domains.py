"""From clients to a recommendation, whose it is, and what odd inputs come to."""

import gzip
import os
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.test import Client

from core.errors import BadInput
from tasks.recommendations import celery_tasks, from_domains
from tasks.recommendations.client_latencies import latencies_for, name_in
from tasks.recommendations.latency_model import fit_model
from webapp.pages.recommendations.answer import choose_size
from webapp.pages.recommendations.comparison import changes
from webapp.pages.recommendations.constraints import controls, read_constraints
from webapp.store.access import share_links
from webapp.store.models import Recommendation, Survey
from webapp.store.recommendations import services as recommendation_services
from webapp.store.surveys import services

pytestmark = pytest.mark.django_db
HEAD = b"round,client,region,value\n"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def member(name):
    client = Client()
    client.user = get_user_model().objects.create_user(name, password="a long pass phrase")
    client.force_login(client.user)
    return client


def samples(data):
    return SimpleUploadedFile("samples.csv", HEAD + data)


def ask(client, data, **more):
    post = {"samples": samples(data), "objective": "latency", **more}
    return client.post("/recommendations/samples/", post)


TWO = b"".join(b"1,c%d,a,%d\n1,c%d,b,%d\n" % (i, 5 + i, i, 50 - i) for i in range(9))


def test_clients_alone_lead_to_a_modelled_answer():
    reply = Client().post("/recommendations/clients/", {"audience": "DE 40\nJP 60"})
    text = Client().get(reply["Location"]).content.decode()
    assert "modelled, not measured" in text
    assert "optimal for these inputs" in text
    row = Recommendation.objects.get()
    assert row.source["kind"] == "modelled"
    best = next(r for r in row.result["results"] if r["k"] == 2)
    assert "One of 2 zones" in text or "<td>Zone</td>" in text
    assert {n.split("/")[1][:2] for n in best["regions"]} & {"ap", "ja", "as", "jp"}


def test_a_fitted_model_replaces_the_stated_one_and_states_its_errors(tmp_path):
    lines = ["cty1,cty2,rtt_avg\n"]
    codes = (
        "DE",
        "FR",
        "GB",
        "IT",
        "ES",
        "PL",
        "SE",
        "NL",
        "JP",
        "KR",
        "SG",
        "IN",
        "US",
        "CA",
        "BR",
    )
    lines += [
        f"{a},{b},{20 + 7 * abs(i - j)}\n" for i, a in enumerate(codes) for j, b in enumerate(codes)
    ]
    path = tmp_path / "countries.csv"
    path.write_text("".join(lines))
    fit_model([path], {}, {})
    reply = Client().post("/recommendations/clients/", {"audience": "DE 40\nJP 60"})
    text = " ".join(Client().get(reply["Location"]).content.decode().split())
    row = Recommendation.objects.get()
    assert (row.source["kind"], row.source["model"]["kind"]) == ("modelled", "paths")
    assert "measured pairs of places (countries.csv, n = 210)" in text
    assert "Errors of the model" in text
    assert "North America" in text
    assert "modelled, not measured" in text


def test_a_deployment_stands_beside_the_best():
    audience = {"audience": "DE 1", "current": "aws/us-east-1"}
    reply = Client().post("/recommendations/clients/", audience)
    text = Client().get(reply["Location"]).content.decode()
    assert "cuts your clients’ round-trip time by" in text
    assert '<b class="mono code">' in text


@pytest.mark.parametrize(
    ("audience", "words"),
    [
        ("DE 0", "above 0"),
        ("DE -1", "is not a client"),
        ("ZZ 1", "not a known country"),
        ("DE 1\nDE 1", "twice"),
    ],
)
def test_odd_clients_are_refused_where_they_stand(audience, words):
    reply = Client().post("/recommendations/clients/", {"audience": audience})
    assert reply.status_code == 422
    assert words in reply.content.decode()
    assert 'id="id_audience-error"' in reply.content.decode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"1,c,a,\n1,d,a,\n", "every value is missing"),
        (b"1,c,a,5\n1,c,a,6\n", "second value"),
        (b"1,\xff\xfe,a,5\n", "not text in UTF-8"),
        (b"1,c,a,-5\n", "is below zero"),
        (b"1,c,a,1e300\n", "too large"),
        (b"", "no samples"),
    ],
)
def test_odd_samples_are_refused_in_one_line(data, words):
    reply = ask(Client(), data)
    assert reply.status_code == 422
    assert words in reply.content.decode()
    assert not Recommendation.objects.exists()


def test_packed_samples_are_refused_by_what_they_are():
    packed = SimpleUploadedFile("samples.csv", gzip.compress(HEAD + b"1,c,a,5\n"))
    post = {"samples": packed, "objective": "latency"}
    reply = Client().post("/recommendations/samples/", post)
    assert reply.status_code == 422
    assert "this is packed" in reply.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        {"k": "99999"},
        {"fail": "region:<mars>"},
        {"set": "1", "per_provider": "1e400"},
        {"set": "1", "percentile": "nan"},
        {"set": "1", "include": "a,b", "k": "1"},
        {"set": "1", "exclude": "a,b"},
        {"set": "1", "survive_loss": "1", "k": "1"},
        {"part": "set", "set": "1", "exclude": "a"},
        {"part": "curve", "set": "1", "presence": ";;:"},
        {"part": "<x>"},
    ],
)
def test_no_address_breaks_an_answer(query):
    client = Client()
    page = ask(client, TWO)["Location"]
    reply = client.get(page, query)
    assert reply.status_code == 200
    assert "<mars>" not in reply.content.decode()


def test_one_client_and_one_region_are_enough():
    page = ask(Client(), b"1,c,a,5\n")["Location"]
    assert "One region serves your clients in 5.0" in Client().get(page).content.decode()


def test_what_is_somebodys_is_not_there_for_others():
    ada, eve, nobody = member("ada"), member("eve"), Client()
    page = ask(ada, TWO, name="Ada's")["Location"]
    token = page.rstrip("/").rsplit("/", 1)[1]
    assert ada.get(page).status_code == 200
    for other in (eve, nobody):
        for path in (page, f"/api/v1{page.rstrip('/')}", f"/api/v1{page}curve.csv"):
            assert other.get(path).status_code == 404
        for path in ("share", "keep", "forget"):
            assert other.post(f"{page}{path}/").status_code == 404
        assert "Ada" not in other.get("/recommendations/").content.decode()
        assert other.get("/api/v1/recommendations").json()["results"] == []
    assert "Ada" in ada.get("/recommendations/").content.decode()
    assert Recommendation.objects.filter(token=token).exists()


def test_a_link_reads_until_it_is_taken_back():
    ada, nobody = member("ada"), Client()
    page = ask(ada, TWO)["Location"]
    ada.post(f"{page}share/")
    row = Recommendation.objects.get()
    link = f"/recommendations/shared/{share_links.secret_of(row)}/"
    shown = nobody.get(link)
    assert shown["Referrer-Policy"] == "no-referrer"
    assert "Compute again" not in shown.content.decode()
    assert row.token not in shown.content.decode()
    assert nobody.get(f"{link}sets.csv").content.decode().startswith("k,value")
    assert nobody.get(f"{link}answer.json").json()["results"]
    assert nobody.get(f"/recommendations/shared/{row.token}/").status_code == 404
    ada.post(f"{page}share/", {"take_back": "1"})
    assert nobody.get(link).status_code == 404
    ada.post(f"{page}share/")
    assert share_links.secret_of(Recommendation.objects.get()) not in (
        "",
        share_links.secret_of(row),
    )


def test_a_region_named_like_a_formula_is_no_formula_in_the_shared_file():
    ada = member("ada")
    page = ask(ada, TWO)["Location"]
    ada.post(f"{page}share/")
    row = Recommendation.objects.get()
    row.result["results"][0]["regions"] = ["=cmd|x", "@r0"]
    row.save()
    text = (
        Client()
        .get(f"/recommendations/shared/{share_links.secret_of(row)}/sets.csv")
        .content.decode()
    )
    assert ",'=cmd|x|@r0," in text
    assert text == ada.get(f"/api/v1/recommendations/{row.token}/curve.csv").content.decode()


def test_constraints_can_be_kept_and_runs_compared():
    ada = member("ada")
    page = ask(ada, TWO, current="a")["Location"]
    kept = ada.post(f"{page}keep/?set=1&exclude=a")["Location"]
    assert kept != page
    token = page.rstrip("/").rsplit("/", 1)[1]
    text = ada.get(f"{kept}against/{token}/").content.decode()
    assert "best set" in text
    assert member("eve").get(f"{kept}against/{token}/").status_code == 404
    ada.post(f"{page}forget/")
    assert ada.get(page).status_code == 404


def test_changes_between_runs_are_counted():
    def run(regions, value, interval):
        row = {"k": 1, "regions": regions, "value": value, "interval": interval}
        sizes = {"n_clients": 1, "n_rounds": 1, "n_regions": 2, "missing": 0}
        return {"results": [row], "current": None, "consequences": None, **sizes}

    found = changes(run(["a"], 9.0, [8, 10]), run(["b"], 4.0, [3, 5]))
    assert found["same"] == 0
    assert found["sizes"][0]["came"] == ["b"]
    assert found["sizes"][0]["change"] == -5
    assert found["sizes"][0]["beyond_chance"] is True


def test_a_survey_that_fails_ends_what_waited_for_it():
    ada = member("ada")
    maker, mine = services.Requester(ada.user), from_domains.Asked("auto", "Mine")
    row = from_domains.create(b"a.example\n", {"DE": 1.0}, mine, maker, "once")
    page = f"/recommendations/{row.token}/"
    assert "Waiting for a worker" in ada.get(page).content.decode()
    again = from_domains.create(b"a.example\n", {"DE": 1.0}, mine, maker, "once")
    assert again.pk == row.pk
    services.fail(row.survey, "no name server")
    celery_tasks.requeue_lost()
    assert "no name server" in ada.get(page).content.decode()


def test_a_survey_without_regions_still_leads_to_an_answer():
    ada = member("ada")
    row = from_domains.create(
        b"a.example\n", {"DE": 1.0}, from_domains.Asked(), services.Requester(ada.user), "x"
    )
    Survey.objects.filter(pk=row.survey_id).update(state="finished")
    celery_tasks.arrive(row.survey_id)
    row.refresh_from_db()
    assert row.state == "queued"
    celery_tasks.solve(row.pk)
    row.refresh_from_db()
    assert row.result["results"][0]["proven"]
    assert row.result["current"] is None


def test_weights_given_twice_are_refused():
    with pytest.raises(Exception, match="give them once"):
        from_domains.intend(b"domain,DE\na.example,4\n", {"DE": 3.0})


def test_the_same_names_mean_the_same_regions():
    found = latencies_for("model", {"DE": 2.0}, [], None)
    assert name_in(found.regions, "aws", "eu-west-1") == "aws/eu-west-1"
    assert name_in(found.regions, "aws", "nowhere") is None
    assert found.source["kind"] == "modelled"


def test_folders_of_deleted_accounts_go():
    ada = member("ada")
    ask(ada, TWO)
    row = Recommendation.objects.get()
    place = recommendation_services.folder_of(row.token)
    ada.user.delete()
    recommendation_services.drop_orphans()
    assert place.exists()
    os.utime(place, (0, 0))
    recommendation_services.drop_orphans()
    assert not place.exists()


def test_limits_are_of_each_person():
    ada = member("ada")
    origin = recommendation_services.Origin(ada.user)
    for _ in range(recommendation_services.MOST_OPEN):
        recommendation_services.create({"samples": HEAD + TWO}, {}, origin)
    with pytest.raises(recommendation_services.TooManyRecommendations):
        recommendation_services.create({"samples": HEAD + TWO}, {}, origin)
    assert recommendation_services.create({"samples": HEAD + TWO}, {})


@pytest.mark.parametrize(
    "pack",
    [
        lambda text: text.encode(),
        lambda text: ("\ufeff" + text).encode().replace(b"\n", b"\r\n"),
        lambda text: text.encode("utf-16"),
        lambda text: gzip.compress(text.encode()),
    ],
    ids=["plain", "Windows", "UTF-16", "gzip"],
)
def test_a_list_in_any_dress_carries_its_weights(pack):
    meant = from_domains.intend(pack("rank,domain,DE,US\n1,a.example,4,6\n2,b.example,1,1\n"), {})
    assert (meant.plan.accepted, meant.audience) == (2, {"DE": 5.0, "US": 7.0})


@pytest.mark.parametrize(
    "data",
    [
        b"rank,domain,DE\n1,a.example,1\n2," + b"b" * 200_000 + b",5\n",
        b'rank,domain,DE\n1,a.example,1\n2,"' + b"b\n" * 100_000,
    ],
)
def test_a_line_without_end_is_refused_by_its_number(data):
    with pytest.raises(BadInput, match="line 3"):
        from_domains.intend(data, {})


def test_nobody_is_led_to_less_than_they_have():
    sizes = [
        {"k": k, "regions": ["r"] * k, "value": v, "gain": {"beyond_noise": k != 2}}
        for k, v in ((1, 120.0), (2, 90.0), (3, 50.0), (4, 49.0))
    ]
    told = {"results": sizes, "objective": {"measure": "latency"}}
    assert choose_size({**told, "current": None}, "") == 1
    assert choose_size({**told, "current": {"value": 101.0}}, "") == 3
    assert choose_size({**told, "current": {"value": 1.0}}, "") == 1
    assert choose_size({**told, "current": {"value": 101.0}}, "1") == 1
    faster = {**told, "objective": {"measure": "throughput"}, "current": {"value": 100.0}}
    assert choose_size(faster, "") == 1


def test_what_serves_after_a_loss_is_a_control():
    asked = QueryDict("set=1&after_loss_ms=200&after_loss_share=0.05")
    assert read_constraints(asked, {}) == {"after_loss_ms": 200, "after_loss_share": 0.05}
    assert read_constraints(QueryDict("set=1&after_loss_ms=&after_loss_share=0.05"), {}) == {}
    both = {"after_loss_ms": 200, "after_loss_share": 0.05}
    assert read_constraints(QueryDict("set=1"), both) == {
        "after_loss_ms": None,
        "after_loss_share": None,
    }
    kept = controls({"after_loss_ms": 150.0, "after_loss_share": 0.02}, [])
    assert kept.after_loss_ms == "150"
    assert [c.label for c in kept.after_loss_share if c.is_on] == ["98 %"]


def audience_file(data, name="clients.csv", **more):
    return {"audience_file": SimpleUploadedFile(name, data), **more}


def test_an_analytics_table_is_an_audience_and_the_page_states_what_is_modelled():
    table = b"Country,City,Active users\nGermany,Berlin,120\nJapan,(not set),60\n(not set),,5\n"
    reply = Client().post("/recommendations/clients/", audience_file(table))
    text = " ".join(Client().get(reply["Location"]).content.decode().split())
    row = Recommendation.objects.get()
    assert row.source["audience"] == {"DE/Berlin": 120.0, "JP": 60.0}
    assert row.source["basis"]["shares"]["modelled"] == 1
    assert (
        "Read from an analytics table, weighed by Active users: 180 with a place, 5 without" in text
    )
    assert "DE/Berlin" in text
    assert "Modelled, not measured" in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (audience_file(b"country,users\nDE,1\nAtlantis,2\n"), "Line 3: &#x27;Atlantis&#x27; is no"),
        (audience_file(b'[{"country": "??"}]'), "Probe 1 has no country"),
        (
            audience_file(b'192.0.2.1 - - [10/Oct/2023:13:55:36 +0000] "GET /"\n'),
            "geolocation import",
        ),
        (audience_file(b" "), "file is empty"),
        (audience_file(b"DE 4\n", audience="DE 3"), "Give the clients once"),
        (audience_file(b"DE 4\n", by="planet"), "planet"),
    ],
)
def test_a_wrong_file_of_clients_is_refused_with_line_and_reason(given, words):
    reply = Client().post("/recommendations/clients/", given)
    assert reply.status_code == 422
    assert words.lower() in reply.content.decode().lower()
    assert not Recommendation.objects.exists()


def test_a_plan_needs_no_account_and_is_kept_for_who_signs_in():
    stranger = Client()
    form = {"domains": "shop.example\nnews.example", "audience": "DE 40\nUS 35", "name": "Shops"}
    text = stranger.post("/recommendations/domains/", form).content.decode()
    assert "2 domains, about" in text
    assert "Needs an account" in text
    plan = dict(re.findall(r'name="(draft|name|once|source)"\s+value="([^"]*)"', text))
    sent = stranger.post("/recommendations/domains/start/", {**plan, "audience": "DE 40\nUS 35"})
    assert Survey.objects.count() == 0
    assert sent["Location"].startswith("/sign-in/?next=%2Frecommendations%2Fdomains%2F%3Fdraft")
    assert "Nothing has been measured yet" in stranger.get(sent["Location"]).content.decode()
    back = parse_qs(urlsplit(sent["Location"]).query)["next"][0]
    again = member("olga").get(back).content.decode()
    assert "2 domains, about" in again
    assert "Germany 53.3" in again
    assert "Needs an account" not in again


def test_constraints_of_the_form_stay_with_the_plan_and_its_question():
    ada = member("ada")
    form = {
        "domains": "shop.example\nnews.example",
        "audience": "DE 40\nUS 35",
        "country": "de, ie",
        "continent": ["asia", "europe"],
        "min_zones": "2",
        "joint_budget": "5",
    }
    text = ada.post("/recommendations/domains/", form).content.decode()
    assert "Regions in DE, IE, asia, europe only; at least 2 zones" in " ".join(text.split())
    fields = re.findall(r'type="hidden"\s+name="(\w+)"\s+value="([^"]*)"', text)
    plan = QueryDict(mutable=True)
    for name, value in fields:
        plan.appendlist(name, value)
    query = plan.urlencode() + "&audience=DE+40"
    kind = "application/x-www-form-urlencoded"
    signed_out = Client().post("/recommendations/domains/start/", query, content_type=kind)
    back = parse_qs(urlsplit(signed_out["Location"]).query)["next"][0]
    assert "at least 2 zones" in member("olga").get(back).content.decode()
    ada.post("/recommendations/domains/start/", query, content_type=kind)
    row = Recommendation.objects.get()
    assert row.options == {
        "country": ["DE", "IE"],
        "continent": ["asia", "europe"],
        "min_zones": 2,
        "joint_budget": 5,
    }
    Survey.objects.filter(pk=row.survey_id).update(state="finished")
    celery_tasks.arrive(row.survey_id)
    row.refresh_from_db()
    assert "no domain of the survey" in row.error


def test_clients_keep_to_their_constraints():
    asked = {"audience": "JP 1", "continent": "europe", "min_zones": "1"}
    Client().post("/recommendations/clients/", asked)
    row = Recommendation.objects.get()
    places = {p["region"]: p for p in row.result["consequences"]["inputs"]["places"]}
    chosen = {name for result in row.result["results"] for name in result["regions"]}
    assert {places[name]["continent"] for name in chosen} == {"europe"}
    page = Client().get(f"/recommendations/{row.token}/").content.decode()
    assert re.search(r'name="continent"\s+value="europe" checked', page)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"min_isps": "2"}, "campaign with traceroutes"),
        ({"min_zones": "3"}, "2 of each region are assumed"),
        ({"country": "DE,XX"}, "o region is in the country"),
        ({"joint_budget": "1"}, "2 domains need 2 regions"),
        ({"continent": "atlantis"}, "atlantis"),
    ],
)
def test_a_constraint_that_cannot_be_met_is_refused_before_the_survey(given, words):
    form = {"domains": "shop.example\nnews.example", **given}
    reply = Client().post("/recommendations/domains/", form)
    assert reply.status_code == 422
    assert words in reply.content.decode()
    assert f'name="{next(iter(given))}"' in reply.content.decode()


def test_a_joint_budget_is_divided_anew_on_the_page():
    table = SimpleUploadedFile("domains.csv", b"domain,region\none.example,a\ntwo.example,b\n")
    page = ask(Client(), TWO, domains=table)["Location"]
    text = Client().get(f"{page}?set=1&joint_budget=3&part=curve").content.decode()
    assert "divided among 2" in text
    refused = Client().get(f"{page}?set=1&joint_budget=1").content.decode()
    assert "2 deployments need 2 regions at least" in refused
    assert 'name="min_isps"' not in refused
    assert 'name="min_zones"' in refused
