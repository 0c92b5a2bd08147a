"""The index gives what the parts give, domain by domain."""

from typing import Any

import pytest
from django.test import Client

from analysis.index.profiles import Hosted
from tasks.surveys import derived as survey_derived
from tests.pages import cast
from webapp.store.surveys import derived, evidence, index

# What only the index can tell cheaply, or only it has.
OWN = ("zones",)


@pytest.fixture
def surveys(db: Any, settings: Any, tmp_path: Any) -> list[Any]:
    settings.LAKE_DIR = tmp_path / "lake"
    made = [cast.atlas(), cast.edges(), cast.empty()]
    for survey in made:
        survey.refresh_from_db()
    return made


def plain(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    names = [
        {k: v for k, v in n.items() if k not in (*OWN, "total")} for n in found["names"]["rows"]
    ]
    return {**found, "names": {**found["names"], "rows": names}}


def look(slug: str) -> dict[str, Any]:
    domains = ("linkedin.com", "hao123.com", "nowhere.example", cast.WIDE_DOMAIN, "absent.example")
    hosts = ("www.linkedin.com", "vpn.linkedin.com", cast.LONG_NAME, "absent.linkedin.com")
    return {
        **{f"{d} {p}": plain(evidence.domain(slug, d, p)) for d in domains for p in (1, 30, 99)},
        **{f"name {n}": evidence.name(slug, n) for n in hosts},
        "takeovers": evidence.takeovers(slug, cast.LOST_DOMAIN),
        "list": evidence.domains(slug),
        "beyond": evidence.domains(slug, "", 99),
        "found": evidence.domains(slug, "LINKED"),
        "nothing": evidence.domains(slug, "zzz"),
        "hosted": evidence.domains(slug, hosted=Hosted("aws")),
        "region": evidence.domains(slug, "linked", hosted=Hosted("aws", "us-east-1")),
        "search": [r["name"] for r in evidence.search(slug, "www.", 5)],
    }


def listed(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "rows": [{k: v for k, v in r.items() if k != "total"} for r in found["rows"]]}


def test_it_works(surveys: list[Any]) -> None:
    before = [look(c.slug) for c in surveys]
    for survey in surveys:
        survey_derived.index_survey(survey)
        assert index.index_of(survey) is not None
    after = [look(c.slug) for c in surveys]
    for was, now in zip(before, after, strict=True):
        for key in was:
            if isinstance(was[key], dict) and "rows" in was[key]:
                assert listed(now[key]) == listed(was[key]), key
            else:
                assert now[key] == was[key], key


def test_a_survey_closed_anew_gets_an_index_of_its_own(surveys: list[Any]) -> None:
    survey = surveys[0]
    survey_derived.index_survey(survey)
    old = derived.index_of(survey)
    survey.finished_at = survey.created_at
    survey.save()
    assert derived.index_of(survey) != old
    assert index.index_of(survey) is None
    assert evidence.domain(survey.slug, "linkedin.com") is not None


def test_making_it_twice_leaves_one(surveys: list[Any]) -> None:
    for _ in range(2):
        survey_derived.index_survey(surveys[0])
    assert [p.name for p in derived.index_of(surveys[0]).folder.parent.iterdir()] == [
        derived.index_of(surveys[0]).folder.name
    ]


def test_an_index_that_cannot_be_made_costs_no_page(client: Client, surveys: list[Any]) -> None:
    # A file stands where the folder of the index has to be.
    derived.root().mkdir()
    (derived.root() / surveys[0].slug).write_text("in the way")
    survey_derived.try_index_survey(surveys[0])
    assert index.index_of(surveys[0]) is None
    assert client.get(f"/s/{surveys[0].slug}/domains/linkedin.com/").status_code == 200


def test_domains_are_filtered_by_place(client: Client, surveys: list[Any]) -> None:
    slug = surveys[0].slug
    survey_derived.index_survey(surveys[0])
    page = client.get(f"/s/{slug}/domains/", {"in": "aws.us-east-1"})
    found = page.context["found"]
    every = evidence.domains(slug)["total"]
    assert 0 < found["total"] < every
    assert all("aws" in row["providers"] for row in found["rows"])
    assert f"{found['total']:,} domain" in page.content.decode()
    query = {"provider": "aws", "region": "us-east-1"}
    rows = client.get(f"/api/v1/surveys/{slug}/domains", query).json()
    assert [r["domain"] for r in rows["rows"]] == [r["domain"] for r in found["rows"]]
    assert client.get(f"/s/{slug}/domains/", {"in": "aws.no"}).context["found"]["total"] == 0
