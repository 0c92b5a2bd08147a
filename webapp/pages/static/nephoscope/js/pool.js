// A pool's page follows what arrives: it asks every two seconds while it is seen, and keeps the
// reader's order of the table and place in it.
import { duration } from "./format.js";
import { fetchParts } from "./swap.js";
import { sortable } from "./table.js";

const EVERY_MS = 2000;
const SLOWEST_MS = 30000;
const live = document.querySelector("[data-live]");
const state = document.querySelector("[data-live-state]");
const announce = document.querySelector("[data-announce]");
let tag = live?.dataset.live || null;
let wait = EVERY_MS;

function readOrder() {
  return [...document.querySelectorAll("table[data-sortable] th[aria-sort]")].map((head) => ({
    table: head.closest("table").id,
    index: head.cellIndex,
    order: head.getAttribute("aria-sort"),
  }));
}

function restore(orders, href) {
  sortable(document);
  for (const { table, index, order } of orders) {
    const head = document.getElementById(table)?.tHead.rows[0].cells[index];
    for (let press = 0; head && press < 2 && head.getAttribute("aria-sort") !== order; press += 1) {
      head.querySelector("button")?.click();
    }
  }
  if (href && document.activeElement === document.body) {
    document.querySelector(`[data-part] a[href="${CSS.escape(href)}"]`)?.focus();
  }
}

function showState(away) {
  state.classList.toggle("live--away", away);
  state.textContent = away ? "connection lost, trying again" : "live";
}

async function look() {
  const orders = readOrder();
  const href = document.activeElement?.closest("[data-part]")
    ? document.activeElement.getAttribute("href")
    : null;
  try {
    const found = await fetchParts(location.href, tag);
    tag = found.tag;
    wait = EVERY_MS;
    showState(false);
    if (found.changed) {
      restore(orders, href);
      document.title = found.fresh.title;
      announce.textContent = document.querySelector("h1").textContent.trim();
    }
  } catch {
    wait = Math.min(wait * 2, SLOWEST_MS);
    showState(true);
  }
}

// Ages go on while nothing arrives.
function growOlder() {
  for (const time of document.querySelectorAll("[data-part] time")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const whole =
      seconds < 3600 ? Math.floor(seconds / 60) * 60 : Math.floor(seconds / 3600) * 3600;
    if (seconds >= 60 && seconds < 48 * 3600) {
      time.textContent = `${duration(whole).replace(/\u202fh 0\u202fmin$/, "\u202fh")} ago`;
    }
  }
}

async function follow() {
  if (!document.hidden) await look();
  setTimeout(follow, wait);
}

// A command that is copied; without permission it is selected, to be copied by hand.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-text]");
  if (!button) return;
  const code = button.parentNode.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
});
if (live) {
  setTimeout(follow, wait);
  setInterval(growOlder, 30_000);
}
