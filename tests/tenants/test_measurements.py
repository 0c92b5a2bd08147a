"""Measurement campaigns that are published, shared by links and deleted by who made them."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from lake.campaigns import table_of
from lake.parts import part_path, write_part
from tasks.campaigns import commands
from tests.pages.campaigns import campaign_cast
from tests.tasks.campaigns.field import Field, join, targets
from tests.tenants.conftest import NAME, PRIVATE, TenantAccounts
from webapp.store.access import sharing, tokens
from webapp.store.accounts import deletion
from webapp.store.campaigns import selectors, services
from webapp.store.models import Campaign, CampaignUnit, ShareLink, VantagePoint

PAGE, API = f"/wide-area/{PRIVATE}/", f"/api/v1/measurements/{PRIVATE}"
ROUTE = {
    "vantage": "v-one",
    "target": "t",
    "provider": "aws",
    "region": "us-east-1",
    "at": 0,
    "probe": "traceroute",
    "direction": "to",
    "source": "203.0.113.77",
    "destination": "8.8.8.8",
    "hops": [{"ttl": 1, "address": "203.0.113.1", "rtt_ms": 1.0}],
}


def bearer(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}, "content_type": "application/json"}


def below(link: str, path: str = PAGE) -> str:
    return f"/shared/{link}{path}"


def links_on(page: Any) -> list[str]:
    found = page.content.decode().split('data-copy="http://testserver')[1:]
    return [part.partition('"')[0] for part in found]


def test_its_maker_makes_a_link_and_takes_it_back(accounts: TenantAccounts) -> None:
    anna, nobody = accounts.client(accounts.anna), Client()
    page = anna.get(f"{PAGE}sharing/")
    (kept,) = links_on(page)
    assert "You and anyone with the link see this campaign" in page.content.decode()
    assert anna.post(f"{PAGE}sharing/links/", {"days": "9"}).status_code == 422
    made = anna.post(f"{PAGE}sharing/links/", {"days": "7"})
    assert made["Location"] == f"{PAGE}sharing/"
    new, old = links_on(anna.get(made["Location"]))
    assert old == kept
    row = ShareLink.objects.filter(campaign=accounts.campaign.private).first()
    assert timedelta(days=6) < row.expires_at - timezone.now() < timedelta(days=8)
    # The account page tells of links to things of every kind.
    account = anna.get("/account/")
    others = {f"/shared/{thing.link}/" for thing in (accounts.survey, accounts.audit)}
    assert {new, old} | others == {*links_on(account)}
    assert account.content.decode().count(NAME) > 4
    front = nobody.get(new)
    assert front["Location"] == f"{new.rstrip('/')}{PAGE}"
    assert nobody.get(new.rstrip("/"))["Location"] == front["Location"]
    shown = nobody.get(front["Location"]).content.decode()
    assert "A shared campaign" in shown
    assert "Shared with you, to read" in shown
    for word in ("Sharing", "anna", "New survey", "Find a domain"):
        assert word not in shown, word
    taken = anna.post(f"/account/links/{row.pk}/revoke/", {"back": "thing"})
    assert taken["Location"] == f"{PAGE}sharing/"
    assert nobody.get(front["Location"]).status_code == 404
    assert nobody.get(below(accounts.campaign.link)).status_code == 200


@pytest.mark.parametrize("how", ["expired", "closed"])
def test_a_link_that_is_over_is_like_one_that_never_was(accounts: TenantAccounts, how: str) -> None:
    path = below(accounts.campaign.link)
    assert Client().get(path).status_code == 200
    if how == "expired":
        ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        get_user_model().objects.filter(pk=accounts.anna.pk).update(is_active=False)
    over, never = Client().get(path), Client().get(below("A" * 43))
    assert (over.status_code, over.content) == (404, never.content)


def test_files_come_below_the_link_as_they_come_to_its_maker(accounts: TenantAccounts) -> None:
    anna, nobody = accounts.client(accounts.anna), Client()
    base, pair = f"/api/v1/wide-area/{PRIVATE}", "vantage=v-one&region=us-east-1"
    for name in (
        "tables/latency-grid.csv",
        "tables/latency-regions.parquet",
        f"samples.csv?{pair}",
        f"samples.jsonl?{pair}",
    ):
        shared = nobody.get(below(accounts.campaign.link, f"{base}/{name}"))
        assert shared.status_code == 200, name
        assert shared.content == anna.get(f"{base}/{name}").content, name
    rows = list(
        csv.DictReader(
            io.StringIO(
                nobody.get(
                    below(accounts.campaign.link, f"{base}/samples.csv?{pair}")
                ).content.decode()
            )
        )
    )
    assert [r["values"] for r in rows] == ["[12.5, 13.5]", "[13.5, 13.5]"]
    lines = nobody.get(below(accounts.campaign.link, f"{base}/samples.jsonl?{pair}")).content
    assert json.loads(lines.splitlines()[0])["at"] == "2023-11-14T22:13:20+00:00"
    for path in (base, API):
        told = nobody.get(below(accounts.campaign.link, path)).json()
        assert (told["page"], told["is_public"]) == (below(accounts.campaign.link), False)
    method = nobody.get(below(accounts.campaign.link, f"{PAGE}method/")).content.decode()
    assert f'href="{below(accounts.campaign.link, base)}/tables/latency-grid.csv"' in method


def test_published_it_is_everybodys_to_read_and_its_makers_to_change(
    accounts: TenantAccounts,
) -> None:
    anna, bert = accounts.client(accounts.anna), accounts.client(accounts.bert)
    shown = f"{PAGE}sharing/visibility/"
    assert anna.post(shown, {"public": "yes"})["Location"] == f"{PAGE}sharing/"
    assert "Everyone" in anna.get(f"{PAGE}sharing/").content.decode()
    for client in (bert, Client()):
        assert client.get(PAGE).status_code == 200
        assert NAME in client.get("/wide-area/").content.decode()
        assert "Sharing" not in client.get(PAGE).content.decode()
        assert client.get(f"{PAGE}sharing/").status_code == 404
        assert client.post(shown, {"public": "no"}).status_code in (302, 404)
    assert bert.post(f"{PAGE}do/stop/").status_code == 403
    assert "Measure again" in anna.get(f"{PAGE}progress/").content.decode()
    for method, path in (
        ("get", "/links"),
        ("post", "/links"),
        ("put", "/visibility"),
        ("delete", ""),
    ):
        body = () if method == "get" else (json.dumps({"public": False} if path else {}),)
        sent = getattr(Client(), method)(API + path, *body, **bearer(accounts.bert_token))
        assert sent.status_code in (403, 422), (method, path)
    hidden = Client().put(f"{API}/visibility", '{"public": false}', **bearer(accounts.anna_token))
    assert hidden.json() == {"campaign": PRIVATE, "is_public": False}
    assert bert.get(PAGE).status_code == 404
    assert Campaign.objects.filter(slug=PRIVATE, owner=accounts.anna).exists()


@pytest.mark.parametrize("kind", ["survey", "campaign"])
def test_programs_make_list_and_end_links(accounts: TenantAccounts, kind: str) -> None:
    address = {"survey": "surveys", "campaign": "measurements"}[kind]
    base, mine = f"/api/v1/{address}/{PRIVATE}/links", bearer(accounts.anna_token)
    client = Client()
    made = client.post(base, '{"days": 0}', **mine)
    assert made.status_code == 201
    link = made.json()
    assert (link["expires_at"], link["last_used_at"]) == (None, None)
    path = link["link"].removeprefix("http://testserver")
    assert client.get(path).status_code == 302
    listed = client.get(base, **mine).json()
    assert (listed["count"], listed["results"][0]["id"]) == (2, link["id"])
    assert listed["results"][0]["last_used_at"] is not None
    for wrong in ('{"days": 8}', '{"days": "x"}', '{"day": 7}'):
        assert client.post(base, wrong, **mine).status_code == 422
    reads = bearer(tokens.issue(accounts.anna, "reader", "read")[1])
    assert client.get(base, **reads).status_code == 200
    assert client.post(base, "{}", **reads).status_code == 403
    other = getattr(accounts, {"survey": "campaign", "campaign": "survey"}[kind]).private
    strange = sharing.issue(accounts.anna, other)
    assert client.delete(f"{base}/{strange.pk}", **mine).status_code == 404
    assert client.delete(f"{base}/{link['id']}", **bearer(accounts.bert_token)).status_code == 404
    assert client.delete(f"{base}/{link['id']}", **mine).status_code == 204
    assert client.delete(f"{base}/{link['id']}", **mine).status_code == 404
    assert client.get(path).status_code == 404
    for _ in range(sharing.MAX_LINKS - 1):
        sharing.issue(accounts.anna, getattr(accounts, kind).private)
    assert client.post(base, "{}", **mine).status_code == 409


def test_what_it_was_cloned_from_stays_its_makers(accounts: TenantAccounts) -> None:
    found = campaign_cast.campaign("of-bert", [], state="running")
    before = accounts.campaign.private
    Campaign.objects.filter(pk=found.pk).update(cloned_from=before)
    path = "/wide-area/of-bert/progress/"
    assert NAME not in Client().get(path).content.decode()
    assert NAME in accounts.client(accounts.anna).get(path).content.decode()
    link = sharing.token_of(sharing.issue(accounts.bert, found))
    assert NAME not in Client().get(below(link, path)).content.decode()


def test_where_a_vantage_point_is_in_the_network_is_for_operators(accounts: TenantAccounts) -> None:
    found = accounts.campaign.private
    write_part(
        part_path(selectors.lake_root(), PRIVATE, "paths", "p"), "paths", table_of("paths", [ROUTE])
    )
    CampaignUnit.objects.create(
        campaign=found,
        key="p",
        activity="trace",
        vantage="v-one",
        round=0,
        starts_s=0,
        ends_s=1,
        slots=1,
        state="done",
        rows={"paths": 1},
        part="p",
    )
    VantagePoint.objects.filter(name="v-one").update(public_address=ROUTE["source"])
    pair = {"vantage": "v-one", "region": "us-east-1"}
    path = f"/api/v1/wide-area/{PRIVATE}/paths"
    askers = ((Client(), f"/shared/{accounts.campaign.link}"), (accounts.client(accounts.anna), ""))
    for client, prefix in askers:
        for kind in ("json", "csv", "parquet"):
            answer = client.get(f"{prefix}{path}.{kind}", pair)
            assert answer.status_code == 200
            assert ROUTE["source"].encode() not in answer.content, kind
        table = pq.read_table(io.BytesIO(answer.content))
        assert table["hops"][0].as_py()[0]["address"] == "203.0.113.1"
    for page in ("", "progress/", "method/", "pairs/v-one/us-east-1/routes/"):
        shown = Client().get(below(accounts.campaign.link, PAGE + page))
        assert ROUTE["source"] not in shown.content.decode(), page
    get_user_model().objects.filter(pk=accounts.anna.pk).update(is_staff=True)
    told = accounts.client(accounts.anna).get(f"{path}.json", pair).content
    assert ROUTE["source"].encode() in told


def test_it_goes_for_good_once_that_was_said_twice(accounts: TenantAccounts) -> None:
    found = campaign_cast.campaign("to-go", [campaign_cast.sample("v-one", "us-east-1", [1.0])])
    Campaign.objects.filter(pk=found.pk).update(owner=accounts.anna, maker=accounts.anna)
    link = sharing.token_of(sharing.issue(accounts.anna, found))
    unfinished = selectors.folder_of(found).with_name(".to-go.17")
    unfinished.mkdir()
    anna, page = accounts.client(accounts.anna), "/wide-area/to-go/delete/"
    assert "Delete this campaign?" in anna.get(page).content.decode()
    assert Campaign.objects.filter(slug="to-go").exists()
    assert accounts.client(accounts.bert).post(page).status_code == 404
    assert anna.post(page)["Location"] == "/account/"
    assert not Campaign.objects.filter(slug="to-go").exists()
    assert Client().get(below(link, "/wide-area/to-go/")).status_code == 404
    for folder in (selectors.lake_root() / "to-go", selectors.folder_of(found), unfinished):
        assert not folder.exists()
    assert (selectors.lake_root() / PRIVATE).is_dir()
    assert selectors.folder_of(accounts.campaign.private).is_dir()


def test_a_running_one_is_stopped_by_the_program_that_deletes_it(accounts: TenantAccounts) -> None:
    found = campaign_cast.campaign("under-way", [], state="running")
    Campaign.objects.filter(pk=found.pk).update(maker=accounts.anna)
    path = "/api/v1/measurements/under-way"
    assert Client().delete(path).status_code == 401
    assert Client().delete(path, **bearer(accounts.anna_token)).status_code == 204
    assert Client().get(path).status_code == 404


def test_it_is_published_from_the_start_where_its_maker_says_so(accounts: TenantAccounts) -> None:
    join("v0")
    asked = {"preset": "quick", "targets": targets(2), "vantages": ["v0"], "name": "Loud"}
    client, mine = Client(), bearer(accounts.anna_token)
    made = client.post("/api/v1/measurements", json.dumps({**asked, "public": True}), **mine)
    assert made.json()["is_public"] is True
    assert client.get("/wide-area/loud/").status_code == 202
    again = client.post("/api/v1/measurements/loud/clone", "{}", **mine).json()
    assert again["is_public"] is False
    assert client.get(again["page"]).status_code == 404
    rows = Campaign.objects.filter(name="Loud").values_list("owner", "maker")
    assert {*rows} == {(None, accounts.anna.pk), (accounts.anna.pk, accounts.anna.pk)}
    # What is published counts among what its maker may have open at once.
    assert services.count_open(accounts.anna) == 2


def test_what_vantage_points_are_still_at_comes_back_to_nothing(accounts: TenantAccounts) -> None:
    join("v0")
    field = Field(preset="quick", targets=targets(2), vantages=["v0"], rounds=2)
    found = commands.start({**field.asked, "name": "Short"}, accounts.anna)
    while not field.waiting:
        field.step()
    deletion.remove(found)
    for name, order in field.waiting:
        field.answer(name, order)
    field.step()
    assert not Campaign.objects.filter(pk=found.pk).exists()
    assert not (selectors.lake_root() / found.slug).exists()


def test_an_account_goes_with_its_links_and_what_is_private(accounts: TenantAccounts) -> None:
    kept = accounts.campaign.public
    link = sharing.token_of(sharing.issue(accounts.bert, kept))
    hers = campaign_cast.campaign("private-of-bert", [])
    Campaign.objects.filter(pk=hers.pk).update(owner=accounts.bert, maker=accounts.bert)
    deletion.remove_account(get_user_model().objects.get(pk=accounts.bert.pk))
    assert not Campaign.objects.filter(slug=hers.slug).exists()
    assert Client().get(f"/wide-area/{kept.slug}/").status_code == 200
    assert Client().get(below(link, f"/wide-area/{kept.slug}/")).status_code == 404
    assert Campaign.objects.get(pk=kept.pk).maker is None
    assert not ShareLink.objects.filter(campaign=kept).exists()


def test_a_link_opens_one_thing(accounts: TenantAccounts) -> None:
    both = {"survey": accounts.survey.private, "campaign": accounts.campaign.private}
    for wrong in ({}, both):
        with pytest.raises(IntegrityError), transaction.atomic():
            ShareLink.objects.create(owner=accounts.anna, sha256=f"{len(wrong)}", seed="s", **wrong)


def test_pages_are_asked_for_their_headers_alone(accounts: TenantAccounts) -> None:
    for path, status in (("/about/", 200), (PAGE, 404), (below(accounts.campaign.link), 200)):
        assert Client().head(path).status_code == status
    assert Client().head(f"{PAGE}delete/").status_code == 404
