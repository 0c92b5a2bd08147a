// The atlas: regions as circles by area, provider by hue and letter; selection and view in the URL.
import { drawLand, makeMap } from "./basemap.js";
import { dodge, placeLabels } from "./labels.js";
import { count } from "./format.js";

const L = window.L;
const box = document.getElementById("map");
const drawer = document.getElementById("drawer");
const legend = document.getElementById("map-legend");
const data = JSON.parse(document.getElementById("map-data").textContent);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const narrow = matchMedia("(max-width: 900px)");
const spots = data.regions
  .filter((r) => r.latitude !== null)
  .sort((a, b) => b.subdomains - a.subdomains);
const byKey = new Map(spots.map((s) => [s.key, s]));
const map = makeMap(box, data.tiles);
const svg = L.svg({ padding: 0.6 });
// On some pages a region leads to a page of its own instead of opening the drawer.
const leads = "navigate" in box.dataset;
let selected = null;
let opener = null;
let userMoved = false;
let isFitting = false;

/* Regions */
function radiusOf(subdomains) {
  const largest = Math.max(18, Math.min(54, box.clientWidth * 0.052));
  return Math.max(2, largest * Math.sqrt(subdomains / Math.max(1, spots[0].subdomains)));
}
const radius = (spot) => radiusOf(spot.subdomains);
// With an earlier survey beside it, its number follows.
const isBeside = spots.some((spot) => "then" in spot);
const numbers = (spot) =>
  isBeside ? `${count(spot.subdomains)} (${count(spot.then)})` : count(spot.subdomains);

function addSpot(spot) {
  const at = [spot.latitude, spot.longitude];
  spot.leader = L.polyline([at, at], {
    renderer: svg,
    interactive: false,
    className: "leader",
  }).addTo(map);
  spot.disc = L.circleMarker(at, {
    renderer: svg,
    radius: 4,
    className: `spot hue--${spot.provider}`,
  }).addTo(map);
  if (isBeside) {
    spot.past = L.circleMarker(at, {
      renderer: svg,
      interactive: false,
      className: `spot-then hue--${spot.provider}`,
    }).addTo(map);
  }
  const icon = L.divIcon({
    className: `pin hue--${spot.provider}`,
    html: `<span class="pin__dot" aria-hidden="true"></span>`,
    iconSize: [24, 24],
  });
  spot.pin = L.marker(at, { icon, keyboard: false }).addTo(map);
  const element = spot.pin.getElement();
  element.firstChild.textContent = spot.letter;
  element.setAttribute("role", "button");
  element.setAttribute("tabindex", "-1");
  element.setAttribute(
    "aria-label",
    `${spot.name} ${spot.region}, ${spot.place}: ${count(spot.subdomains)} subdomains`,
  );
  for (const part of [spot.disc, spot.pin]) {
    part.on("click", (event) => {
      L.DomEvent.stopPropagation(event);
      select(spot.key);
    });
    part.on("mouseover", () => hover(spot));
    part.on("mouseout", () => hover(null));
  }
  spot.label = document.createElement("div");
  spot.label.className = "place";
  spot.label.setAttribute("aria-hidden", "true");
  const name = document.createElement("b");
  name.textContent = spot.place;
  const number = document.createElement("span");
  number.textContent = numbers(spot);
  spot.label.append(name, number);
}

const card = document.createElement("div");
card.className = "hover-card";
card.hidden = true;

function hover(spot) {
  for (const s of spots) s.disc.getElement()?.classList.toggle("is-hot", s === spot);
  card.hidden = !spot || spot.key === selected;
  if (card.hidden) return;
  card.replaceChildren(
    Object.assign(document.createElement("b"), { textContent: `${spot.name} ${spot.region}` }),
    document.createElement("br"),
    `${spot.place} · ${spot.note ?? `${count(spot.subdomains)} subdomains · ${spot.only_here_share} only here`}`,
  );
  const at = map.latLngToContainerPoint(spot.pin.getLatLng());
  const left = Math.min(
    Math.max(6, at.x - card.offsetWidth / 2),
    box.clientWidth - card.offsetWidth - 6,
  );
  const below = at.y < 80;
  L.DomUtil.setPosition(
    card,
    L.point(left, below ? at.y + radius(spot) + 14 : at.y - radius(spot) - card.offsetHeight - 10),
  );
}

