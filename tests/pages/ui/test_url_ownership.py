"""Every address answers as it should, whoever of the cast stands there."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.pages import cast

OK = (
    "/",
    "/surveys/",
    "/surveys/new/",
    "/about/",
    "/components/",
    "/s/{atlas}/",
    "/s/{atlas}/map/",
    "/s/{atlas}/reports/providers/",
    "/s/{atlas}/reports/patterns/",
    "/s/{atlas}/reports/regions/",
    "/s/{atlas}/reports/name-servers/",
    "/s/{atlas}/reports/top-domains/",
    "/s/{atlas}/domains/",
    "/s/{atlas}/domains/?q=linked&page=2",
    "/s/{atlas}/domains/?page=99999999999999999999",
    "/s/{atlas}/domains/?page=-1",
    "/s/{atlas}/domains/linkedin.com/",
    "/s/{atlas}/domains/nowhere.example/",
    "/s/{atlas}/names/www.linkedin.com/",
    "/s/{atlas}/names/vpn.linkedin.com/",
    "/s/{edges}/",
    "/s/{edges}/domains/wide.example/?page=30",
    "/s/{edges}/domains/example.org/",
    "/s/{empty}/",
    "/s/{empty}/map/",
    "/s/{empty}/reports/top-domains/",
    "/s/{running}/",
    "/s/{running}/progress/",
    "/s/{waiting}/",
    "/s/{failed}/",
    "/s/{cancelled}/",
)
GONE = (
    "/s/nobody/",
    "/s/{atlas}/reports/weather/",
    "/s/{atlas}/domains/unknown.example/",
    "/s/{atlas}/names/unknown.example/",
    "/s/nobody/domains/",
)


def test_it_works(client: Client, everyone: dict[str, Any]) -> None:
    slugs = {name: survey.slug for name, survey in everyone.items()}
    answers = {path: client.get(path.format(**slugs)).status_code for path in OK}
    assert answers == dict.fromkeys(OK, 200)


def test_what_is_not_there_is_a_page_too(client: Client, everyone: dict[str, Any]) -> None:
    slugs = {name: survey.slug for name, survey in everyone.items()}
    for path in GONE:
        answer = client.get(path.format(**slugs))
        assert answer.status_code == 404, path
        assert "Page not found" in answer.content.decode()


def test_an_empty_installation_says_what_to_do(client: Client, db: Any) -> None:
    text = client.get("/").content.decode()
    assert "The atlas is empty" in text
    assert "Start the first survey" in text
    assert "No survey yet" in client.get("/surveys/").content.decode()
    assert client.get("/about/").status_code == 200


def test_a_first_survey_under_way_is_offered_at_the_front(client: Client, db: Any) -> None:
    running = cast.running()
    text = client.get("/").content.decode()
    assert "The first survey is under way" in text
    assert f"/s/{running.slug}/" in text


def test_a_report_that_is_not_ready_says_so(client: Client, db: Any) -> None:
    answer = client.get(f"/s/{cast.running().slug}/reports/regions/")
    assert answer.status_code == 202
    assert "not ready yet" in answer.content.decode()


@pytest.mark.parametrize("page", ["map/", "domains/", "reports/regions/", ""])
@pytest.mark.parametrize("end", [cast.failed, cast.cancelled])
def test_a_survey_that_ended_early_promises_nothing(
    client: Client, db: Any, page: str, end: Any
) -> None:
    text = client.get(f"/s/{end().slug}/{page}").content.decode()
    assert "yet" not in text.split("<main")[1]
    assert "so far" not in text
    assert "answers from a known cloud" not in text


def test_a_survey_without_clouds_says_so_once(client: Client, db: Any) -> None:
    survey = cast.empty()
    survey.summary = {"names": {"asked": 12, "resolved": 3, "cloud": 0}}
    survey.save(update_fields=["summary"])
    text = client.get(f"/s/{survey.slug}/").content.decode()
    assert text.count("No subdomain of these domains answers from a known cloud") == 1


def test_one_is_not_many(client: Client, db: Any) -> None:
    text = client.get(f"/s/{cast.failed().slug}/").content.decode()
    assert not re.search(r"\b1(</b>)? (domain|question)s\b", text)


def test_emulated_data_say_so_on_every_page(client: Client, db: Any) -> None:
    slug = cast.atlas().slug
    for path in ("/", f"/s/{slug}/", f"/s/{slug}/reports/patterns/", f"/s/{slug}/domains/"):
        assert "Emulated Internet" in client.get(path).content.decode(), path


def test_the_real_internet_is_not_called_emulated(client: Client, db: Any) -> None:
    assert "Emulated" not in client.get(f"/s/{cast.edges().slug}/").content.decode()


def test_the_search_of_the_header_leads_to_the_survey(client: Client, db: Any) -> None:
    slug = cast.atlas().slug
    answer = client.get("/search/", {"q": "a&b=c"})
    assert answer["Location"] == f"/s/{slug}/domains/?q=a%26b%3Dc"


def test_the_search_without_a_survey_leads_to_the_list(client: Client, db: Any) -> None:
    assert client.get("/search/", {"q": "x"})["Location"] == "/surveys/"


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_an_ended_survey_says_what_was_kept(
    client: Client, everyone: dict[str, Any], state: str
) -> None:
    text = client.get(f"/s/{everyone[state].slug}/").content.decode()
    assert "kept" in text
    assert "submit the list again" in text.lower()
