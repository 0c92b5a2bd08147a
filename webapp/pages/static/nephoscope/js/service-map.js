// Who is served from where: regions, clients and arcs, now, then, or with something failed.
import { arcBetween, drawLand, makeMap } from "./basemap.js";
import { share } from "./format.js";
import { placeLabels } from "./labels.js";

const LEAST_RADIUS = 1.6;
const MOST_RADIUS = 9;
// Round trips in ms at which an arc's class changes; other measures go by thirds of their range.
const STEPS_MS = [50, 100, 200];

const WORLD = [
  [72, 0],
  [-48, 0],
  [20, -128],
  [20, 160],
  [-42, 175],
  [62, -165],
];

export class ServiceMap {
  constructor(box, data) {
    const L = window.L;
    this.box = box;
    this.map = makeMap(box);
    this.svg = L.svg({ padding: 0.6 });
    this.arcs = L.layerGroup().addTo(this.map);
    this.spots = L.layerGroup().addTo(this.map);
    this.regions = L.layerGroup().addTo(this.map);
    this.data = data;
    this.mode = "then";
    this.labels = [];
    this.pane = this.map.createPane("labels");
    this.pane.classList.add("pins");
    this.pane.style.zIndex = 620;
    this.card = Object.assign(document.createElement("div"), {
      className: "hover-card",
      hidden: true,
    });
    box.append(this.card);
    L.control
      .zoom({ position: "topright", zoomInTitle: "Nearer", zoomOutTitle: "Farther" })
      .addTo(this.map);
    this.map.setView([0, 0], 0, { animate: false });
    this.fit();
    drawLand(this.map, this.svg, box.dataset.world).then(() => this.show(data));
    this.map.on("zoomstart", () =>
      this.labels.forEach((l) => l.element.classList.add("place--still")),
    );
    this.map.on("moveend", () => this.arrange());
    new ResizeObserver(() => {
      this.map.invalidateSize({ animate: false });
      if (!this.moved) this.fit();
      this.arrange();
    }).observe(box);
    this.map.on("dragend", () => {
      this.moved = true;
    });
  }

  // Clients and the regions that serve them fill the frame, with room for labels.
  fit() {
    const L = window.L;
    const { regions, spots } = this.data;
    const shown = [...regions.filter((r) => r.then || r.now), ...spots].map((one) => one.at);
    const bounds = L.bounds((shown.length ? shown : WORLD).map((at) => this.map.project(at, 0)));
    const size = bounds.getSize();
    const narrow = this.box.clientWidth < 620;
    const [width, height] = [
      this.box.clientWidth - (narrow ? 72 : 200),
      this.box.clientHeight - (narrow ? 72 : 150),
    ];
    const zoom = Math.log2(Math.min(width / Math.max(size.x, 1), height / Math.max(size.y, 1)));
    this.map.setView(this.map.unproject(bounds.getCenter(), 0), Math.min(3, Math.max(0, zoom)), {
      animate: false,
    });
  }

  show(data, mode = this.mode) {
    this.data = data;
    this.mode = mode;
    const heaviest = Math.max(...data.spots.map((s) => s.weight), 1e-9);
    this.regions.clearLayers();
    this.spots.clearLayers();
    this.arcs.clearLayers();
    const places = new Map(data.regions.map((r) => [r.name, r]));
    const [low, high] = this.range();
    for (const spot of data.spots) {
      this.drawArc(spot, places, low, high);
      this.drawSpot(spot, heaviest);
    }
    this.drawRegions();
    this.arrange();
  }

  serverOf(spot) {
    if (this.mode === "now") return spot.now;
    return this.data.failed.length ? spot.failed : spot.then;
  }

  range() {
    const values = this.data.spots.map((s) => this.serverOf(s)?.[1]).filter((v) => v != null);
    return [Math.min(...values), Math.max(...values)];
  }

  // 1 is best, 4 worst, whichever way the measure goes.
  level(value, low, high) {
    if (this.data.unit === "ms") return 1 + STEPS_MS.filter((step) => value > step).length;
    return 4 - Math.min(3, Math.floor((4 * (value - low)) / Math.max(high - low, 1e-9)));
  }

  drawArc(spot, places, low, high) {
    const server = this.serverOf(spot);
    const region = server && places.get(server[0]);
    if (!region) return;
    const moved =
      this.mode === "then" && spot.failed && spot.then && spot.failed[0] !== spot.then[0];
    const className = `arc arc--${this.level(server[1], low, high)}${moved ? " arc--moved" : ""}`;
    const line = arcBetween(this.map, spot.at, region.at);
    window.L.polyline(line, {
      renderer: this.svg,
      interactive: false,
      className,
      smoothFactor: 0.5,
    }).addTo(this.arcs);
  }

