import json

import pytest

from deploy.broker import socket_path
from deploy.vendor import VENDOR, clip, cut, unwrap


def test_a_ring_across_the_180th_meridian_is_cut_in_two():
    ring = [(170.0, 60.0), (-170.0, 60.0), (-170.0, 70.0), (170.0, 70.0)]
    assert unwrap(ring)[1] == (190.0, 60.0)
    east, west = cut(ring)
    assert max(x for x, _ in east) == 180.0
    assert min(x for x, _ in west) == -180.0
    assert max(x for x, _ in west) == -170.0


def test_other_rings_stay():
    ring = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)]
    assert cut(ring) == [ring]
    assert clip(ring, 180.0, True) == ring


def test_no_country_of_the_base_map_is_a_stripe():
    path = VENDOR / "world" / "world-110m.json"
    if not path.exists():
        pytest.skip("the browser libraries are not installed")
    features = json.loads(path.read_text())["features"]
    assert len(features) > 170
    for feature in features:
        for polygon in feature["geometry"]["coordinates"]:
            ring = polygon[0]
            jumps = [abs(a[0] - b[0]) for a, b in zip(ring, ring[1:], strict=False)]
            assert max(jumps) < 90, feature["properties"]["name"]


def test_a_deep_data_folder_still_gets_a_socket(tmp_path):
    deep = tmp_path / ("x" * 120)
    assert len(str(socket_path(deep))) <= 100
    assert socket_path(deep) != socket_path(tmp_path / ("y" * 120))
