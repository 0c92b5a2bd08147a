"""The front page: the map on which a region can fail, and the field that reads what is written."""

import contextlib
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from tasks.recommendations.front_input import Kind, interpret
from webapp.pages.front import region_map
from webapp.store.surveys import selectors


def test_it_works(client: Client, everyone: dict[str, Any]) -> None:
    text = client.get("/").content.decode()
    assert "See where any site runs in the cloud" in text
    assert 'href="/?fail=aws.us-east-1"' in text
    slug = everyone["atlas"].slug
    names = {r[2]: r for r in selectors.report(slug, "outages").rows if r[0] == "region"}
    failed = client.get("/", {"fail": "aws.us-east-1"}).content.decode()
    assert f"{names['us-east-1'][3]:,} names unreachable" in failed
    assert "N. Virginia is down" in failed
    assert client.get("/", {"fail": "aws.nowhere-1"}).status_code == 404


def test_labels_keep_apart(everyone: dict[str, Any]) -> None:
    slug = everyone["atlas"].slug
    regions = [{**r, "outage": {"down": 1}} for r in selectors.map_regions(slug)]
    drawn = region_map.draw(regions, "", lambda key: key)
    labels = [m["label"] for m in drawn["marks"] if m["label"]]
    assert len(labels) > 8
    places = {(m["x"], m["y"]) for m in drawn["marks"]}
    assert len(places) == len(drawn["marks"])


def test_a_map_of_one_region_shows_its_surroundings(everyone: dict[str, Any]) -> None:
    regions = selectors.map_regions(everyone["atlas"].slug)[:1]
    drawn = region_map.draw([{**regions[0], "outage": {"down": 1}}], "", lambda key: key)
    (mark,) = drawn["marks"]
    left, _, width, _ = map(float, drawn["box"].split())
    assert 8 * mark["radius"] < width
    assert left + width / 4 < mark["x"] < left + width * 3 / 4
    assert mark["label"] is not None


@pytest.mark.parametrize(
    ("text", "kind", "summary"),
    [
        ("https://Shop.example/cart?x=1", Kind.DOMAIN, "One domain: shop.example"),
        ("shop.example news.example", Kind.DOMAINS, "A list of 2 domains"),
        ("shop.example, 10.0.0.1", Kind.DOMAINS, "One domain: shop.example; not read: 1 entry"),
        ("DE 40, US 35", Kind.COUNTRIES, "Clients in 2 countries: DE 53.3 %, US 46.7 %"),
        ("de=1\nfr:1", Kind.COUNTRIES, "Clients in 2 countries: DE 50.0 %, FR 50.0 %"),
        ("us-east-1", Kind.WORDS, "Search for “us-east-1”"),
    ],
)
def test_what_is_written_is_understood(text: str, kind: Kind, summary: str) -> None:
    found = interpret(text)
    assert (found.kind, found.summary) == (kind, summary)


@pytest.mark.parametrize("text", ["", " ,\n", "QQ 40, US 35", "10.0.0.1", "a..b c..d"])
def test_what_is_not_understood_says_what_to_write(text: str) -> None:
    with pytest.raises(BadInput):
        interpret(text)


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BadInput):
        assert interpret(text).summary


def test_the_field_leads_on(client: Client, everyone: dict[str, Any]) -> None:
    part = client.get("/ask/", {"q": "DE 40", "part": "1"})
    assert part.content.decode() == "Clients in 1 country: DE 100.0 %"
    listed = client.get("/ask/", {"q": "shop.example\nnews.example"}).content.decode()
    assert "Plan a survey" in listed
    refused = client.get("/ask/", {"q": "10.0.0.1"})
    assert refused.status_code == 422
    assert "is an IP address" in refused.content.decode()


def test_the_search_finds_regions_and_reports(client: Client, everyone: dict[str, Any]) -> None:
    query = {"survey": everyone["atlas"].slug}
    regions = client.get("/search/", {**query, "q": "Singapore"}).content.decode()
    assert "target=ap-southeast-1" in regions
    assert "reports/zones/" in client.get("/search/", {**query, "q": "zone"}).content.decode()
    assert "/domains/?q=linkedin" in client.get("/search/", {**query, "q": "linkedin"})["Location"]
