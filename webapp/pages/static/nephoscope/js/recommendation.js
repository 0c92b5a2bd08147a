// Sizes, failures and constraints are looked at in place; the address keeps up with what is shown.
import { ServiceMap } from "./service-map.js";

const root = document.querySelector("[data-recommendation]");
const form = root.querySelector("[data-tries]");
const announce = root.querySelector("[data-announce]");
const solving = root.querySelector("[data-solving]");
const WAIT_MS = 350;
let timer = 0;
let turn = 0;

const dataOf = () => JSON.parse(document.getElementById("service-map").textContent);
const service = window.L ? new ServiceMap(document.getElementById("map"), dataOf()) : null;

/* What the address says */
function fromForm() {
  const params = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value !== "") params.append(name, value);
  }
  return params;
}

/* How many changes of this visit the address holds; the browser keeps it with the entry */
const changes = () => history.state?.changes ?? 0;
const undo = root.querySelector("[data-undo]");

function showUndo() {
  if (undo) undo.hidden = !changes();
}

function isChanged() {
  return new URLSearchParams(location.search).has("set");
}

/* What is shown */
function swap(html) {
  const found = new DOMParser().parseFromString(html, "text/html");
  for (const part of found.querySelectorAll("[data-part]")) {
    const old = root.querySelector(`[data-part="${part.dataset.part}"]`);
    const focused = old?.contains(document.activeElement)
      ? document.activeElement.getAttribute("href")
      : null;
    old?.replaceWith(document.adoptNode(part));
    if (focused)
      [...part.querySelectorAll("a")]
        .find((a) => a.textContent && a.getAttribute("href") === focused)
        ?.focus();
  }
}

async function load(params, part, mine) {
  const query = new URLSearchParams(params);
  query.set("part", part);
  const reply = await fetch(`?${query}`, { headers: { Accept: "text/html" } });
  if (!reply.ok) throw new Error(`${reply.status}`);
  const html = await reply.text();
  if (mine === turn) swap(html);
}

function busy(on, names) {
  for (const name of names)
    root.querySelector(`[data-part="${name}"]`)?.toggleAttribute("aria-busy", on);
  if (solving) solving.textContent = on ? "Solving…" : "";
}

async function look(params, { push = true } = {}) {
  turn += 1;
  const mine = turn;
  const query = `${params}`;
  if (push) {
    const entry = { changes: changes() + 1 };
    history.pushState(entry, "", query ? `?${query}` : location.pathname);
    showUndo();
  }
  busy(true, ["head", "body", "curve", "sets"]);
  try {
    await load(params, "set", mine);
    if (mine !== turn) return;
    busy(false, ["head", "body"]);
    if (service) service.show(dataOf());
    announce.textContent = root.querySelector("h1").textContent.trim();
    document.title = document.title.replace(
      /^.* · /,
      `${root.querySelector("h1").textContent.trim()} · `,
    );
    if (root.querySelector("[data-open]")) {
      // What was not proven at once is given a second.
      await load(params, "patient", mine);
      if (mine === turn && service) service.show(dataOf());
    }
    await load(params, "curve", mine);
  } catch {
    // A page loaded whole says what is wrong.
    location.reload();
  } finally {
    if (mine === turn) busy(false, ["head", "body", "curve", "sets"]);
  }
  keepUp(params);
  if (mine === turn) followSize(form.elements.k.value);
}

function keepUp(params) {
  const keep = root.querySelector("[data-keep]");
  if (keep) keep.action = `${keep.action.split("?")[0]}?${params}`;
  if (form)
    form.elements.k.value =
      root.querySelector("[data-part=sets] tr[aria-current] th")?.textContent ??
      form.elements.k.value;
}

function add(name, value) {
  const field = form.elements[name];
  const names = field.value
    .split(",")
    .map((n) => n.trim())
    .filter(Boolean);
  if (!names.includes(value)) names.push(value);
  form.closest("details").open = true;
  field.value = names.join(", ");
  look(fromForm());
}

/* The slider of sizes: its figures are on the page, the rest follows */
const sizes = root.querySelector("[data-sizes]");
const SLIDE_MS = 60;

function sizeList() {
  return JSON.parse(document.getElementById("sizes-of-sets")?.textContent ?? "[]");
}

function showSize(place) {
  const size = sizeList()[place];
  const slider = sizes.querySelector("input");
  slider.value = place;
  slider.setAttribute("aria-valuetext", size.text);
  sizes.querySelector("output").textContent = size.text;
}

function followSize(k) {
  const list = sizeList();
  const place = list.findIndex((size) => `${size.k}` === `${k}`);
  if (!sizes || place < 0) return;
  sizes.querySelector("input").max = list.length - 1;
  showSize(place);
}

sizes?.addEventListener("input", (event) => {
  const place = Number(event.target.value);
  const size = sizeList()[place];
  if (!size) return;
  showSize(place);
  clearTimeout(timer);
  timer = setTimeout(() => {
    const params = new URLSearchParams(location.search);
    params.delete("fail");
    params.set("k", size.k);
    if (!form) return location.assign(`?${params}`);
    form.elements.k.value = size.k;
    history.replaceState(history.state, "", `?${params}`);
    return look(params, { push: false });
  }, SLIDE_MS);
});

/* Reader */
root.addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  const link = event.target.closest("a[data-look], a[data-add], a[data-reset]");
  const mode = event.target.closest("[data-mode]");
  if (event.target.closest("[data-print]")) window.print();
  if (event.target.closest("[data-undo]")) return history.back();
  if (mode) return show(mode.dataset.mode);
  if (!link || !form) return undefined;
  event.preventDefault();
  if (link.dataset.add) return add(link.dataset.add, link.dataset.value);
  if ("reset" in link.dataset) return location.assign(location.pathname);
  const params = new URLSearchParams(link.getAttribute("href").slice(1));
  if (params.has("k")) form.elements.k.value = params.get("k");
  if (params.has("fail") && service) show("then");
  return look(params).then(() => reveal(params));
});

function reveal(params) {
  if (!params.has("fail")) return;
  const behaviour = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  document.getElementById("failure")?.scrollIntoView({ block: "center", behavior: behaviour });
}

function show(mode) {
  for (const button of root.querySelectorAll("[data-mode]")) {
    button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
  }
  service?.show(dataOf(), mode);
}

form?.addEventListener("input", (event) => {
  clearTimeout(timer);
  const typed = event.target.matches("input[type=text], input[type=number]");
  timer = setTimeout(() => look(fromForm()), typed ? 2 * WAIT_MS : WAIT_MS / 4);
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  look(fromForm());
});
addEventListener("popstate", () => location.reload());
showUndo();
if (isChanged()) keepUp(new URLSearchParams(location.search));
