import json
import math

import pytest

from cartography.ranges.regions import NOT_A_PLACE, Region, all_regions, region
from tests.cartography.ranges.files import REAL, read_real
from tests.shared import shared_file

EARTH_RADIUS_KM = 6371
# Rows of the hand-kept list that are wrong (Ningxia in Hunan, GovCloud East in Virginia) or name
# the state's largest city where ours names the region's own town.
KNOWN_TO_DIFFER = {
    ("aws", "cn-northwest-1"),
    ("aws", "us-gov-east-1"),
    ("aws", "us-gov-west-1"),
    ("aws", "us-west-2"),
    ("google", "us-west1"),
}


def distance_km(place, latitude, longitude):
    a, b, c, d = map(math.radians, (place.latitude, place.longitude, latitude, longitude))
    h = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(h))


def test_it_works():
    assert region("aws", "us-east-1") == Region(
        "aws", "us-east-1", "N. Virginia", "US", 39.0, -77.5, 2006
    )


def test_an_unknown_region_is_none():
    assert region("aws", "atlantis-1") is None
    assert region("nimbus", "us-east-1") is None
    assert not any(region(p, code) for p in ("aws", "azure", "google") for code in NOT_A_PLACE)


def test_every_row_is_sound():
    rows = all_regions()

    assert len(rows) > 150
    for row in rows:
        assert row.place
        assert row.code == row.code.lower()
        assert len(row.country) == 2
        assert row.country.isupper()
        assert -60 < row.latitude < 70
        assert -180 <= row.longitude <= 180
        assert row.since is None or 2006 <= row.since <= 2026


def test_regions_of_one_provider():
    assert {r.provider for r in all_regions("azure")} == {"azure"}
    assert [r.provider for r in all_regions()].index("azure") == len(all_regions("aws"))


@pytest.mark.parametrize("name", REAL)
def test_every_region_of_the_real_files_is_known(name):
    file = read_real(name)
    codes = {entry.region for entry in file.entries} - {None}

    assert {code for code in codes if region(file.provider, code) is None} == set()
    said = {e.region_as_published for e in file.entries if e.region is None} - {None}
    # An office and an edge site are in a geofeed as well, and are no regions.
    assert said <= NOT_A_PLACE | {"US Philadelphia", "HK Hong Kong"}


@pytest.mark.parametrize("provider", ["aws", "google"])
def test_coordinates_agree_with_a_second_list(provider):
    document = json.loads(shared_file(f"geo/cloud-regions-{provider}.json").read_text())
    compared = 0
    for theirs in document["regions"]:
        ours = region(provider, theirs["providerCode"])
        if ours is None or (provider, ours.code) in KNOWN_TO_DIFFER:
            continue
        compared += 1
        far = distance_km(ours, theirs["locationLat"], theirs["locationLong"])
        assert (ours.country, far < 60) == (theirs["country"], True), (ours, far)
    assert compared > 15