/* Layout of pins and labels, after every move */
function relative(element) {
  const [a, b] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
  return {
    left: a.left - b.left,
    top: a.top - b.top,
    right: a.right - b.left,
    bottom: a.bottom - b.top,
  };
}

function obstacles() {
  const parts = [legend, box.querySelector(".leaflet-control-zoom")];
  if (!drawer.hidden && !narrow.matches) parts.push(drawer);
  return parts.filter(Boolean).map(relative);
}

function arrange() {
  if (!spots.length) return;
  const homes = spots.map((s) => map.latLngToContainerPoint([s.latitude, s.longitude]));
  const places = dodge(homes, 18);
  spots.forEach((spot, i) => {
    const at = map.containerPointToLatLng(L.point(places[i]));
    spot.pin.setLatLng(at);
    spot.disc.setLatLng(at).setRadius(radius(spot));
    spot.past?.setLatLng(at).setRadius(radiusOf(spot.then));
    const far = Math.hypot(places[i].x - homes[i].x, places[i].y - homes[i].y) > 12;
    spot.leader.setLatLngs(far ? [[spot.latitude, spot.longitude], at] : []);
    spot.at = places[i];
    spot.pin.setZIndexOffset(spot.key === selected ? 1000 : 0);
  });
  const order = [...spots].sort((a, b) => (b.key === selected) - (a.key === selected));
  const items = order.map((s) => ({
    ...s.at,
    r: radius(s),
    width: s.label.offsetWidth,
    height: s.label.offsetHeight,
  }));
  const frame = { left: 0, top: 0, right: box.clientWidth, bottom: box.clientHeight };
  placeLabels(items, frame, obstacles()).forEach((found, i) => {
    const { label } = order[i];
    label.classList.toggle("place--still", !found);
    if (!found) return;
    label.classList.toggle("place--left", found.align === "left");
    label.classList.toggle("place--middle", found.align === "middle");
    L.DomUtil.setPosition(label, map.containerPointToLayerPoint(L.point(found.left, found.top)));
  });
}

/* View */
function home() {
  const frame = spots.length
    ? spots
    : [
        { latitude: 50, longitude: -120 },
        { latitude: -30, longitude: 150 },
      ];
  const points = frame.map((s) => map.project([s.latitude, s.longitude], 0));
  for (const lat of [66, -42]) points.push(map.project([lat, 0], 0));
  for (const lng of [-100, 110]) points.push(map.project([20, lng], 0));
  const bounds = L.bounds(points);
  const size = bounds.getSize();
  const room = {
    x: box.clientWidth - (narrow.matches ? 56 : 190),
    y: box.clientHeight - (narrow.matches ? 24 : 60),
  };
  const zoom = Math.log2(Math.min(room.x / size.x, room.y / size.y));
  const centre = bounds.getCenter().add([narrow.matches ? 0 : 12 / 2 ** zoom, 0]);
  return [map.unproject(centre, 0), Math.max(0, Math.min(3, zoom))];
}

// A view that the page chose: the address and later changes of size do not hold it for the reader's.
function view(centre, zoom) {
  isFitting = true;
  map.setView(centre, zoom, { animate: false });
  isFitting = false;
}

function readHash() {
  const values = new URLSearchParams(location.hash.slice(1));
  const at = (values.get("at") ?? "").split(",").map(Number);
  return {
    region: values.get("region"),
    at: at.length === 3 && at.every(Number.isFinite) ? at : null,
  };
}

function writeHash() {
  const parts = [];
  if (selected) parts.push(`region=${selected}`);
  if (userMoved) {
    const c = map.getCenter();
    parts.push(`at=${c.lat.toFixed(1)},${c.lng.toFixed(1)},${map.getZoom().toFixed(1)}`);
  }
  const hash = parts.length ? `#${parts.join("&")}` : location.pathname + location.search;
  history.replaceState(null, "", hash);
}

/* The drawer never hides what it tells of */
function uncover(spot) {
  const at = map.latLngToContainerPoint(spot.pin.getLatLng());
  const r = Math.min(radius(spot), 40) + 16;
  const side = !drawer.hidden && !narrow.matches ? relative(drawer) : null;
  let [dx, dy] = [0, 0];
  if (at.x - r < 0) dx = at.x - r;
  else if (at.x + r > box.clientWidth) dx = at.x + r - box.clientWidth;
  if (at.y - r < 0) dy = at.y - r;
  else if (at.y + r > box.clientHeight) dy = at.y + r - box.clientHeight;
  if (side && at.x + r - dx > side.left && at.y + r - dy > side.top) dx = at.x + r - side.left + 8;
  if (dx || dy) map.panBy([dx, dy], { animate: !calm.matches, duration: 0.18 });
}

