"""Names that anybody could answer as: said first, on the name, on its domain, in the account."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tasks.surveys import derived
from tests.pages import cast
from webapp.store.models import Survey

NAME, MISSING = f"beta.{cast.LOST_DOMAIN}", "left-8.cloudapp.net"
FREE, HELD = "old.hao123.com", "lb.linkedin.com"


@pytest.fixture
def survey(db: Any, settings: Any, tmp_path: Any) -> Survey:
    settings.LAKE_DIR = tmp_path / "lake"
    return cast.edges()


def text_of(client: Client, path: str) -> str:
    plain = re.sub(r"<[^>]+>", "", client.get(path).content.decode())
    return re.sub(r"\s+", " ", plain)


@pytest.mark.parametrize("indexed", [False, True])
def test_it_works(client: Client, survey: Survey, indexed: bool) -> None:
    if indexed:
        derived.index_survey(survey)
    page = client.get(f"/s/{survey.slug}/names/{NAME}/").content.decode()
    assert f"<title>Anyone could claim {MISSING} and answer as {NAME}" in page
    (head,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert (
        " ".join(re.sub("<[^>]+>", "", head).split())
        == f"Anyone could claim {MISSING} and answer as {NAME}"
    )
    assert "What to do:</b> delete the CNAME record" in page
    passport = text_of(client, f"/s/{survey.slug}/domains/{cast.LOST_DOMAIN}/")
    assert f"Anyone could claim {MISSING} and answer as {NAME}." in passport
    assert passport.index("Takeover risk") < passport.index("Names found")
    # What a name no longer leads to is no cloud that its domain uses.
    expected = "has 1 of 2 names on Amazon, all in us-east-1"
    assert f"{cast.LOST_DOMAIN} {expected}" in passport


def test_a_domain_without_such_a_name_says_nothing(client: Client, survey: Survey) -> None:
    for path in (f"domains/{cast.RTL_DOMAIN}/", f"names/www.{cast.LOST_DOMAIN}/"):
        text = text_of(client, f"/s/{survey.slug}/{path}")
        assert "could claim" not in text
        assert "Takeover" not in text


@pytest.mark.parametrize("again", [False, True])
def test_the_account_tells_those_of_the_newest_survey(survey: Survey, again: bool) -> None:
    anna = get_user_model().objects.create_user("anna")
    made = cast.atlas()
    Survey.objects.filter(pk=made.pk).update(owner=anna, maker=anna)
    if again:
        # A later survey of the same list has mended it.
        later = cast.atlas("Later")
        Survey.objects.filter(pk=later.pk).update(owner=anna, maker=anna)
        later.reports.filter(table_id="dangling-names").update(rows=[], n=0)
    client = Client()
    client.force_login(anna)
    text = text_of(client, "/account/")
    assert (f"Anyone could claim shop-7.azurewebsites.net and answer as {FREE}" in text) != again
    assert ("Takeover risk in your surveys" in text) != again
    # Its missing target is nobody's to claim.
    assert HELD not in text
