// What every page has: theme switch, "/" for search, sortable tables, copied links, the menu.
import { sortable } from "./table.js";

const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");

export const isDark = () =>
  (root.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";

// Details that lie above the page: a click beside them or the Escape key closes them.
const OPEN_MENU = ".menu[open], .exports[open]";

function announceTheme() {
  document.dispatchEvent(new CustomEvent("themechange"));
}

function toggleTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("nephoscope-theme", root.dataset.theme);
  } catch {
    // The choice then lasts for this page only.
  }
  announceTheme();
}

function toast(text) {
  const note = document.createElement("p");
  note.className = "toast";
  note.setAttribute("role", "status");
  note.textContent = text;
  document.body.append(note);
  setTimeout(() => note.remove(), 2400);
}

async function copyLink(button) {
  const link = new URL(button.dataset.copy || location.href, location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    toast("Link copied");
  } catch {
    toast(link);
  }
}

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function onKey(event) {
  if (
    event.key === "/" &&
    !event.ctrlKey &&
    !event.metaKey &&
    !event.altKey &&
    !isTyping(event.target)
  ) {
    const menu = document.querySelector(".menu");
    let finder = document.getElementById("finder");
    if (!finder.checkVisibility()) {
      menu.open = true;
      finder = document.getElementById("finder-menu");
    }
    finder.focus();
    event.preventDefault();
  }
  if (event.key === "Escape") {
    const menu = document.querySelector(OPEN_MENU);
    if (menu?.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu?.removeAttribute("open");
  }
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-theme-toggle]")) toggleTheme();
  const copy = event.target.closest("[data-copy]");
  if (copy) copyLink(copy);
  for (const menu of document.querySelectorAll(OPEN_MENU))
    if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", onKey);

// The address of a folded section unfolds it, and so does printing.
function unfold(root) {
  for (const fold of root?.querySelectorAll("details.fold") ?? []) fold.open = true;
}
const unfoldTarget = () => unfold(document.getElementById(location.hash.slice(1)));
addEventListener("hashchange", unfoldTarget);
addEventListener("beforeprint", () => unfold(document));
unfoldTarget();
systemDark.addEventListener("change", announceTheme);
document.addEventListener("htmx:afterSettle", () => sortable(document));
sortable(document);
// The tab of this page is in view even where tabs scroll.
for (const tabs of document.querySelectorAll(".tabs")) {
  const here = tabs.querySelector("[aria-current]");
  if (here)
    tabs.scrollLeft = here.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - here.clientWidth) / 2;
}
