"""Quotas of accounts and organisations, and the page of usage."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from core.errors import Conflict
from tasks.campaigns import commands
from tests.tenants.organisation_cast import sign_in
from tests.tenants.test_domain_claims import asked
from webapp.store.access import organisations, quotas
from webapp.store.models import Campaign, Survey, UsageDay, VantagePoint
from webapp.store.surveys import services

pytestmark = pytest.mark.django_db
PAGE = "/account/usage/"


@pytest.fixture(autouse=True)
def many(settings: Any, tmp_path: Any) -> None:
    settings.UPLOADS_DIR = tmp_path
    settings.MAX_ACTIVE_SURVEYS = settings.MAX_ACTIVE_SURVEYS_PER_USER = 50


def account(name: str, **more: Any) -> Any:
    return get_user_model().objects.create_user(name, **more)


def survey(user: Any, n: int = 3, **more: Any) -> Survey:
    listed = "\n".join(f"d{i}.example" for i in range(n)).encode()
    return services.create_survey(listed, n_words=1, maker=services.Requester(user=user), **more)


def used(user: Any) -> dict[str, int]:
    return {quota.kind: quota.used for quota in quotas.quotas_of(user)}


def test_a_survey_beyond_the_quota_is_refused_and_not_stored(settings: Any) -> None:
    settings.MONTHLY_DOMAINS_PER_USER = 7
    anna, bert = account("anna"), account("bert")
    survey(anna)
    survey(anna, idempotency_key="k")
    survey(anna, idempotency_key="k")  # the same survey: nothing is counted
    with pytest.raises(Conflict, match="has 1 of 7 domains surveyed left"):
        survey(anna)
    assert (Survey.objects.count(), used(anna)["domains"]) == (2, 6)
    Survey.objects.all().delete()
    with pytest.raises(Conflict):
        survey(anna)
    assert survey(bert)
    assert survey(account("op", is_staff=True), 9)
    assert survey(None, 9)
    UsageDay.objects.filter(owner=anna).update(day=timezone.now().date() - timedelta(days=30))
    assert survey(anna, 7)


def test_members_share_the_quota_of_their_organisation(settings: Any) -> None:
    settings.MONTHLY_DOMAINS_PER_ORGANISATION = 5
    anna, bert, carl = (account(name) for name in ("anna", "bert", "carl"))
    made = organisations.create(anna, "Umbrella")
    mine = organisations.find_membership(anna, made.slug)
    assert mine is not None
    organisations.accept(bert, organisations.invite(mine, "member")[1])
    survey(anna)
    with pytest.raises(Conflict, match="organisation Umbrella has 2 of 5"):
        survey(bert)
    survey(carl, 9)
    page = sign_in(bert).get(PAGE).content.decode()
    assert "Umbrella" in page
    assert '<td class="num">3</td>' in page
    assert "Umbrella" not in sign_in(carl).get(PAGE).content.decode()


def test_a_campaign_counts_its_probes_unless_it_is_synthetic(settings: Any) -> None:
    anna = account("anna")
    VantagePoint.objects.create(name="home", state="joined", owner=anna)
    VantagePoint.objects.create(name="model", state="joined", owner=anna, source="synthetic")
    settings.MONTHLY_PROBES_PER_USER = 3
    commands.start(asked("a.example", "b.example"), anna)
    assert used(anna)["probes"] == 2
    with pytest.raises(Conflict, match="1 of 3 probes of campaigns left"):
        commands.start(asked("a.example", "b.example"), anna)
    commands.start({**asked("a.example", "b.example"), "vantages": ["model"]}, anna)
    assert (Campaign.objects.count(), used(anna)["probes"]) == (2, 2)


def test_the_refusal_reaches_the_api(settings: Any) -> None:
    settings.MONTHLY_DOMAINS_PER_USER, settings.NAME_SERVERS = 1, ["127.0.0.1:9"]
    client = sign_in(account("anna"))
    given = {"domains": ["a.example", "b.example"]}
    answer = client.post("/api/v1/surveys", given, "application/json")
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (409, "conflict")
    assert "Account, Usage" in answer.json()["detail"]
