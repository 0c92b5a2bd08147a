// Parts of a page that follow its address: fetched as the whole page, put in place by name.
let pending = null;
const shown = new WeakMap();

export async function fetchParts(url, tag = null) {
  pending?.abort();
  pending = new AbortController();
  const headers = { Accept: "text/html", ...(tag ? { "If-None-Match": tag } : {}) };
  const answer = await fetch(url, { headers, signal: pending.signal, cache: "no-store" });
  if (answer.status === 304) return { tag, changed: false };
  if (!answer.ok && answer.status !== 422) throw new Error(`status ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  return { tag: answer.headers.get("ETag"), changed: swap(fresh), fresh };
}

function swap(fresh) {
  let changed = false;
  for (const part of document.querySelectorAll("[data-part]")) {
    const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!other || other.innerHTML === shown.get(part)) continue;
    shown.set(part, other.innerHTML);
    const open = [...part.querySelectorAll("details")].map((d) => d.open);
    const checked = [...part.querySelectorAll(".columns input")].map((c) => c.checked);
    part.replaceChildren(...other.childNodes);
    [...part.querySelectorAll(".columns input")].forEach(
      (c, at) => (c.checked = checked[at] ?? false),
    );
    [...part.querySelectorAll("details")].forEach((d, at) => (d.open = open[at] ?? d.open));
    changed = true;
  }
  if (changed) document.dispatchEvent(new CustomEvent("partschange"));
  return changed;
}
