"""Probes of imported files are on the map, in the grid and by country, where the files say it."""

import json
from typing import Any

import pytest

from tasks.campaigns.import_results import Source, import_campaign
from tasks.campaigns.result_files import Asked
from tests.probes.networks import PROBE, ping_measurement
from webapp.store.models import VantagePoint

pytestmark = pytest.mark.django_db
TOKYO = {
    **PROBE,
    "country": "JP",
    "continent": "AS",
    "city": "Tokyo",
    "asn": 2516,
    "latitude": 35.7,
    "longitude": 139.7,
}
ODD = {**PROBE, "country": "US", "city": "Nowhere", "latitude": 1e9, "longitude": "x"}


@pytest.fixture
def slug(settings: Any, tmp_path: Any) -> str:
    settings.LAKE_DIR = tmp_path / "lake"
    found = ping_measurement(20.0, 22.0, total=3)
    (entry,) = found["results"]
    found["results"] = [{**entry, "probe": p} for p in (PROBE, TOKYO, ODD)]
    path = tmp_path / "globalping.json"
    path.write_text(json.dumps(found))
    return import_campaign(Source((path,), Asked())).slug


def test_probes_of_a_file_stand_where_it_says(client: Any, slug: str) -> None:
    page = client.get(f"/wide-area/{slug}/").content.decode()
    for city, name in (("Berlin", "DE/Berlin/3320/0"), ("Tokyo", "JP/Tokyo/2516/1")):
        assert f'data-end="globalping-{name}"' in page
        assert f'aria-label="{city}: 21.0\u202fms"' in page
    # A place that no map has is none, and is said to be missing.
    assert "Nowhere" not in page
    assert "1 vantage point without a known place is not on the map" in page
    grid = client.get(f"/wide-area/{slug}/grid/").content.decode()
    assert '<bdi>Tokyo</bdi> <small class="note">JP</small>' in grid
    region = client.get(f"/wide-area/{slug}/regions/8.8.8.8/").content.decode()
    countries = ("Germany", "Japan", "United States")
    assert all(f'<th scope="row">{country}</th>' in region for country in countries)
    assert not VantagePoint.objects.exists()


def test_a_campaign_whose_places_are_gone_shows_its_values_all_the_same(
    client: Any, slug: str, settings: Any
) -> None:
    (settings.LAKE_DIR / "measurements" / slug / "places.json").write_text("{")
    page = client.get(f"/wide-area/{slug}/").content.decode()
    assert "3 vantage points without a known place are not on the map" in page
