// A running campaign: its figures every two seconds, its tables with every fifth of them; buttons
// and all else anew when its state changes.
import { fetchParts } from "./swap.js";
import { sortable } from "./table.js";

const box = document.querySelector("[data-campaign]");
const announce = document.querySelector("[data-announce]");
const TURNS = 5;
let turn = 0;
let announced = 0;

function tell() {
  const bar = box.querySelector("progress");
  if (bar && bar.value - announced >= 0.1) {
    announced = bar.value;
    announce.textContent = `${Math.round(bar.value * 100)} % of the slots are over`;
  }
}

async function poll() {
  turn += 1;
  try {
    await fetchParts(turn % TURNS ? box.dataset.partial : location.href);
    const state = box.querySelector("[data-state]")?.dataset.state;
    if (state && state !== box.dataset.campaign) return location.reload();
    tell();
  } catch {
    // The connection is away for a moment; the next turn asks again.
  }
  setTimeout(poll, document.hidden ? 10000 : 2000);
}

document.addEventListener("partschange", () => sortable(document));
if (box) setTimeout(poll, 2000);
