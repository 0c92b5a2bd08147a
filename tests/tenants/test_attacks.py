"""What a second tenant would try: parameters, replays, tags, kept pages, guessed names."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from tasks.surveys import derived
from tests.pages import cast
from tests.tenants.conftest import DOMAIN, NAME, Town
from webapp.store.access import sharing, tokens
from webapp.store.access.visibility import SharedReader, visible
from webapp.store.models import ApiToken, ShareLink, Survey
from webapp.store.surveys import drafts, services

SURVEYS = "/api/v1/surveys"
HIDE = '{"public": false}'


@pytest.fixture
def servers(settings: Any) -> None:
    settings.NAME_SERVERS = ["127.0.0.1:9"]


def start(client: Client, token: str = "", key: str = "", **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if key:
        headers["Idempotency-Key"] = key
    given = {"domains": ["a.example"], **body}
    return client.post(SURVEYS, json.dumps(given), "application/json", headers=headers)


def test_a_repeated_key_is_its_owners_own(town: Town, servers: None, settings: Any) -> None:
    settings.MAX_ACTIVE_SURVEYS = 9
    client = Client()
    hers = start(client, town.anna_token, "k", name="Secret").json()["id"]
    assert start(client, town.anna_token, "k", name="Secret").json()["id"] == hers
    others = [start(client, town.bert_token, "k"), start(client, "", "k")]
    assert all(r.status_code == 202 and r.json()["id"] != hers for r in others)
    assert others[0].json()["id"] != others[1].json()["id"]
    too_long = start(client, town.anna_token, "k" * 121)
    assert too_long.status_code == 422


def test_what_an_account_starts_is_private_unless_it_says_so(town: Town, servers: None) -> None:
    made = start(Client(), town.anna_token, name="Quiet").json()
    assert made["is_public"] is False
    assert Client().get(f"{SURVEYS}/{made['id']}").status_code == 404
    loud = start(Client(), town.anna_token, name="Loud", public=True).json()
    assert Client().get(f"{SURVEYS}/{loud['id']}").json()["is_public"] is True


def test_a_name_tells_nothing_of_another_with_the_same(town: Town, servers: None) -> None:
    first = start(Client(), town.anna_token, name="Acme").json()["id"]
    assert start(Client(), name="Acme").json()["id"] == "acme"
    assert re.fullmatch(r"acme-[0-9a-f]{10}", first)


def test_an_account_has_a_limit_of_its_own(town: Town, servers: None, settings: Any) -> None:
    settings.MAX_ACTIVE_SURVEYS, settings.MAX_ACTIVE_SURVEYS_PER_USER = 9, 1
    assert start(Client(), town.anna_token).status_code == 202
    refused = start(Client(), town.anna_token)
    assert (refused.status_code, "of yours" in refused.json()["detail"]) == (429, True)
    assert start(Client(), town.bert_token).status_code == 202


def test_surveys_without_a_name_can_be_forbidden(town: Town, servers: None, settings: Any) -> None:
    settings.ANONYMOUS_SURVEYS = False
    assert start(Client()).status_code == 401
    assert start(Client(), town.anna_token).status_code == 202
    for path in ("/surveys/new/", "/surveys/run/"):
        assert Client().get(path).status_code == 302
        assert Client().post(path)["Location"].startswith("/sign-in/")


def test_kept_pages_are_kept_for_one_reader(town: Town) -> None:
    path = f"/s/{town.survey.private.slug}/reports/regions/"
    anna, bert = town.client(town.anna), town.client(town.bert)
    hers = anna.get(path)
    assert (hers.status_code, hers["Vary"]) == (200, "Accept-Encoding, Cookie")
    assert "private" in hers["Cache-Control"]
    for stranger in (bert, Client()):
        # Neither the page nor, to one who guessed its content, that it is the same.
        for headers in ({}, {"If-None-Match": hers["ETag"]}, {"If-None-Match": "*"}):
            assert stranger.get(path, headers=headers).status_code == 404
    sharing.publish(town.survey.private)
    seen = bert.get(path)
    assert seen.status_code == 200
    assert "anna" not in seen.content.decode()
    sharing.withdraw(Survey.objects.get(pk=town.survey.private.pk))
    assert bert.get(path).status_code == 404
    assert anna.get(path).status_code == 200


def test_a_page_kept_for_nobody_names_nobody(town: Town) -> None:
    path = f"/s/{town.survey.public.slug}/reports/providers/"
    for client in (town.client(town.anna), Client(), town.client(town.bert)):
        text = client.get(path).content.decode()
        who = {"anna": "Account anna" in text, "bert": "Account bert" in text}
        user = client.session.get("_auth_user_id")
        wanted = {"anna": user == str(town.anna.pk), "bert": user == str(town.bert.pk)}
        assert who == wanted


def test_tags_tell_strangers_nothing(town: Town) -> None:
    hers = town.client(town.anna).get(f"{SURVEYS}/{town.survey.private.slug}")
    headers = {"If-None-Match": hers["ETag"]}
    assert town.client(town.anna).get(hers.request["PATH_INFO"], headers=headers).status_code == 304
    assert Client().get(hers.request["PATH_INFO"], headers=headers).status_code == 404


def test_a_comparison_with_anothers_survey_is_not_there(town: Town) -> None:
    own = cast.atlas("Of Bert")
    Survey.objects.filter(pk=own.pk).update(owner=town.bert, maker=town.bert)
    derived.compare_surveys(Survey.objects.get(pk=own.pk), town.survey.private)
    bert = town.client(town.bert)
    for pair in ((own.slug, town.survey.private.slug), (town.survey.private.slug, own.slug)):
        base = "/".join(pair)
        for path in (f"/compare/{base}/", f"/compare/{base}/moves/", f"/api/v1/compare/{base}"):
            assert bert.get(path, {"dimension": "regions"}).status_code == 404
    chosen = bert.get("/compare/", {"before": own.slug, "after": town.survey.private.slug})
    assert (chosen.status_code, NAME in chosen.content.decode()) == (200, False)


def test_a_history_holds_only_what_its_reader_may_see(town: Town) -> None:
    derived.index_survey(town.survey.private)
    path = f"/api/v1/domains/{DOMAIN}/history"
    hers = town.client(town.anna).get(path).json()["results"]
    assert [v["survey"] for v in hers] == [town.survey.private.slug]
    never = Client().get("/api/v1/domains/unasked.example/history")
    for client in (town.client(town.bert), Client()):
        found = client.get(path)
        assert found.status_code == 404
        assert found.content.replace(DOMAIN.encode(), b"unasked.example") == never.content
    other = cast.atlas("Of everybody")
    derived.index_survey(Survey.objects.get(pk=other.pk))
    text = Client().get(f"/s/{other.slug}/domains/{DOMAIN}/history/").content.decode()
    assert "seen by one survey so far" in text
    assert town.survey.private.slug not in text


def test_the_search_never_leads_to_it(town: Town) -> None:
    for client in (town.client(town.bert), Client()):
        hit = client.get("/search/", {"survey": town.survey.private.slug, "q": DOMAIN})
        miss = client.get("/search/", {"survey": "nothing-at-all", "q": DOMAIN})
        assert hit["Location"] == miss["Location"]


def test_the_front_page_is_each_readers_own(town: Town) -> None:
    assert NAME in town.client(town.anna).get("/").content.decode()
    assert NAME not in Client().get("/").content.decode()


def test_only_its_maker_changes_a_survey(town: Town, servers: None) -> None:
    sharing.publish(town.survey.private)
    path = f"{SURVEYS}/{town.survey.private.slug}"
    bearer = {"Authorization": f"Bearer {town.bert_token}"}
    for client, headers in ((Client(), {}), (Client(), bearer), (town.client(town.bert), {})):
        body = {"content_type": "application/json", "headers": headers}
        assert client.put(f"{path}/visibility", HIDE, **body).status_code == 403
        assert client.post(f"{path}/cancel", headers=headers).status_code == 403
        assert client.post(f"/s/{town.survey.private.slug}/cancel/").status_code == 403
        assert client.get(f"/s/{town.survey.private.slug}/sharing/").status_code == 404
    mine = {"Authorization": f"Bearer {town.anna_token}"}
    hidden = Client().put(f"{path}/visibility", HIDE, "application/json", headers=mine)
    assert hidden.json()["is_public"] is False
    assert Client().get(path).status_code == 404


def test_a_token_that_reads_changes_nothing(town: Town, servers: None) -> None:
    reads = tokens.issue(town.anna, "reader", "read")[1]
    bearer = {"Authorization": f"Bearer {reads}"}
    path = f"{SURVEYS}/{town.survey.private.slug}"
    assert Client().get(path, headers=bearer).status_code == 200
    assert start(Client(), reads).status_code == 403
    assert Client().post(f"{path}/cancel", headers=bearer).status_code == 403


@pytest.mark.parametrize("header", ["Bearer x", "Bearer", "Basic YTpi", "Bearer neph_", "nonsense"])
def test_a_wrong_token_is_never_taken_for_none(town: Town, header: str) -> None:
    answer = Client().get(SURVEYS, headers={"Authorization": header})
    assert answer.status_code == 401
    assert "Bearer" in answer["WWW-Authenticate"]


def test_a_token_ends_with_its_account_its_time_or_its_revocation(town: Town) -> None:
    def status() -> int:
        bearer = {"Authorization": f"Bearer {town.anna_token}"}
        return Client().get("/api/v1/account", headers=bearer).status_code

    assert status() == 200
    ApiToken.objects.filter(owner=town.anna).update(expires_at=cast.THEN)
    assert status() == 401
    ApiToken.objects.filter(owner=town.anna).update(expires_at=None)
    town.anna.is_active = False
    town.anna.save()
    assert status() == 401
    town.anna.is_active = True
    town.anna.save()
    assert status() == 200
    row = tokens.live(town.anna).get()
    assert town.client(town.bert).post(f"/account/tokens/{row.pk}/revoke/").status_code == 404
    assert status() == 200
    assert town.client(town.anna).post(f"/account/tokens/{row.pk}/revoke/").status_code == 302
    assert status() == 401


def test_a_link_ends_when_it_is_taken_back(town: Town) -> None:
    path = f"/shared/{town.survey.link}/s/{town.survey.private.slug}/"
    link = ShareLink.objects.get(survey=town.survey.private)
    reader = SharedReader(link)
    assert Client().get(path).status_code == 200
    assert visible(Survey.objects.all(), reader).get() == town.survey.private
    assert town.client(town.bert).post(f"/account/links/{link.pk}/revoke/").status_code == 404
    assert town.client(town.anna).post(f"/account/links/{link.pk}/revoke/").status_code == 302
    assert Client().get(path).status_code == 404
    assert not visible(Survey.objects.all(), reader).exists()


def test_a_link_that_is_over_is_like_one_that_never_was(town: Town) -> None:
    ShareLink.objects.update(expires_at=cast.THEN)
    over = Client().get(f"/shared/{town.survey.link}/s/{town.survey.private.slug}/")
    never = Client().get(f"/shared/{'A' * len(town.survey.link)}/s/{town.survey.private.slug}/")
    assert (over.status_code, over.content) == (404, never.content)


def test_a_link_leads_to_its_survey_and_says_that_it_is_shared(town: Town) -> None:
    front = Client().get(f"/shared/{town.survey.link}/")
    assert front["Location"] == f"/shared/{town.survey.link}/s/{town.survey.private.slug}/"
    text = Client().get(front["Location"]).content.decode()
    assert "A shared survey" in text
    assert "Shared with you" in text
    found = Client().get(f"/shared/{town.survey.link}/search/", {"q": "hao"})
    assert (
        found["Location"]
        == f"/shared/{town.survey.link}/s/{town.survey.private.slug}/domains/?q=hao"
    )
    listed = (
        Client().get(f"/shared/{town.survey.link}/api/v1/surveys/{town.survey.private.slug}").json()
    )
    assert listed["links"]["self"].startswith(f"/shared/{town.survey.link}/api/v1/")
    # The prefix is gone again for whoever comes next.
    assert Client().get("/search/", {"q": "x"})["Location"].startswith("/s/")


def test_neither_session_nor_token_widens_a_link(town: Town) -> None:
    bearer = {"Authorization": f"Bearer {town.anna_token}"}
    inside = f"/shared/{town.survey.other_link}"
    for path in (f"/s/{town.survey.private.slug}/", f"/api/v1/surveys/{town.survey.private.slug}"):
        assert town.client(town.anna).get(inside + path, headers=bearer).status_code == 404
    assert Client().get(f"{inside}/api/v1/account", headers=bearer).status_code == 404


def test_a_plan_is_its_senders_own(settings: Any, tmp_path: Any) -> None:
    settings.UPLOADS_DIR = tmp_path
    first, second = (drafts.save_draft(b"a.example\n") for _ in range(2))
    assert first != second
    assert drafts.load_draft(first) == b"a.example\n"


def test_the_database_opens_nothing(town: Town) -> None:
    from django.core import serializers

    models = (ApiToken, ShareLink, Survey, type(town.anna))
    dump = "".join(serializers.serialize("json", m.objects.all()) for m in models)
    for secret in (town.anna_token, town.bert_token, town.survey.link, town.survey.other_link):
        assert secret not in dump
        assert secret[14:] not in dump
    assert town.anna_token[:9] in dump


def test_the_operators_list_goes_on_with_no_tenants_survey(town: Town) -> None:
    maker = services.Requester(user=town.anna)
    made = services.create_survey(b"a.example\n", name="Same", n_words=2, maker=maker)
    assert services.find_unfinished("Same", b"a.example\n") is None
    assert made.owner == town.anna


@pytest.mark.parametrize("site", ["cross-site", None])
def test_another_site_changes_nothing_through_a_browser(
    town: Town, servers: None, site: str | None
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(town.anna)
    # What a form of another site may send without being asked first.
    more = {"Sec-Fetch-Site": site} if site else {}
    body = json.dumps({"domains": "a.example"})
    assert client.post(SURVEYS, body, "text/plain", headers=more).status_code == 403
    # Who is not signed in has nothing to lose but the installation's good name.
    expected = 403 if site else 202
    assert Client().post(SURVEYS, body, "text/plain", headers=more).status_code == expected
