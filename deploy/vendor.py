"""Installed browser libraries, in; the few files that pages use, out (standard library only).

Run by ``make setup`` after ``npm ci``. The base map is cut here once: country shapes are decoded
from TopoJSON, rounded, and made continuous where they cross the 180th meridian, since a map drawn
from the raw shapes has stripes across it.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
VENDOR = ROOT / "webapp" / "pages" / "static" / "vendor"
FONTS = ("inter", "newsreader", "jetbrains-mono")
COPIES = {
    "leaflet/dist/leaflet.js": "leaflet/leaflet.js",
    "leaflet/dist/leaflet.css": "leaflet/leaflet.css",
    "echarts/dist/echarts.min.js": "echarts/echarts.min.js",
    "htmx.org/dist/htmx.min.js": "htmx/htmx.min.js",
}
# No cloud is there, and its shape ends in a straight line along the pole.
LEFT_OUT = {"Antarctica"}
Ring = list[tuple[float, float]]


def copy_files() -> None:
    """Copy scripts, styles and fonts."""
    copies = dict(COPIES)
    for family in FONTS:
        for subset in ("latin", "latin-ext"):
            name = f"{family}-{subset}-wght-normal.woff2"
            copies[f"@fontsource-variable/{family}/files/{name}"] = f"fonts/{name}"
    for source, target in copies.items():
        path = VENDOR / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(MODULES / source, path)


def decode_arcs(topology: dict[str, Any]) -> list[Ring]:
    """Arcs of a TopoJSON file in degrees."""
    (scale_x, scale_y), (move_x, move_y) = (
        topology["transform"]["scale"],
        topology["transform"]["translate"],
    )
    arcs = []
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            points.append((x * scale_x + move_x, y * scale_y + move_y))
        arcs.append(points)
    return arcs


def join_ring(arcs: list[Ring], indexes: list[int]) -> Ring:
    """One closed ring from arc numbers; a negative number runs backwards."""
    ring: Ring = []
    for index in indexes:
        arc = arcs[index] if index >= 0 else arcs[~index][::-1]
        ring += arc[1:] if ring else arc
    return ring


def unwrap(ring: Ring) -> Ring:
    """Longitudes without jumps: a ring that crosses the 180th meridian runs on beyond it."""
    out = [ring[0]]
    for x, y in ring[1:]:
        last = out[-1][0]
        while x - last > 180:
            x -= 360
        while x - last < -180:
            x += 360
        out.append((x, y))
    if min(x for x, _ in out) < -180:
        out = [(x + 360, y) for x, y in out]
    return out


def clip(ring: Ring, edge: float, keep_below: bool) -> Ring:
    """The part of a ring on one side of a meridian (Sutherland and Hodgman)."""
    out: Ring = []
    for (x0, y0), (x1, y1) in zip(ring, ring[1:] + ring[:1], strict=True):
        inside0, inside1 = (x0 <= edge) == keep_below, (x1 <= edge) == keep_below
        if inside0:
            out.append((x0, y0))
        if inside0 != inside1:
            out.append((edge, y0 + (y1 - y0) * (edge - x0) / (x1 - x0)))
    return out


def cut(ring: Ring) -> list[Ring]:
    """A ring as one or two rings within 180 degrees east and west."""
    whole = unwrap(ring)
    if max(x for x, _ in whole) <= 180:
        return [whole]
    east = clip(whole, 180.0, True)
    west = [(x - 360, y) for x, y in clip(whole, 180.0, False)]
    return [r for r in (east, west) if len(r) > 2]


def close(ring: Ring) -> list[list[float]]:
    """Rounded to a hundredth of a degree, first point repeated at the end."""
    points = [[round(x, 2), round(y, 2)] for x, y in ring]
    return points if points[0] == points[-1] else [*points, points[0]]


def country_feature(arcs: list[Ring], shape: dict[str, Any]) -> dict[str, Any]:
    """A country as GeoJSON; inner rings (lakes) are dropped at this scale."""
    polygons = shape["arcs"] if shape["type"] == "MultiPolygon" else [shape["arcs"]]
    rings = [r for polygon in polygons for r in cut(join_ring(arcs, polygon[0]))]
    return {
        "type": "Feature",
        "properties": {"name": shape["properties"]["name"]},
        "geometry": {"type": "MultiPolygon", "coordinates": [[close(r)] for r in rings]},
    }


def write_world() -> None:
    """Write the base map."""
    topology = json.loads((MODULES / "world-atlas" / "countries-110m.json").read_text())
    arcs = decode_arcs(topology)
    features = [
        country_feature(arcs, shape)
        for shape in topology["objects"]["countries"]["geometries"]
        if shape["properties"]["name"] not in LEFT_OUT and shape.get("arcs")
    ]
    path = VENDOR / "world" / "world-110m.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"type": "FeatureCollection", "features": features}, separators=(",", ":"))
    path.write_text(text)


def main() -> int:
    """Fill the vendor folder."""
    if not MODULES.is_dir():
        print("node_modules is missing; run: make setup", file=sys.stderr)
        return 1
    copy_files()
    write_world()
    return 0


if __name__ == "__main__":
    sys.exit(main())
