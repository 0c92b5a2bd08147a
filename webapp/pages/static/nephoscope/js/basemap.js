// A quiet map of the world for pages about places: land, graticule, arcs.
import { equalEarth } from "./projection.js";

// With a tile URL the map is the usual Mercator of such tiles, and goes nearer.
export function makeMap(box, tiles = "") {
  const L = window.L;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const map = L.map(box, {
    crs: tiles ? L.CRS.EPSG3857 : equalEarth(L),
    zoomControl: false,
    attributionControl: false,
    zoomSnap: 0.1,
    zoomDelta: 0.7,
    scrollWheelZoom: false,
    dragging: !matchMedia("(pointer: coarse)").matches,
    zoomAnimation: !calm,
    fadeAnimation: false,
    inertia: !calm,
    maxZoom: tiles ? 10 : 4.6,
    minZoom: 0,
  });
  map.on("focus", () => map.scrollWheelZoom.enable());
  map.on("blur mouseout", () => map.scrollWheelZoom.disable());
  return map;
}

function ring() {
  const edge = [];
  for (let lat = -90; lat <= 90; lat += 3) edge.push([lat, -180]);
  for (let lat = 90; lat >= -90; lat -= 3) edge.push([lat, 180]);
  return edge;
}

function graticule() {
  const lines = [];
  for (let lng = -150; lng <= 150; lng += 30) {
    const line = [];
    for (let lat = -90; lat <= 90; lat += 3) line.push([lat, lng]);
    lines.push(line);
  }
  for (let lat = -60; lat <= 60; lat += 30)
    lines.push([
      [lat, -180],
      [lat, 180],
    ]);
  return lines;
}

export async function drawLand(map, renderer, url) {
  const L = window.L;
  const quiet = { renderer, interactive: false };
  const sphere = L.polygon(ring(), { ...quiet, className: "sphere", smoothFactor: 0 }).addTo(map);
  const lines = L.polyline(graticule(), {
    ...quiet,
    className: "graticule",
    smoothFactor: 0,
  }).addTo(map);
  const world = await (await fetch(url)).json();
  const filter = (f) => f.properties?.name !== "Antarctica";
  L.geoJSON(world, { ...quiet, filter, style: { ...quiet, className: "land" } })
    .addTo(map)
    .bringToBack();
  lines.bringToBack();
  sphere.bringToBack();
}

// A curve between two places, bent towards the north on the map itself: a great circle would leave the
// map at its upper edge and at the antimeridian. Bent less where it would rise above the land.
const BEND = 0.24;
const TOP_LAT = 76;

export function arcBetween(map, from, to, steps = 20) {
  const [a, b] = [map.project(from, 0), map.project(to, 0)];
  const [across, down] = [b.x - a.x, b.y - a.y];
  if (Math.hypot(across, down) < 1e-6) return [];
  const side = across >= 0 ? BEND : -BEND;
  const middle = a.add(b).divideBy(2);
  const top = map.project([TOP_LAT, 0], 0).y;
  const bent = window.L.point(
    middle.x + side * down,
    Math.max(middle.y - side * across, 2 * top - middle.y),
  );
  return Array.from({ length: steps + 1 }, (_, n) => {
    const [t, u] = [n / steps, 1 - n / steps];
    const at = a
      .multiplyBy(u * u)
      .add(bent.multiplyBy(2 * u * t))
      .add(b.multiplyBy(t * t));
    return map.unproject(at, 0);
  });
}
