// What a mark of a drawing tells stands in its title; a pointer sees it at once, in the house's box.
const tip = document.createElement("div");
tip.className = "plot-tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);

function take(scope) {
  for (const title of scope.querySelectorAll("[data-plot] title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
}

function show(event) {
  const mark = event.target.closest?.("[data-tip]");
  document.querySelectorAll(".is-told").forEach((m) => m !== mark && m.classList.remove("is-told"));
  tip.hidden = !mark;
  if (!mark) return;
  mark.classList.add("is-told");
  const [head, ...rest] = mark.dataset.tip.split("\n");
  const bold = Object.assign(document.createElement("b"), { textContent: head });
  const lines = rest.map((text) =>
    Object.assign(document.createElement("span"), { textContent: text }),
  );
  tip.replaceChildren(bold, ...lines);
  const { clientX: x, clientY: y } = event;
  const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, y - tip.offsetHeight - 12)}px`;
}

take(document);
document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
document.addEventListener("scroll", () => (tip.hidden = true), { passive: true });
document.addEventListener("partschange", () => take(document));