function fill(spot) {
  const texts = {
    ...spot,
    subdomains: count(spot.subdomains),
    domains: count(spot.domains),
    only_here: count(spot.only_here),
    place: spot.country ? `${spot.place}, ${spot.country}` : spot.place,
  };
  for (const field of drawer.querySelectorAll("[data-field]")) {
    if (["href", "outage"].includes(field.dataset.field)) field.href = spot[field.dataset.field];
    else field.textContent = texts[field.dataset.field];
  }
}

function mark(key) {
  for (const s of spots) {
    s.disc.getElement()?.classList.toggle("is-selected", s.key === key);
    s.pin.getElement()?.classList.toggle("is-selected", s.key === key);
  }
  for (const link of document.querySelectorAll("a[data-region]")) {
    link.closest("tr").classList.toggle("is-selected", link.dataset.region === key);
  }
}

function select(key, { focus = false, pan = true } = {}) {
  const spot = byKey.get(key);
  if (!spot) return;
  if (leads) return location.assign(spot.href);
  selected = key;
  fill(spot);
  drawer.hidden = false;
  mark(key);
  hover(null);
  arrange();
  if (pan) uncover(spot);
  writeHash();
  if (focus) drawer.focus({ preventScroll: true });
}

function clear() {
  if (!selected) return;
  selected = null;
  drawer.hidden = true;
  mark(null);
  arrange();
  writeHash();
  opener?.focus();
  opener = null;
}

function applyHash() {
  const { region, at } = readHash();
  const [centre, zoom] = home();
  userMoved = at !== null;
  view(at ? [at[0], at[1]] : centre, at ? at[2] : zoom);
  if (region && byKey.has(region) && !leads) select(region);
  else arrange();
  if (leads) mark(box.dataset.navigate);
}

/* Controls */
const WholeMap = L.Control.Zoom.extend({
  onAdd(target) {
    const bar = L.Control.Zoom.prototype.onAdd.call(this, target);
    this._createButton("◎", "Whole map", "map-home", bar, () => {
      userMoved = false;
      view(...home());
      writeHash();
    });
    return bar;
  },
});

function start() {
  const pane = map.createPane("labels");
  pane.classList.add("pins");
  pane.style.zIndex = 620;
  map.addControl(
    new WholeMap({
      position: narrow.matches ? "bottomleft" : "topright",
      zoomInTitle: "Nearer",
      zoomOutTitle: "Farther",
    }),
  );
  view(...home());
  spots.forEach(addSpot);
  pane.append(...spots.map((s) => s.label));
  box.append(card);
  applyHash();
  map.on("zoomstart", () => spots.forEach((s) => s.label.classList.add("place--still")));
  map.on("moveend", arrange);
  map.on("dragend zoomend", () => {
    if (isFitting) return;
    userMoved = true;
    writeHash();
  });
  map.on("click", clear);
  if (data.tiles) L.tileLayer(data.tiles, { maxZoom: 10 }).addTo(map);
  else drawLand(map, svg, box.dataset.world);
}

if (!spots.length) box.closest(".map").classList.add("map--bare");
start();
document.fonts?.ready.then(arrange);
let size = `${box.clientWidth} ${box.clientHeight}`;
new ResizeObserver(() => {
  const now = `${box.clientWidth} ${box.clientHeight}`;
  if (now === size) return;
  size = now;
  map.invalidateSize({ animate: false });
  if (!userMoved) view(...home());
  arrange();
}).observe(box);
addEventListener("hashchange", applyHash);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-region]");
  if (link && byKey.has(link.dataset.region) && !event.metaKey && !event.ctrlKey) {
    event.preventDefault();
    opener = link;
    select(link.dataset.region, { focus: true });
    const behaviour = calm.matches ? "auto" : "smooth";
    (narrow.matches ? drawer : box).scrollIntoView({ block: "center", behavior: behaviour });
  }
  if (event.target.closest("[data-close]")) clear();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !drawer.hidden) clear();
});