  drawSpot(spot, heaviest) {
    const lost = this.serverOf(spot) === null;
    const radius = Math.max(LEAST_RADIUS, MOST_RADIUS * Math.sqrt(spot.weight / heaviest));
    const dot = window.L.circleMarker(spot.at, {
      renderer: this.svg,
      radius,
      className: `client${lost ? " client--lost" : ""}`,
    }).addTo(this.spots);
    dot.on("mouseover", () => this.tell(dot, this.textOf(spot)));
    dot.on("mouseout", () => this.tell(null));
  }

  textOf(spot) {
    const said = (name, server) =>
      server ? `${name}: ${server[0]}, ${this.value(server[1])}` : `${name}: no region`;
    const lines = [`${spot.country || "Clients"} · ${share(spot.weight)} of the weight`];
    if (this.data.has_now) lines.push(said("now", spot.now));
    lines.push(said(this.data.has_now ? "then" : "served by", spot.then));
    if (this.data.failed.length) lines.push(said("after the failure", spot.failed));
    return lines;
  }

  value(number) {
    const text = number >= 1000 ? Math.round(number).toLocaleString("en-GB") : number.toFixed(1);
    return this.data.unit ? `${text}\u202f${this.data.unit}` : text;
  }

  tell(marker, lines = []) {
    this.card.hidden = !marker;
    if (!marker) return;
    this.card.replaceChildren(
      Object.assign(document.createElement("b"), { textContent: lines[0] }),
    );
    for (const line of lines.slice(1)) this.card.append(document.createElement("br"), line);
    const at = this.map.latLngToContainerPoint(marker.getLatLng());
    const left = Math.min(
      Math.max(6, at.x - this.card.offsetWidth / 2),
      this.box.clientWidth - this.card.offsetWidth - 6,
    );
    const top = at.y < 110 ? at.y + 14 : at.y - this.card.offsetHeight - 12;
    window.L.DomUtil.setPosition(this.card, window.L.point(left, top));
  }

  drawRegions() {
    const L = window.L;
    this.labels.forEach((l) => l.element.remove());
    this.labels = [];
    const inUse = (r) => (this.mode === "now" ? r.now : r.then);
    const order = [...this.data.regions].sort((a, b) => inUse(a) - inUse(b));
    for (const region of order) {
      const kind =
        region.failed && this.mode === "then"
          ? "failed"
          : inUse(region)
            ? this.mode === "now"
              ? "now"
              : "chosen"
            : region.now
              ? "old"
              : "other";
      const radius = { chosen: 8, now: 8, failed: 8, old: 5.5, other: 2 }[kind];
      const dot = L.circleMarker(region.at, {
        renderer: this.svg,
        radius,
        className: `station station--${kind}`,
      }).addTo(this.regions);
      if (region.now && kind === "chosen") {
        L.circleMarker(region.at, {
          renderer: this.svg,
          interactive: false,
          radius: 11,
          className: "station station--in-use",
        }).addTo(this.regions);
      }
      const words = {
        chosen: region.now ? "recommended, in use now" : "recommended",
        now: "in use now",
        failed: "failed",
        old: "in use now, not in this set",
        other: "not chosen",
      }[kind];
      dot.on("mouseover", () =>
        this.tell(dot, [
          `${region.provider_name} ${region.code}${region.place ? ` (${region.place})` : ""}`,
          words,
        ]),
      );
      dot.on("mouseout", () => this.tell(null));
      if (kind !== "other") this.label(region, radius, kind);
    }
  }

  label(region, radius, kind) {
    const element = Object.assign(document.createElement("div"), {
      className: `place place--${kind}`,
    });
    element.setAttribute("aria-hidden", "true");
    element.append(
      Object.assign(document.createElement("b"), { textContent: region.place || region.code }),
    );
    this.pane.append(element);
    this.labels.push({ element, region, radius, first: kind === "old" ? 1 : 0 });
  }

  arrange() {
    if (!this.data) return;
    const L = window.L;
    const order = [...this.labels].sort((a, b) => a.first - b.first);
    const items = order.map(({ element, region, radius }) => {
      const at = this.map.latLngToContainerPoint(region.at);
      return {
        x: at.x,
        y: at.y,
        r: radius,
        width: element.offsetWidth,
        height: element.offsetHeight,
      };
    });
    const frame = { left: 0, top: 0, right: this.box.clientWidth, bottom: this.box.clientHeight };
    const clients = [...this.spots.getLayers()]
      .filter((dot) => dot.getRadius() > 3)
      .map((dot) => {
        const [at, r] = [this.map.latLngToContainerPoint(dot.getLatLng()), dot.getRadius()];
        return { left: at.x - r, right: at.x + r, top: at.y - r, bottom: at.y + r };
      });
    placeLabels(items, frame, clients).forEach((found, i) => {
      const { element } = order[i];
      element.classList.toggle("place--still", !found);
      if (!found) return;
      element.classList.toggle("place--left", found.align === "left");
      element.classList.toggle("place--middle", found.align === "middle");
      L.DomUtil.setPosition(
        element,
        this.map.containerPointToLayerPoint(L.point(found.left, found.top)),
      );
    });
  }
}
