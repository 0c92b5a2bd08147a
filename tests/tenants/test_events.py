"""The audit log: what is recorded, who reads it, and that it cannot be changed."""

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from tests.pages import cast
from tests.tenants.organisation_cast import Umbrella, sign_in
from webapp.pages.accounts import events as pages
from webapp.store.access import events, organisations
from webapp.store.models import AccountEvent, Survey

pytestmark = pytest.mark.django_db


@pytest.fixture
def umbrella() -> Umbrella:
    make = get_user_model().objects.create_user
    return Umbrella(make("anna"), make("bert"))


def actions(user: Any) -> list[str]:
    rows = AccountEvent.objects.filter(actor_pk=user.pk).order_by("pk")
    return list(rows.values_list("action", flat=True))


def test_an_event_names_who_what_when_and_the_request(umbrella: Umbrella) -> None:
    client = umbrella.client("owner")
    headers = {"X-Request-ID": "request-of-anna-1"}
    form = {"name": "nightly", "scope": "read", "days": "30"}
    made = client.post("/account/tokens/", form, headers=headers)
    secret = made.content.decode().split('id="secret">')[1].split("<")[0]
    found = AccountEvent.objects.latest("pk")
    assert (found.actor, found.action) == ("anna", "token.create")
    assert found.request_id == "request-of-anna-1"
    assert "nightly" in found.subject
    assert secret not in found.subject
    assert found.at is not None


def test_changes_to_access_are_recorded(umbrella: Umbrella) -> None:
    survey = cast.empty()
    Survey.objects.filter(pk=survey.pk).update(owner=umbrella.anna, maker=umbrella.anna)
    organisations.add_object(umbrella.owner, "survey", survey.slug)
    base, client = f"/s/{survey.slug}", umbrella.client("admin")
    client.post(f"{base}/sharing/links/", {"days": "7"})
    client.post(f"{base}/sharing/visibility/", {"public": "yes"})
    client.post(f"{base}/sharing/visibility/", {"public": "no"})
    recorded = actions(umbrella.by_role["admin"].user)
    assert recorded == ["member.join", "survey.share", "survey.publish", "survey.withdraw"]
    page = client.get(reverse("organisation-events", args=[umbrella.row.slug])).content.decode()
    assert "survey.withdraw" in page
    assert "invitation.create" in page


def test_who_reads_the_log(umbrella: Umbrella) -> None:
    path = reverse("organisation-events", args=[umbrella.row.slug])
    codes = {role: umbrella.client(role).get(path).status_code for role in umbrella.by_role}
    assert codes == {"owner": 200, "admin": 200, "member": 404, "viewer": 404}
    assert sign_in(umbrella.bert).get(path).status_code == 404
    own = sign_in(umbrella.bert).get("/account/events/").content.decode()
    assert "organisation.create" in own
    assert "umbrella-viewer" not in own
    assert sign_in(umbrella.bert).get("/account/events/all/").status_code == 404
    operator = get_user_model().objects.create_user("olga", is_staff=True)
    every = sign_in(operator).get("/account/events/all/").content.decode()
    assert "umbrella-viewer" in every


def test_the_log_can_only_be_added_to(umbrella: Umbrella) -> None:
    found = AccountEvent.objects.latest("pk")
    found.subject = "nothing"
    rows = AccountEvent.objects.all()
    for change in (
        found.save,
        found.delete,
        rows.delete,
        lambda: rows.update(subject=""),
        lambda: rows.bulk_update([found], ["subject"]),
        lambda: rows.bulk_create([found], update_conflicts=True),
        lambda: AccountEvent._base_manager.update(subject=""),
    ):
        with pytest.raises(TypeError):
            change()
    before = AccountEvent.objects.count()
    organisations.change_role(umbrella.owner, umbrella.by_role["admin"], "owner")
    organisations.leave_all(umbrella.anna)
    umbrella.anna.delete()
    assert AccountEvent.objects.filter(actor="anna").exists()
    assert AccountEvent.objects.count() == before + 2


def test_failed_sign_ins_are_recorded_without_what_was_typed(client: Client) -> None:
    anna = get_user_model().objects.create_user("anna", password="right-horse-battery")
    before = AccountEvent.objects.count()
    for name, typed in (("anna", "wrong-horse"), ("nobody-of-this-name", "wrong-horse")):
        answer = client.post("/sign-in/", {"username": name, "password": typed})
        assert answer.status_code == 422
    known, unknown = AccountEvent.objects.order_by("pk")[before:]
    assert (known.actor_pk, known.action) == (anna.pk, "account.sign-in-failed")
    assert (unknown.actor, unknown.action) == ("", "account.sign-in-failed")
    for row in (known, unknown):
        assert "wrong-horse" not in str(vars(row))
        assert "nobody-of-this-name" not in str(vars(row))


def test_all_entries_are_reached_page_by_page_and_as_a_file(monkeypatch: Any) -> None:
    anna = get_user_model().objects.create_user("anna")
    for number in range(7):
        events.record(anna, "token.create", f"token {number}")
    events.record(get_user_model().objects.create_user("bert"), "token.create", "of bert")
    monkeypatch.setattr(pages, "PAGE_ROWS", 3)
    client, address, seen = sign_in(anna), "/account/events/", []
    while address:
        html = client.get(address).content.decode()
        seen += re.findall(r"<bdi>token (\d)</bdi>", html)
        older = re.search(r'href="(\?before=\d+)"', html)
        address = f"/account/events/{older[1]}" if older else ""
    assert seen == list("6543210")
    assert client.get("/account/events/?before=x").status_code == 200
    assert client.get(f"/account/events/?before={10**40}").status_code == 200
    lines = b"".join(client.get("/account/events/?format=jsonl").streaming_content).splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["subject"] for row in rows] == [f"token {n}" for n in range(6, -1, -1)]
    assert {row["account"] for row in rows} == {"anna"}


def test_what_commands_do_to_accounts_is_recorded() -> None:
    for command in ("create wanda --operator", "close wanda", "open wanda", "delete wanda --yes"):
        call_command("account", *command.split(), stdout=StringIO(), stderr=StringIO())
    rows = AccountEvent.objects.filter(actor="").order_by("pk").values_list("action", "subject")
    assert list(rows) == [
        ("account.create", "wanda (operator)"),
        ("account.invite", "wanda"),
        ("account.close", "wanda"),
        ("account.open", "wanda"),
    ]
