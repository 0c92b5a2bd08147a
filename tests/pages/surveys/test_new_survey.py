"""From a list to a plan to a survey; every mistake gets one clear message."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from webapp.store.models import Survey

NEW, RUN = "/surveys/new/", "/surveys/run/"
LIST = "rank,domain\n1,example.org\n2,exa mple.com\n3,https://www.example.net/x\n4,example.org\n"


def plan(client: Client, **more: Any) -> str:
    return client.post(NEW, {"domains": LIST, **more}).content.decode()


def hidden(text: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', text)
    assert found
    return found[1]


def test_it_works(client: Client, db: Any) -> None:
    text = plan(client, name="Mine")
    assert "2 domains, about" in text
    assert "1 line left out" in text
    assert "each zone with a wildcard needs about 400 queries" in text
    sent = {k: hidden(text, k) for k in ("draft", "name", "once")}
    answer = client.post(RUN, sent)
    survey = Survey.objects.get()
    assert answer["Location"] == f"/s/{survey.slug}/"
    assert (survey.name, survey.n_domains, survey.n_rejected) == ("Mine", 2, 1)


def test_sent_twice_it_is_one_survey(client: Client, db: Any) -> None:
    text = plan(client)
    sent = {k: hidden(text, k) for k in ("draft", "name", "once")}
    client.post(RUN, sent)
    client.post(RUN, sent)
    assert Survey.objects.count() == 1


def test_a_file_gives_the_same_plan(client: Client, db: Any) -> None:
    sent = SimpleUploadedFile("list.csv", LIST.encode())
    assert "2 domains, about" in client.post(NEW, {"file": sent}).content.decode()


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "Paste at least one domain"),
        ({"domains": "   \n "}, "Paste at least one domain"),
        ({"domains": "not a domain\n"}, "line 1"),
        ({"domains": "a.org", "file": SimpleUploadedFile("x.csv", b"b.org")}, "Give the list once"),
        ({"file": SimpleUploadedFile("x.csv", b"")}, "empty"),
        ({"file": SimpleUploadedFile("x.bin", b"\x00\x01\x02" * 999)}, "binary"),
    ],
)
def test_a_list_that_cannot_be_used_is_explained(
    client: Client, db: Any, sent: dict[str, Any], words: str
) -> None:
    answer = client.post(NEW, sent)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert words in text
    assert 'role="alert"' in text
    assert Survey.objects.count() == 0


def test_a_plan_that_is_gone_is_explained(client: Client, db: Any) -> None:
    for draft in ("", "../../etc/passwd", "f" * 64):
        answer = client.post(RUN, {"draft": draft})
        assert answer.status_code == 422
        assert "send the list again" in answer.content.decode()


def test_too_many_surveys_are_refused_with_the_reason(
    client: Client, db: Any, settings: Any
) -> None:
    settings.MAX_ACTIVE_SURVEYS = 0
    text = plan(client)
    answer = client.post(RUN, {"draft": hidden(text, "draft"), "once": "x"})
    assert answer.status_code == 422
    assert "waiting or running" in answer.content.decode()


def test_a_form_without_its_token_is_a_page(db: Any) -> None:
    answer = Client(enforce_csrf_checks=True).post(RUN, {})
    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


def test_cancelling_keeps_the_page(client: Client, db: Any) -> None:
    text = plan(client)
    client.post(RUN, {k: hidden(text, k) for k in ("draft", "name", "once")})
    survey = Survey.objects.get()
    client.post(f"/s/{survey.slug}/cancel/")
    assert "was cancelled" in client.get(f"/s/{survey.slug}/").content.decode()
    assert client.get(f"/s/{survey.slug}/cancel/").status_code == 405


def test_checks_of_one_domain_are_listed_apart(client: Client, db: Any) -> None:
    assert "Checks of one domain" not in client.get("/surveys/").content.decode()
    for name, n_domains in (("Top list", 3), ("shop.example", 1), ("news.example", 1)):
        Survey.objects.create(
            slug=name.split(".")[0].replace(" ", "-").lower(), name=name, n_domains=n_domains
        )
    surveys = client.get("/surveys/").content.decode()
    checks = client.get("/surveys/", {"show": "checks"}).content.decode()
    assert re.search(r">\s*1 survey\s*<", surveys)
    assert "2 checks of one domain" in checks
    assert ("Top list" in surveys, "shop.example" in surveys) == (True, False)
    assert ("Top list" in checks, "shop.example" in checks) == (False, True)
