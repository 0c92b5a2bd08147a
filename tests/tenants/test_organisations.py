"""Organisations: what each role changes, invitations, and what leaving members leave."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from core.errors import BadInput, Conflict, Forbidden
from tests.pages import cast
from tests.tenants.conftest import PRIVATE
from tests.tenants.organisation_cast import Umbrella, sign_in
from webapp.access_log import redact
from webapp.store.access import organisations, sharing
from webapp.store.access.visibility import may_manage, visible
from webapp.store.accounts import deletion
from webapp.store.models import (
    Membership,
    Organisation,
    OrganisationInvitation,
    Recommendation,
    Role,
    Survey,
)
from webapp.store.recommendations import services as recommendation_services
from webapp.store.screening import selectors as pools
from webapp.store.screening import services as pool_services

pytestmark = pytest.mark.django_db


@pytest.fixture
def umbrella(settings: Any, tmp_path: Any) -> Umbrella:
    """With one private survey of Anna."""
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR = tmp_path
    make = get_user_model().objects.create_user
    found = Umbrella(make("anna"), make("bert"))
    survey = cast.empty()
    Survey.objects.filter(pk=survey.pk).update(owner=found.anna, maker=found.anna, slug=PRIVATE)
    organisations.add_object(found.owner, "survey", PRIVATE)
    return found


def test_every_query_by_the_one_rule_follows_the_role(umbrella: Umbrella) -> None:
    survey = Survey.objects.get(slug=PRIVATE)
    rows = Survey.objects.filter(pk=survey.pk)
    for role, row in umbrella.by_role.items():
        assert visible(rows, row.user).exists()
        assert may_manage(survey, row.user) is (role in ("owner", "admin"))
    for user in (umbrella.bert, None):
        assert not visible(rows, user).exists()
        assert not may_manage(survey, user)


def test_an_admin_shares_publishes_and_deletes(umbrella: Umbrella) -> None:
    client = umbrella.client("admin")
    survey = Survey.objects.get(slug=PRIVATE)
    link = sharing.issue(umbrella.anna, survey)
    page = client.get(f"/s/{PRIVATE}/sharing/").content.decode()
    assert "Members of" in page
    assert "Umbrella" in page
    back = client.post(f"/account/links/{link.pk}/revoke/", {"back": "thing"})
    assert back.status_code == 302
    assert not sharing.links_of(survey).exists()
    client.post(f"/s/{PRIVATE}/sharing/visibility/", {"public": "yes"})
    assert Survey.objects.get(slug=PRIVATE).owner is None
    client.post(f"/s/{PRIVATE}/sharing/visibility/", {"public": "no"})
    assert Survey.objects.get(slug=PRIVATE).owner == umbrella.anna


def test_recommendations_and_pools_of_an_organisation(umbrella: Umbrella) -> None:
    anna, viewer = umbrella.anna, umbrella.by_role["viewer"].user
    origin = recommendation_services.Origin(owner=anna)
    made = recommendation_services.create({"samples": b"1,c,a,5\n"}, {}, origin)
    kept = recommendation_services.create({"samples": b"1,c,a,5\n"}, {}, origin)
    secret = recommendation_services.share(made)
    Recommendation.objects.filter(pk=made.pk).update(state="failed", error="no sample")
    pool = pool_services.create_pool(anna, pool_services.PoolSettings(name="Rack"))
    client = umbrella.client("viewer")
    paths = [f"/recommendations/{made.token}/", f"/screening/pools/{pool.key}/"]
    assert [client.get(path).status_code for path in paths] == [404, 404]
    organisations.add_object(umbrella.owner, "recommendation", made.token)
    organisations.add_object(umbrella.owner, "pool", pool.key)
    answers = [client.get(path) for path in paths]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert not any(secret in answer.content.decode() for answer in answers)
    assert client.get(f"/recommendations/{kept.token}/").status_code == 404
    assert client.post(f"/recommendations/{made.token}/delete/").status_code == 404
    assert client.post(f"/screening/pools/{pool.key}/delete/").status_code == 404
    assert pools.find_own_pool(viewer, pool.key) is None
    assert pools.find_own_pool(umbrella.by_role["admin"].user, pool.key)
    page = umbrella.client("owner").get(umbrella.path()).content.decode()
    assert "Rack" in page


def test_an_invitation_is_shown_once_and_works_once(umbrella: Umbrella) -> None:
    client = umbrella.client("admin")
    made = client.post(umbrella.path("invite"), {"role": "member", "note": "Carl"})
    assert made.status_code == 201
    address = made.content.decode().split('id="secret">')[1].split("<")[0]
    secret = address.rstrip("/").rpartition("/")[2]
    later = client.get(umbrella.path()).content.decode()
    assert "Carl" in later
    assert secret not in later
    assert not OrganisationInvitation.objects.filter(sha256=secret).exists()
    path = f"/account/invitations/{secret}/"
    asked = Client().get(path)
    assert asked.status_code == 302
    assert secret not in redact(f"GET {path}") + redact(asked["Location"])
    bert, carl = umbrella.bert, get_user_model().objects.create_user("carl")
    shown = sign_in(carl).get(path)
    assert shown["Referrer-Policy"] == "no-referrer"
    assert sign_in(carl).post(path)["Location"] == umbrella.path()
    assert sign_in(bert).post(path).status_code == 404
    assert sign_in(carl).get(umbrella.path()).status_code == 200


def test_an_invitation_ends_by_time_revocation_and_with_its_admin(umbrella: Umbrella) -> None:
    admin = umbrella.by_role["admin"]
    revoked, first = organisations.invite(admin, "viewer")
    expired, second = organisations.invite(admin, "viewer")
    _, third = organisations.invite(admin, "viewer")
    revoke = {"number": revoked.pk}
    assert (
        umbrella.client("viewer").post(umbrella.path("revoke-invitation"), revoke).status_code
        == 422
    )
    assert (
        umbrella.client("owner").post(umbrella.path("revoke-invitation"), revoke).status_code == 302
    )
    OrganisationInvitation.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    organisations.change_role(umbrella.owner, admin, "viewer")
    for secret in (first, second, third, "nephinv_made-up"):
        with pytest.raises(BadInput):
            organisations.accept(umbrella.bert, secret)


@pytest.mark.parametrize(
    ("who", "action", "form", "status"),
    [
        ("viewer", "invite", {"role": "viewer"}, 403),
        ("member", "invite", {"role": "viewer"}, 403),
        ("admin", "invite", {"role": "owner"}, 422),
        ("member", "change-role", {"name": "umbrella-member", "role": "owner"}, 403),
        ("admin", "change-role", {"name": "umbrella-admin", "role": "owner"}, 403),
        ("admin", "change-role", {"name": "anna", "role": "viewer"}, 403),
        ("admin", "remove-member", {"name": "anna"}, 403),
        ("member", "remove-member", {"name": "umbrella-viewer"}, 403),
        ("owner", "change-role", {"name": "anna", "role": "viewer"}, 422),
        ("owner", "change-role", {"name": "nobody", "role": "viewer"}, 422),
        ("owner", "remove-member", {"name": "anna"}, 422),
        ("owner", "change-role", {"name": "umbrella-viewer", "role": "king"}, 422),
        ("viewer", "add-object", {"object": f"survey/{PRIVATE}"}, 403),
        ("member", "add-object", {"object": f"survey/{PRIVATE}"}, 422),
        ("member", "remove-object", {"object": f"survey/{PRIVATE}"}, 422),
        ("owner", "add-object", {"object": "moon/1"}, 422),
        ("admin", "delete", {"name": "Umbrella"}, 403),
        ("owner", "delete", {"name": "umbrella"}, 422),
        ("owner", "crown", {}, 404),
    ],
)
def test_what_a_role_may_not_do(
    umbrella: Umbrella, who: str, action: str, form: dict[str, str], status: int
) -> None:
    before = list(Membership.objects.order_by("pk").values_list("pk", "role"))
    assert umbrella.client(who).post(umbrella.path(action), form).status_code == status
    assert list(Membership.objects.order_by("pk").values_list("pk", "role")) == before
    assert Survey.objects.get(slug=PRIVATE).organisation == umbrella.row


def test_what_a_leaving_member_added_stays(umbrella: Umbrella) -> None:
    carl = umbrella.by_role["member"]
    Survey.objects.filter(slug=PRIVATE).update(owner=carl.user, maker=carl.user)
    link = sharing.issue(carl.user, Survey.objects.get(slug=PRIVATE))
    form = {"name": carl.user.get_username()}
    assert umbrella.client("member").post(umbrella.path("remove-member"), form).status_code == 302
    survey = Survey.objects.get(slug=PRIVATE)
    assert (survey.owner, survey.maker) == (umbrella.anna, umbrella.anna)
    assert not visible(Survey.objects.filter(pk=survey.pk), carl.user).exists()
    link.refresh_from_db()
    assert link.revoked_at is not None


def test_an_account_that_closes_leaves_its_organisation_in_order(umbrella: Umbrella) -> None:
    with pytest.raises(Conflict, match="only owner of Umbrella"):
        deletion.remove_account(umbrella.anna)
    organisations.change_role(umbrella.owner, umbrella.by_role["admin"], Role.OWNER)
    heir = umbrella.by_role["admin"].user
    organisations.leave_all(umbrella.anna)
    survey = Survey.objects.get(slug=PRIVATE)
    assert (survey.owner, survey.organisation) == (heir, umbrella.row)


def test_a_deleted_organisation_gives_its_objects_back(umbrella: Umbrella) -> None:
    form = {"name": "Umbrella"}
    assert umbrella.client("owner").post(umbrella.path("delete"), form).status_code == 302
    survey = Survey.objects.get(slug=PRIVATE)
    assert (survey.organisation, survey.owner) == (None, umbrella.anna)
    assert not visible(Survey.objects.filter(pk=survey.pk), umbrella.by_role["admin"].user).exists()


def test_an_object_is_in_one_organisation(umbrella: Umbrella) -> None:
    other = organisations.create(umbrella.anna, "Other")
    mine = organisations.find_membership(umbrella.anna, other.slug)
    assert mine is not None
    with pytest.raises(Conflict):
        organisations.add_object(mine, "survey", PRIVATE)
    organisations.remove_object(umbrella.owner, "survey", PRIVATE)
    organisations.add_object(mine, "survey", PRIVATE)
    viewer = umbrella.by_role["viewer"]
    assert not visible(Survey.objects.filter(slug=PRIVATE), viewer.user).exists()
    with pytest.raises(Forbidden):
        organisations.add_object(viewer, "survey", PRIVATE)


def test_the_page_of_organisations(umbrella: Umbrella) -> None:
    client = umbrella.client("viewer")
    assert "Umbrella" in client.get("/account/organisations/").content.decode()
    assert "Umbrella" in client.get("/account/").content.decode()
    refused = client.post("/account/organisations/", {"name": " "})
    assert refused.status_code == 422
    made = client.post("/account/organisations/", {"name": "<b>Third</b>"})
    page = client.get(made["Location"]).content.decode()
    assert "&lt;b&gt;Third" in page
    assert "<b>Third" not in page
    assert Organisation.objects.count() == 3
