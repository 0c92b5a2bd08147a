"""What a second tenant would try: parameters, replays, tags, kept pages, guessed names."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from core.errors import BadInput
from tasks.surveys import derived
from tests.pages import cast
from tests.tenants.conftest import DOMAIN, NAME, PRIVATE, TenantAccounts
from tests.tenants.routes import every_address
from webapp.store.access import sharing, token_subjects, tokens
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


def test_a_repeated_key_is_its_owners_own(
    accounts: TenantAccounts, servers: None, settings: Any
) -> None:
    settings.MAX_ACTIVE_SURVEYS = 9
    client = Client()
    hers = start(client, accounts.anna_token, "k", name="Secret").json()["id"]
    assert start(client, accounts.anna_token, "k", name="Secret").json()["id"] == hers
    others = [start(client, accounts.bert_token, "k"), start(client, "", "k")]
    assert all(r.status_code == 202 and r.json()["id"] != hers for r in others)
    assert others[0].json()["id"] != others[1].json()["id"]
    too_long = start(client, accounts.anna_token, "k" * 121)
    assert too_long.status_code == 422


def test_what_an_account_starts_is_private_unless_it_says_so(
    accounts: TenantAccounts, servers: None
) -> None:
    made = start(Client(), accounts.anna_token, name="Quiet").json()
    assert made["is_public"] is False
    assert Client().get(f"{SURVEYS}/{made['id']}").status_code == 404
    loud = start(Client(), accounts.anna_token, name="Loud", public=True).json()
    assert Client().get(f"{SURVEYS}/{loud['id']}").json()["is_public"] is True


def test_a_name_tells_nothing_of_another_with_the_same(
    accounts: TenantAccounts, servers: None
) -> None:
    first = start(Client(), accounts.anna_token, name="Acme").json()["id"]
    assert start(Client(), name="Acme").json()["id"] == "acme"
    assert re.fullmatch(r"acme-[0-9a-f]{10}", first)


def test_an_account_has_a_limit_of_its_own(
    accounts: TenantAccounts, servers: None, settings: Any
) -> None:
    settings.MAX_ACTIVE_SURVEYS, settings.MAX_ACTIVE_SURVEYS_PER_USER = 9, 1
    assert start(Client(), accounts.anna_token).status_code == 202
    refused = start(Client(), accounts.anna_token)
    assert (refused.status_code, "of your surveys" in refused.json()["detail"]) == (429, True)
    assert start(Client(), accounts.bert_token).status_code == 202


def test_surveys_without_a_name_can_be_forbidden(
    accounts: TenantAccounts, servers: None, settings: Any
) -> None:
    settings.ANONYMOUS_SURVEYS = False
    assert start(Client()).status_code == 401
    assert start(Client(), accounts.anna_token).status_code == 202
    for path in ("/surveys/new/", "/surveys/run/"):
        assert Client().get(path).status_code == 302
        assert Client().post(path)["Location"].startswith("/sign-in/")


def test_kept_pages_are_kept_for_one_reader(accounts: TenantAccounts) -> None:
    path = f"/s/{accounts.survey.private.slug}/reports/regions/"
    anna, bert = accounts.client(accounts.anna), accounts.client(accounts.bert)
    hers = anna.get(path)
    assert (hers.status_code, hers["Vary"]) == (200, "Accept-Encoding, Cookie")
    assert "private" in hers["Cache-Control"]
    for stranger in (bert, Client()):
        # Neither the page nor, to one who guessed its content, that it is the same.
        for headers in ({}, {"If-None-Match": hers["ETag"]}, {"If-None-Match": "*"}):
            assert stranger.get(path, headers=headers).status_code == 404
    sharing.publish(accounts.survey.private)
    seen = bert.get(path)
    assert seen.status_code == 200
    assert "anna" not in seen.content.decode()
    sharing.withdraw(Survey.objects.get(pk=accounts.survey.private.pk))
    assert bert.get(path).status_code == 404
    assert anna.get(path).status_code == 200


def test_a_page_kept_for_nobody_names_nobody(accounts: TenantAccounts) -> None:
    path = f"/s/{accounts.survey.public.slug}/reports/providers/"
    for client in (accounts.client(accounts.anna), Client(), accounts.client(accounts.bert)):
        text = client.get(path).content.decode()
        who = {"anna": "Account anna" in text, "bert": "Account bert" in text}
        user = client.session.get("_auth_user_id")
        wanted = {"anna": user == str(accounts.anna.pk), "bert": user == str(accounts.bert.pk)}
        assert who == wanted


def test_tags_tell_strangers_nothing(accounts: TenantAccounts) -> None:
    hers = accounts.client(accounts.anna).get(f"{SURVEYS}/{accounts.survey.private.slug}")
    headers = {"If-None-Match": hers["ETag"]}
    assert (
        accounts.client(accounts.anna).get(hers.request["PATH_INFO"], headers=headers).status_code
        == 304
    )
    assert Client().get(hers.request["PATH_INFO"], headers=headers).status_code == 404


def test_a_comparison_with_anothers_survey_is_not_there(accounts: TenantAccounts) -> None:
    own = cast.atlas("Of Bert")
    Survey.objects.filter(pk=own.pk).update(owner=accounts.bert, maker=accounts.bert)
    derived.compare_surveys(Survey.objects.get(pk=own.pk), accounts.survey.private)
    bert = accounts.client(accounts.bert)
    for pair in (
        (own.slug, accounts.survey.private.slug),
        (accounts.survey.private.slug, own.slug),
    ):
        base = "/".join(pair)
        for path in (f"/compare/{base}/", f"/compare/{base}/moves/", f"/api/v1/compare/{base}"):
            assert bert.get(path, {"dimension": "regions"}).status_code == 404
    chosen = bert.get("/compare/", {"before": own.slug, "after": accounts.survey.private.slug})
    assert (chosen.status_code, NAME in chosen.content.decode()) == (200, False)


def test_a_history_holds_only_what_its_reader_may_see(accounts: TenantAccounts) -> None:
    derived.index_survey(accounts.survey.private)
    path = f"/api/v1/domains/{DOMAIN}/history"
    hers = accounts.client(accounts.anna).get(path).json()["results"]
    assert [v["survey"] for v in hers] == [accounts.survey.private.slug]
    never = Client().get("/api/v1/domains/unasked.example/history")
    for client in (accounts.client(accounts.bert), Client()):
        found = client.get(path)
        assert found.status_code == 404
        assert found.content.replace(DOMAIN.encode(), b"unasked.example") == never.content
    other = cast.atlas("Of everybody")
    derived.index_survey(Survey.objects.get(pk=other.pk))
    text = Client().get(f"/s/{other.slug}/domains/{DOMAIN}/history/").content.decode()
    assert "seen by one survey so far" in text
    assert accounts.survey.private.slug not in text


def test_the_search_never_leads_to_it(accounts: TenantAccounts) -> None:
    for client in (accounts.client(accounts.bert), Client()):
        hit = client.get("/search/", {"survey": accounts.survey.private.slug, "q": DOMAIN})
        miss = client.get("/search/", {"survey": "nothing-at-all", "q": DOMAIN})
        assert hit["Location"] == miss["Location"]


def test_the_front_page_is_each_readers_own(accounts: TenantAccounts) -> None:
    assert NAME in accounts.client(accounts.anna).get("/").content.decode()
    assert NAME not in Client().get("/").content.decode()


def test_only_its_maker_changes_a_survey(accounts: TenantAccounts, servers: None) -> None:
    sharing.publish(accounts.survey.private)
    path = f"{SURVEYS}/{accounts.survey.private.slug}"
    bearer = {"Authorization": f"Bearer {accounts.bert_token}"}
    for client, headers in (
        (Client(), {}),
        (Client(), bearer),
        (accounts.client(accounts.bert), {}),
    ):
        body = {"content_type": "application/json", "headers": headers}
        refused = 403 if headers or client.cookies else 401
        assert client.put(f"{path}/visibility", HIDE, **body).status_code == refused
        assert client.post(f"{path}/cancel", headers=headers).status_code == 403
        assert client.post(f"/s/{accounts.survey.private.slug}/cancel/").status_code == 403
        assert client.get(f"/s/{accounts.survey.private.slug}/sharing/").status_code == 404
    mine = {"Authorization": f"Bearer {accounts.anna_token}"}
    hidden = Client().put(f"{path}/visibility", HIDE, "application/json", headers=mine)
    assert hidden.json()["is_public"] is False
    assert Client().get(path).status_code == 404


def test_a_token_that_reads_changes_nothing(accounts: TenantAccounts, servers: None) -> None:
    reads = tokens.issue(accounts.anna, "reader", "read")[1]
    bearer = {"Authorization": f"Bearer {reads}"}
    path = f"{SURVEYS}/{accounts.survey.private.slug}"
    assert Client().get(path, headers=bearer).status_code == 200
    assert start(Client(), reads).status_code == 403
    assert Client().post(f"{path}/cancel", headers=bearer).status_code == 403


@pytest.mark.parametrize("header", ["Bearer x", "Bearer", "Basic YTpi", "Bearer neph_", "nonsense"])
def test_a_wrong_token_is_never_taken_for_none(accounts: TenantAccounts, header: str) -> None:
    answer = Client().get(SURVEYS, headers={"Authorization": header})
    assert answer.status_code == 401
    assert "Bearer" in answer["WWW-Authenticate"]


def test_a_token_ends_with_its_account_its_time_or_its_revocation(accounts: TenantAccounts) -> None:
    def status() -> int:
        bearer = {"Authorization": f"Bearer {accounts.anna_token}"}
        return Client().get("/api/v1/account", headers=bearer).status_code

    assert status() == 200
    ApiToken.objects.filter(owner=accounts.anna).update(expires_at=cast.THEN)
    assert status() == 401
    ApiToken.objects.filter(owner=accounts.anna).update(expires_at=None)
    accounts.anna.is_active = False
    accounts.anna.save()
    assert status() == 401
    accounts.anna.is_active = True
    accounts.anna.save()
    assert status() == 200
    row = tokens.live(accounts.anna).get()
    assert (
        accounts.client(accounts.bert).post(f"/account/tokens/{row.pk}/revoke/").status_code == 404
    )
    assert status() == 200
    assert (
        accounts.client(accounts.anna).post(f"/account/tokens/{row.pk}/revoke/").status_code == 302
    )
    assert status() == 401


def test_a_link_ends_when_it_is_taken_back(accounts: TenantAccounts) -> None:
    path = f"/shared/{accounts.survey.link}/s/{accounts.survey.private.slug}/"
    link = ShareLink.objects.get(survey=accounts.survey.private)
    reader = SharedReader(link)
    assert Client().get(path).status_code == 200
    assert visible(Survey.objects.all(), reader).get() == accounts.survey.private
    assert (
        accounts.client(accounts.bert).post(f"/account/links/{link.pk}/revoke/").status_code == 404
    )
    assert (
        accounts.client(accounts.anna).post(f"/account/links/{link.pk}/revoke/").status_code == 302
    )
    assert Client().get(path).status_code == 404
    assert not visible(Survey.objects.all(), reader).exists()


def test_a_link_that_is_over_is_like_one_that_never_was(accounts: TenantAccounts) -> None:
    ShareLink.objects.update(expires_at=cast.THEN)
    over = Client().get(f"/shared/{accounts.survey.link}/s/{accounts.survey.private.slug}/")
    never = Client().get(
        f"/shared/{'A' * len(accounts.survey.link)}/s/{accounts.survey.private.slug}/"
    )
    assert (over.status_code, over.content) == (404, never.content)


def test_a_link_leads_to_its_survey_and_says_that_it_is_shared(accounts: TenantAccounts) -> None:
    front = Client().get(f"/shared/{accounts.survey.link}/")
    assert front["Location"] == f"/shared/{accounts.survey.link}/s/{accounts.survey.private.slug}/"
    text = Client().get(front["Location"]).content.decode()
    assert "A shared survey" in text
    assert "Shared with you" in text
    found = Client().get(f"/shared/{accounts.survey.link}/search/", {"q": "hao"})
    assert (
        found["Location"]
        == f"/shared/{accounts.survey.link}/s/{accounts.survey.private.slug}/domains/?q=hao"
    )
    listed = (
        Client()
        .get(f"/shared/{accounts.survey.link}/api/v1/surveys/{accounts.survey.private.slug}")
        .json()
    )
    assert listed["links"]["self"].startswith(f"/shared/{accounts.survey.link}/api/v1/")
    # The prefix is gone again for whoever comes next.
    assert Client().get("/search/", {"q": "x"})["Location"].startswith("/s/")


def test_neither_session_nor_token_widens_a_link(accounts: TenantAccounts) -> None:
    bearer = {"Authorization": f"Bearer {accounts.anna_token}"}
    inside = f"/shared/{accounts.survey.other_link}"
    for path in (
        f"/s/{accounts.survey.private.slug}/",
        f"/api/v1/surveys/{accounts.survey.private.slug}",
    ):
        assert accounts.client(accounts.anna).get(inside + path, headers=bearer).status_code == 404
    assert Client().get(f"{inside}/api/v1/account", headers=bearer).status_code == 404


def test_a_plan_is_its_senders_own(settings: Any, tmp_path: Any) -> None:
    settings.UPLOADS_DIR = tmp_path
    first, second = (drafts.save_draft(b"a.example\n") for _ in range(2))
    assert first != second
    assert drafts.load_draft(first) == b"a.example\n"


def test_the_database_opens_nothing(accounts: TenantAccounts) -> None:
    from django.core import serializers

    models = (ApiToken, ShareLink, Survey, type(accounts.anna))
    dump = "".join(serializers.serialize("json", m.objects.all()) for m in models)
    for secret in (
        accounts.anna_token,
        accounts.bert_token,
        accounts.survey.link,
        accounts.survey.other_link,
    ):
        assert secret not in dump
        assert secret[14:] not in dump
    assert accounts.anna_token[:9] in dump


def test_the_operators_list_goes_on_with_no_tenants_survey(accounts: TenantAccounts) -> None:
    maker = services.Requester(user=accounts.anna)
    made = services.create_survey(b"a.example\n", name="Same", n_words=2, maker=maker)
    assert services.find_unfinished("Same", b"a.example\n") is None
    assert made.owner == accounts.anna


@pytest.mark.parametrize("site", ["cross-site", None])
def test_another_site_changes_nothing_through_a_browser(
    accounts: TenantAccounts, servers: None, site: str | None
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(accounts.anna)
    # What a form of another site may send without being asked first.
    more = {"Sec-Fetch-Site": site} if site else {}
    body = json.dumps({"domains": "a.example"})
    assert client.post(SURVEYS, body, "text/plain", headers=more).status_code == 403
    # Who is not signed in has nothing to lose but the installation's good name.
    expected = 403 if site else 202
    assert Client().post(SURVEYS, body, "text/plain", headers=more).status_code == expected


def test_a_limited_token_opens_its_subjects_alone(accounts: TenantAccounts) -> None:
    _, secret = tokens.issue(accounts.anna, "audits", "write", subjects=["audits"])
    client, headers = accounts.client(), {"Authorization": f"Bearer {secret}"}
    for path in ("audits", "audit-rules", "account", "limits", "openapi.json"):
        assert client.get(f"/api/v1/{path}", headers=headers).status_code == 200, path
    found = client.get("/api/v1/account", headers=headers).json()["token"]
    assert (found["scope"], found["subjects"]) == ("write", ["audits"])
    for address in every_address():
        part = address.route.split("/")[2] if address.is_api else "account"
        if part in ("", "account", "docs", "limits", "openapi.json", "problems"):
            continue
        answer = client.get(address.fill(accounts.values(PRIVATE, address.of)), headers=headers)
        is_own = part in token_subjects.SUBJECTS["audits"]
        is_refused = answer.status_code == 403 and b"limited-token" in answer.content
        assert is_refused is not is_own, (address.route, answer.status_code)
    with pytest.raises(BadInput, match="is not one of"):
        tokens.issue(accounts.anna, "x", "read", subjects=["everything"])


def test_every_operation_has_a_subject_or_is_open_to_all_tokens() -> None:
    known = {part for parts in token_subjects.SUBJECTS.values() for part in parts}
    used = {a.route.split("/")[2] for a in every_address() if a.is_api}
    assert used - known == {"", "account", "docs", "limits", "openapi.json", "problems"}
    assert known <= used
