"""What a reader is told when something is wrong, also when nothing can be looked up."""

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils.functional import SimpleLazyObject

from webapp.pages.ui import errors


def away():
    raise OperationalError("unable to open database file")


def test_a_store_that_is_away_is_told_in_the_form_of_the_site():
    request = RequestFactory().get("/s/any/")
    request.user = SimpleLazyObject(away)
    answer = errors.server_error(request)
    page = answer.content.decode()
    assert answer.status_code == 500
    assert "<h1>Something broke on this site</h1>" in page
    assert "Nephoscope" in page
    assert "unable to open" not in page


@pytest.mark.django_db
def test_a_fault_of_the_site_keeps_its_head(client):
    request = RequestFactory().get("/")
    request.user = client.get("/about/").wsgi_request.user
    answer = errors.server_error(request)
    assert answer.status_code == 500
    assert 'id="finder"' in answer.content.decode()


@pytest.mark.django_db
def test_a_page_that_is_not_there_says_what_to_do(client):
    answer = client.get("/s/none/")
    assert answer.status_code == 404
    assert "Search for it above" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("path", ["/", "/about/", "/components/", "/search/", "/surveys/"])
def test_an_open_page_takes_no_method_that_changes_something(method, path):
    reply = getattr(Client(), method)(path)
    assert (reply.status_code, reply["Allow"]) == (405, "GET")
