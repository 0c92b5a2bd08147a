"""Forms that can be tried without data of one's own."""

import pytest
from django.test import Client

from tests.pages import cast

FORMS = {
    "/surveys/new/?sample=1": "linkedin.com",
    "/recommendations/domains/?sample=1": "linkedin.com",
    "/recommendations/clients/?sample=1": "DE 40\nUS 35\nJP 25",
    "/check/": 'href="/check/linkedin.com/"',
}


@pytest.mark.parametrize("path", FORMS)
def test_it_works(path: str, db: None) -> None:
    cast.atlas()
    page = Client().get(path).content.decode()
    assert FORMS[path] in page
    plain = Client().get(path.partition("?")[0]).content.decode()
    if "sample" in path:
        assert FORMS[path] not in plain
        assert "?sample=1" in plain


@pytest.mark.django_db
def test_without_a_survey_the_fields_stay_empty() -> None:
    page = Client().get("/surveys/new/?sample=1")
    assert page.status_code == 200
    assert "</textarea>" in page.content.decode()
