// Evidence beside the label: links that name it open their page in a panel. Without this script,
// or with a modifier key, they are links like any other.
const panel = document.createElement("dialog");
panel.className = "panel";
panel.setAttribute("aria-labelledby", "panel-title");
const close = document.createElement("button");
close.type = "button";
close.className = "icon-button panel__close";
close.setAttribute("aria-label", "Close the evidence");
close.innerHTML =
  '<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d="m5 5 10 10M15 5 5 15"/></svg>';
const body = document.createElement("div");
panel.append(close, body);
document.body.append(panel);
let asked = 0;

function say(text) {
  const title = Object.assign(document.createElement("h2"), {
    id: "panel-title",
    tabIndex: -1,
    textContent: text,
  });
  body.replaceChildren(title);
}

async function open(link) {
  const mine = (asked += 1);
  say("Looking it up…");
  panel.showModal();
  try {
    const answer = await fetch(link.href, { headers: { "X-Part": "panel" } });
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    if (mine !== asked || !panel.open) return;
    body.innerHTML = text;
    panel.scrollTop = 0;
    document.getElementById("panel-title")?.focus({ preventScroll: true });
  } catch {
    location.assign(link.href);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-evidence]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  open(link);
});
close.addEventListener("click", () => panel.close());
// A click beside the panel closes it: only the backdrop is outside of its box.
panel.addEventListener("click", (event) => {
  const box = panel.getBoundingClientRect();
  const inside =
    event.clientX >= box.left &&
    event.clientX <= box.right &&
    event.clientY >= box.top &&
    event.clientY <= box.bottom;
  if (event.target === panel && !inside) panel.close();
});
