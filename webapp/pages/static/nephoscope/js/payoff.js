// Sliders ask at once: the address follows, and the parts of the page that answer are put in place.
import { fetchParts } from "./swap.js";

const form = document.querySelector("[data-payoff]");
const announce = document.querySelector("[data-announce]");
let waiting = false;
let quiet = 0;

function write(input) {
  const output = form.querySelector(`output[for="${input.id}"]`);
  if (output) output.textContent = `${Number(input.value)}${output.dataset.unit}`;
}

function readAddress() {
  const query = new URLSearchParams(new FormData(form));
  return `${form.getAttribute("action")}?${query}`;
}

async function ask() {
  waiting = false;
  const url = readAddress();
  history.replaceState(null, "", url);
  try {
    await fetchParts(url);
  } catch (error) {
    // A newer question has taken its place, or the connection is away: the next one asks again.
    if (error.name !== "AbortError") announce.textContent = "The answer could not be fetched";
    return;
  }
  clearTimeout(quiet);
  quiet = setTimeout(
    () => (announce.textContent = document.querySelector("h1").textContent.trim()),
    600,
  );
}

form.addEventListener("input", (event) => {
  write(event.target);
  if (waiting) return;
  waiting = true;
  setTimeout(ask, 40);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
