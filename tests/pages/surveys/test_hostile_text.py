"""Names and lines from outside never become markup."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.pages import cast
from webapp.pages.templatetags.nephoscope import finding


def test_it_works(client: Client, db: Any) -> None:
    text = client.get(f"/s/{cast.edges().slug}/").content.decode()
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_a_search_is_escaped(client: Client, db: Any) -> None:
    slug = cast.atlas().slug
    text = client.get(f"/s/{slug}/domains/", {"q": '"><img src=x>'}).content.decode()
    assert "<img" not in text


def test_a_finding_keeps_its_region_code_whole_and_its_markup_out() -> None:
    made = finding("73.8 % are in us-east-1 <b>")
    assert '<span class="code">us-east-1</span>' in made
    assert "&lt;b&gt;" in made
    assert "73.8\u202f%" in made


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("us-east-1 and us-east-1", "us-east-1 (N. Virginia) and us-east-1"),
        ("N. Virginia (us-east-1)", "N. Virginia (us-east-1)"),
        ("runs in westeurope.", "runs in westeurope (Netherlands)."),
        ("aws/sa-east-1", "aws/sa-east-1 (São Paulo)"),
        ("zone us-east-1a", "zone us-east-1a"),
        ("lb.us-east-1.elb.example", "lb.us-east-1.elb.example"),
        ("xx-east-9 of us-east", "xx-east-9 of us-east"),  # unknown; two places
    ],
)
def test_a_finding_names_the_place_of_a_region_once(sentence: str, shown: str) -> None:
    assert re.sub("<[^>]*>", "", finding(sentence)) == shown


@pytest.mark.parametrize("path", ["/", "/components/", "/s/{slug}/reports/regions/"])
def test_no_inline_script_or_style(client: Client, db: Any, path: str) -> None:
    text = client.get(path.format(slug=cast.atlas().slug)).content.decode()
    assert " style=" not in text
    assert "<style" not in text
    assert " onclick=" not in text
    for opening in text.split("<script")[1:]:
        tag = opening.split(">")[0]
        assert " src=" in tag or 'type="application/json"' in tag


def test_every_page_has_a_policy(client: Client, db: Any) -> None:
    assert "default-src 'self'" in client.get("/about/")["Content-Security-Policy"]
