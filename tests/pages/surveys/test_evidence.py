"""Behind every label stand the answer, the prefix with its table, and the rule."""

from typing import Any

import pytest
from django.test import Client

from lake.parts import part_path, write_part
from tasks.surveys import derived
from tests.pages import cast
from tests.pages.campaigns import pairs


@pytest.fixture
def slug(db: Any, settings: Any, tmp_path: Any) -> str:
    settings.LAKE_DIR = tmp_path / "lake"
    survey = cast.atlas()
    zone = {"address": "23.20.1.1", "region": "us-east-1", "zone": "a", "method": "proximity"}
    path = part_path(settings.LAKE_DIR, survey.slug, "zones", "brought")
    write_part(path, "zones", [{**zone, "confidence": 0.97, "reason": ""}])
    survey.refresh_from_db()
    derived.index_survey(survey)
    return survey.slug


def proof(slug: str, name: str, kind: str, provider: str, value: str = "") -> str:
    return f"/s/{slug}/names/{name}/label/?kind={kind}&provider={provider}&value={value}"


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("provider", "", ("23.20.0.0/14", "28 Mar 2013", "127.0.0.1:5300", "0.8")),
        ("region", "us-east-1", ("us-east-1", "23.20.0.0/14", "EC2")),
        ("pattern", "elb", ("aws-elb", "A 23.20.1.1", "lb-7.us-east-1.elb.amazonaws.com")),
        ("zone", "us-east-1 a", ("proximity", "97.0", "23.20.1.1")),
    ],
)
def test_it_works(client: Client, slug: str, kind: str, value: str, told: tuple[str, ...]) -> None:
    text = client.get(proof(slug, "www.linkedin.com", kind, "aws", value)).content.decode()
    assert "<!doctype html>" in text
    for words in told:
        assert words in text, words


def test_a_script_gets_the_panel_alone(client: Client, slug: str) -> None:
    address = proof(slug, "www.linkedin.com", "region", "aws", "us-east-1")
    answer = client.get(address, headers={"X-Part": "panel"})
    text = answer.content.decode()
    assert "<html" not in text
    assert 'id="panel-title"' in text
    assert "X-Part" in answer["Vary"]


@pytest.mark.parametrize(
    ("name", "kind", "provider", "value"),
    [
        ("www.linkedin.com", "region", "aws", "eu-west-1"),
        ("www.linkedin.com", "region", "azure", "us-east-1"),
        ("www.linkedin.com", "pattern", "aws", "heroku"),
        ("www.linkedin.com", "zone", "aws", "us-east-1 b"),
        ("absent.linkedin.com", "provider", "aws", ""),
        ("www.linkedin.com", "weather", "aws", "rain"),
    ],
)
def test_a_label_that_it_lacks_has_no_evidence(
    client: Client, slug: str, name: str, kind: str, provider: str, value: str
) -> None:
    assert client.get(proof(slug, name, kind, provider, value)).status_code == 404


def test_every_label_of_a_passport_leads_to_its_evidence(client: Client, slug: str) -> None:
    import re
    from html import unescape

    text = client.get(f"/s/{slug}/domains/linkedin.com/").content.decode()
    links = [unescape(x) for x in re.findall(r'href="([^"]+)" data-evidence', text)]
    kinds = {re.search(r"kind=(\w+)", link)[1] for link in links}
    assert kinds == {"provider", "region", "pattern", "zone"}
    assert {client.get(link).status_code for link in links} == {200}


def test_every_label_of_a_report_leads_to_who_has_it(client: Client, slug: str) -> None:
    import re
    from html import unescape

    text = client.get(f"/s/{slug}/reports/regions/").content.decode()
    links = {unescape(x) for x in re.findall(r'href="([^"]+)" data-evidence', text)}
    assert any("us-east-1" in link for link in links)
    answers = {link: client.get(link) for link in links}
    assert {a.status_code for a in answers.values()} == {200}
    east = next(a for link, a in answers.items() if "us-east-1" in link)
    assert "linkedin.com" in east.content.decode()


def test_a_history_says_what_changed(client: Client, slug: str) -> None:
    later = pairs.after()
    derived.index_survey(later)
    text = client.get(f"/s/{slug}/domains/linkedin.com/history/").content.decode()
    assert "changed once over 2 surveys" in text
    found = client.get("/api/v1/domains/linkedin.com/history").json()["results"]
    assert [v["survey"] for v in found] == [later.slug, slug]
    newest, first = found
    assert first["is_first"]
    assert newest["names"]["moved"] == [
        "api.linkedin.com",
        "linkedin.com",
        "www.linkedin.com",
    ]
    assert newest["names"]["appeared"] == ["shop.linkedin.com"]
    assert newest["names"]["vanished"] == ["blog.linkedin.com", "labs.linkedin.com"]
    assert client.get("/api/v1/domains/unknown.example/history").status_code == 404
    assert client.get(f"/s/{slug}/domains/unknown.example/history/").status_code == 404


def test_worlds_are_never_one_history(client: Client, slug: str) -> None:
    real = cast.atlas("The same names on the Internet")
    real.world = ""
    real.save()
    real.refresh_from_db()
    derived.index_survey(real)
    text = client.get(f"/s/{slug}/domains/linkedin.com/history/").content.decode()
    assert "seen by one survey" in text
