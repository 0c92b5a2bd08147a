// A quiet map of the world for pages about places: land, graticule, great circles.
import { equalEarth } from "./projection.js";

const RAD = Math.PI / 180;

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
  for (let lat = -60; lat <= 60; lat += 30) lines.push([[lat, -180], [lat, 180]]);
  return lines;
}

export async function drawLand(map, renderer, url) {
  const L = window.L;
  const quiet = { renderer, interactive: false };
  const sphere = L.polygon(ring(), { ...quiet, className: "sphere", smoothFactor: 0 }).addTo(map);
  const lines = L.polyline(graticule(), { ...quiet, className: "graticule", smoothFactor: 0 }).addTo(map);
  const world = await (await fetch(url)).json();
  const filter = (f) => f.properties?.name !== "Antarctica";
  L.geoJSON(world, { ...quiet, filter, style: { ...quiet, className: "land" } }).addTo(map).bringToBack();
  lines.bringToBack();
  sphere.bringToBack();
}

// The great circle from one place to another; in two parts where it leaves the map's edge.
export function greatCircle([lat1, lng1], [lat2, lng2], steps = 20) {
  const [a, b] = [vector(lat1, lng1), vector(lat2, lng2)];
  const angle = Math.acos(Math.max(-1, Math.min(1, a[0] * b[0] + a[1] * b[1] + a[2] * b[2])));
  if (angle < 1e-6) return [];
  const parts = [[]];
  let before = null;
  for (let n = 0; n <= steps; n += 1) {
    const t = n / steps;
    const [p, q] = [Math.sin((1 - t) * angle) / Math.sin(angle), Math.sin(t * angle) / Math.sin(angle)];
    const at = place(a.map((value, axis) => p * value + q * b[axis]));
    if (before && Math.abs(at[1] - before[1]) > 180) parts.push([]);
    parts.at(-1).push(at);
    before = at;
  }
  return parts.filter((part) => part.length > 1);
}

function vector(lat, lng) {
  const [l, g] = [lat * RAD, lng * RAD];
  return [Math.cos(l) * Math.cos(g), Math.cos(l) * Math.sin(g), Math.sin(l)];
}

function place([x, y, z]) {
  return [Math.atan2(z, Math.hypot(x, y)) / RAD, Math.atan2(y, x) / RAD];
}
