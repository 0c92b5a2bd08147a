"""The audit log: what is recorded, who reads it, and that it cannot be changed."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from tests.pages import cast
from tests.tenants.organisation_cast import Umbrella, sign_in
from webapp.store.access import organisations
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
