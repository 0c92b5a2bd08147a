// The front page: a region fails in place, and the field says what it understood.
import { fetchParts } from "./swap.js";

const field = document.getElementById("ask");
const narrow = matchMedia("(max-width: 900px)");
let shown = location.pathname + location.search;

async function show(url, { push = true } = {}) {
  try {
    const { fresh } = await fetchParts(url);
    document.title = fresh.title;
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
    return;
  }
  if (push) history.pushState({ front: true }, "", url);
  shown = location.pathname + location.search;
  const heading = document.querySelector(".front__lead h1");
  heading.focus({ preventScroll: !narrow.matches });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-fail]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  link.classList.add("is-down");
  show(new URL(link.getAttribute("href"), location.href).href);
});
// A link to a part of the page, such as the one past the header, changes the fragment alone.
addEventListener("popstate", () => {
  if (location.pathname + location.search !== shown) show(location.href, { push: false });
});

// Enter sends the field; Shift and Enter begin a line of a list.
document.addEventListener("keydown", (event) => {
  if (event.target.id !== "ask" || event.key !== "Enter" || event.shiftKey || event.isComposing)
    return;
  event.preventDefault();
  if (event.target.value.trim()) event.target.form.requestSubmit();
});

let timer = null;
let asked = null;
async function understand(input) {
  const note = input.form.querySelector("[data-understood]");
  note.dataset.usual ??= note.textContent;
  const text = input.value.trim();
  asked?.abort();
  if (!text) {
    note.textContent = note.dataset.usual;
    return;
  }
  asked = new AbortController();
  const query = new URLSearchParams({ q: text.slice(0, 4000), part: "1" });
  try {
    const answer = await fetch(`${input.form.action}?${query}`, { signal: asked.signal });
    if (answer.ok) note.textContent = await answer.text();
  } catch {
    // The line keeps what it said.
  }
}
document.addEventListener("input", (event) => {
  if (event.target.id !== "ask") return;
  clearTimeout(timer);
  timer = setTimeout(understand, 250, event.target);
});
if (
  field?.value.trim() &&
  !field.form.querySelector(".error") &&
  !document.querySelector("h1.read")
)
  understand(field);
