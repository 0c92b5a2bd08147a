"""Check one domain: card, badge and API from one survey; others are told how to measure."""

from typing import Any

from django.test import Client

from tasks.audits import domain_card
from tests.pages.surveys.test_outages import finished
from webapp.store.models import Survey
from webapp.store.surveys import services

__all__ = ["finished"]


def test_it_works(client: Client, finished: Survey) -> None:
    text = client.get("/check/", {"domain": "https://Shop.example/"}, follow=True).content.decode()
    assert "What takes it down" in text
    card = client.get("/api/v1/domains/shop.example/card").json()
    assert card["survey"] == finished.slug
    assert card["cdns"] == ["aws"]
    assert "/schedules/new/?kind=audit&amp;domains=shop.example" in text
    form = client.get("/recommendations/domains/", {"domains": "shop.example"}).content.decode()
    assert ">shop.example</textarea>" in form
    assert card["mail_operators"] is card["certificate_authorities"] is None
    letter = card["grade"]["letter"]
    assert f"Why {letter}" in text
    assert f"grade {letter}" in client.get("/check/shop.example/badge.svg").content.decode()
    outages = {(o["kind"], o["target"]): o["down"] for o in card["outages"]}
    for (kind, target), down in outages.items():
        query = {"kind": kind, "target": target, "provider": "aws" if kind != "operator" else ""}
        rows = client.get(f"/api/v1/surveys/{finished.slug}/outages.json", query).json()
        found = {row[1]: row[3] for row in rows["rows"]}
        if "shop.example" in found:
            assert found["shop.example"] == down


def test_authorities_are_those_that_caa_records_permit() -> None:
    values = ['0 issue "ca.example; account=1"', '128 issuewild "Other.example"', '0 issue ";"']
    found = domain_card._authorities([*values, '0 iodef "mailto:a@ca.example"', "0 odd"])
    assert found == ("ca.example", "other.example")


def test_a_survey_of_one_domain_leads_to_its_card(client: Client, db: Any, settings: Any) -> None:
    survey = services.create_survey(b"shop.example\n", name="Check", n_words=5)
    text = client.get(f"/s/{survey.slug}/").content.decode()
    assert 'data-card="/check/shop.example/"' in text
    longer = services.create_survey(b"shop.example\nnews.example\n", name="Two", n_words=5)
    assert "data-card" not in client.get(f"/s/{longer.slug}/").content.decode()


def test_what_no_survey_holds_can_be_measured(client: Client, settings: Any, db: Any) -> None:
    answer = client.get("/check/never.example/")
    assert answer.status_code == 404
    assert "Plan the check" in answer.content.decode()
    settings.ANONYMOUS_SURVEYS = False
    assert "Sign in to measure it" in client.get("/check/never.example/").content.decode()
    assert client.get("/api/v1/domains/never.example/card").status_code == 404
    assert client.get("/check/", {"domain": "10.0.0.1"}).status_code == 422


def test_a_private_survey_makes_no_card_for_others(client: Client, finished: Survey) -> None:
    from django.contrib.auth import get_user_model

    Survey.objects.filter(pk=finished.pk).update(owner=get_user_model().objects.create_user("olga"))
    assert client.get("/check/shop.example/badge.svg").status_code == 404
    assert "has not been measured yet" in client.get("/check/shop.example/").content.decode()


def test_a_check_of_one_domain_is_not_the_front_survey(client: Client, finished: Survey) -> None:
    from webapp.store.surveys import selectors

    Survey.objects.create(slug="one", name="One", state="finished", n_domains=1)
    front = selectors.front_survey()
    assert front is not None
    assert front.slug == finished.slug
