"""Figures of a report beside those of then: published ones, or those of an earlier survey."""

import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.pages import cast
from webapp.store.models import Survey


@pytest.fixture
def now(db: None) -> Survey:
    """A survey with an earlier one of the same list, in which us-east-1 had a share of 50 %."""
    then, now = cast.atlas("Then"), cast.atlas("Now")
    now.refresh_from_db()
    at = now.finished_at - timedelta(days=180)
    Survey.objects.filter(pk=then.pk).update(finished_at=at)
    regions = then.reports.get(table_id="regions")
    share = regions.columns.index("subdomains_share")
    regions.rows[0][share] = 0.5
    regions.headline = "50.0 % of Amazon-hosted subdomains are in us-east-1"
    regions.save()
    return now


def read(survey: Survey, page: str = "regions", then: str = "", status: int = 200) -> str:
    """A report page as text with its tags."""
    reply = Client().get(f"/s/{survey.slug}/reports/{page}/", {"then": then} if then else {})
    assert reply.status_code == status
    return reply.content.decode()


def text_of(page: str) -> str:
    block = page[page.index('class="then-now"') :].partition("report__lead")[0]
    return " ".join(re.sub("<[^>]+>", " ", block).split()).replace("\u202f", " ")


def published_of(page: str) -> list[float | None]:
    charts = json.loads(re.search(r'id="charts"[^>]*>(.*?)</script>', page)[1])
    return next(c for c in charts if c["id"] == "regions")["panels"][0]["published"]


def test_it_works(now: Survey) -> None:
    page = read(now, then="then")
    assert "50.0 % of Amazon-hosted subdomains are in us-east-1" in text_of(page)
    assert "us-east-1 (N. Virginia), 50.0 % → 73.8 % (+23.8 points)" in text_of(page)
    assert published_of(page)[0] == 0.5
    assert "IMC'13" not in page[page.index("<figcaption") :].partition("</figcaption>")[0]
    assert f'href="/compare/then/{now.slug}/"' in page


def test_published_figures_are_there_without_a_choice(now: Survey) -> None:
    page = read(now)
    assert published_of(page)[0] == pytest.approx(0.738, abs=0.001)
    assert "Published 2013" in text_of(page)
    assert "?then=then" in page


def test_an_outage_is_compared_with_an_earlier_survey_alone(now: Survey) -> None:
    assert "Nothing" in text_of(read(now, "outages"))
    assert "No figure of this table differs" in text_of(read(now, "outages", "then"))


@pytest.mark.parametrize("change", ["later", "another list", "of an account", "running"])
def test_other_surveys_are_not_offered(now: Survey, change: str) -> None:
    then = Survey.objects.filter(name="Then")
    if change == "later":
        then.update(finished_at=now.finished_at + timedelta(days=1))
    elif change == "another list":
        then.update(list_sha256="1" * 64)
    elif change == "running":
        then.update(state="running")
    else:
        then.update(owner=get_user_model().objects.create_user("anna"))
    assert "?then=" not in read(now)
    read(now, then="then", status=404)


def test_pinned_tables_are_compared_with_nothing_later(now: Survey) -> None:
    pin = re.search(r"snapshot=([0-9a-f]{16})", read(now))[1]
    page = Client().get(f"/s/{now.slug}/reports/regions/", {"snapshot": pin, "then": "then"})
    assert 'class="then-now"' not in page.content.decode()
