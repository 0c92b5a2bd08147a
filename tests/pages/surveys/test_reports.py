"""What a report page says beside its figures."""

import re

import pytest
from django.test import Client

from tests.pages import cast


@pytest.fixture
def atlas(db):
    return cast.atlas()


def page(atlas, family: str) -> str:
    return Client().get(f"/s/{atlas.slug}/reports/{family}/").content.decode()


def test_cells_that_their_source_contradicts_are_named_with_the_reason(atlas):
    patterns = page(atlas, "patterns")
    assert "The source contradicts itself" in patterns
    assert (
        "Amazon Virtual machine, Share of domains: 52.5 % of 19.9K are 37.9K EC2 domains"
        in patterns
    )
    assert "The source contradicts itself" not in page(atlas, "regions")


def test_a_table_without_a_published_one_claims_none(atlas):
    dangling = page(atlas, "dangling")
    assert "71 names have an alias whose target does not exist" in dangling
    assert "Restates" not in dangling
    assert ", after" not in dangling
    assert f"/s/{atlas.slug}/names/old.hao123.com/" in dangling


def test_other_sites_show_a_survey_its_domains_and_charts(atlas):
    client, base = Client(), f"/s/{atlas.slug}/"
    badge = client.get(f"{base}badge.svg").content.decode()
    assert f"survey: {atlas.n_domains} domains" in badge
    of_domain = client.get(f"/s/{atlas.slug}/domains/linkedin.com/badge.svg")
    assert "linkedin.com: Amazon" in of_domain.content.decode()
    assert of_domain["Cache-Control"] == "public, max-age=300"
    assert client.get(f"/s/{atlas.slug}/domains/never.example/badge.svg").status_code == 404
    embed = client.get(f"/s/{atlas.slug}/reports/regions/embed/")
    assert "frame-ancestors *" in embed["Content-Security-Policy"]
    headline = atlas.reports.get(table_id="regions").headline
    assert headline in " ".join(re.sub("<[^>]+>", "", embed.content.decode()).split())
    assert client.get(f"/s/{atlas.slug}/reports/no-such/embed/").status_code == 404


def test_notes_stand_beside_the_main_chart_and_lead_on(atlas):
    regions = page(atlas, "regions")
    notes = regions[regions.index('class="margin"') :].partition("</dl>")[0]
    text = " ".join(re.sub("<[^>]+>", "", notes).split())
    assert "70.9 % of Amazon-hosted subdomains have no other region than us-east-1" in text
    assert "msn.com has 11 of 89 subdomains in two or more regions" in text
    assert "95 % interval" in text
    assert f'href="/s/{atlas.slug}/reports/outages/"' in notes
    assert f'href="/s/{atlas.slug}/domains/msn.com/"' in notes


def test_a_finding_is_cited_by_its_snapshot(atlas):
    regions = page(atlas, "regions")
    cited = regions[regions.index("Cite this finding") :].partition("</dl>")[0]
    snapshot = re.search(r"snapshot ([0-9a-f]{16})", " ".join(cited.split()))[1]
    for text in (atlas.reports.get(table_id="regions").headline, "table regions", "713,910"):
        assert text.replace(" %", "\u202f%") in cited
    frame = re.search(r"iframe src=&quot;|iframe src=\"([^\"]+)\"", cited)[1]
    path = frame.removeprefix("http://testserver")
    assert snapshot in path
    assert Client().get(path)["Content-Security-Policy"].count("frame-ancestors *") == 1
