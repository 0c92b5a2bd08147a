"""Prepared queries answer as the queryset does, with other values of the same row types."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from webapp.store.access import quotas, survey_versions
from webapp.store.access.visibility import OPERATOR
from webapp.store.models import Survey
from webapp.store.prepared_query import PreparedQuery

pytestmark = pytest.mark.django_db
ENDED = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@pytest.fixture
def surveys():
    owner = User.objects.create_user("owner")
    return [
        Survey.objects.create(slug="open", name="Open", n_domains=2, finished_at=ENDED),
        Survey.objects.create(slug="private", name="Private", n_domains=2, owner=owner),
    ]


def make(slug):
    return Survey.objects.filter(slug=slug).values_list("pk", "finished_at", "options", "owner_id")


def test_rows_are_those_of_the_queryset(surveys):
    query = PreparedQuery(make)
    for slug in ("open", "private", "absent", "open' OR ''='", "%s", "\N{SNOWMAN}"):
        assert query.first(slug) == make(slug).first()


def test_a_private_survey_has_no_version_for_visitors(surveys):
    open_survey, private = surveys
    for _ in range(2):
        assert survey_versions.version("open").finished_at == ENDED
        assert survey_versions.version("private") is None
        assert survey_versions.version("private", private.owner).owner_id == private.owner_id
        assert survey_versions.version("private", OPERATOR).survey_id == private.pk
    assert survey_versions.end_of("open") == ENDED
    assert survey_versions.end_of("absent") is None
    # What is published or withdrawn between two requests counts at once.
    Survey.objects.filter(pk=open_survey.pk).update(owner=private.owner)
    assert survey_versions.version("open") is None


def test_active_surveys_are_counted(surveys):
    assert quotas.active_surveys() == Survey.objects.exclude(state__in=["finished"]).count()
    Survey.objects.update(state="finished")
    assert quotas.active_surveys() == 0
