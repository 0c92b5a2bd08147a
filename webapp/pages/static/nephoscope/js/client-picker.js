// A combobox (WAI-ARIA pattern) that adds lines to the text area of clients, which works without it.
const picker = document.querySelector("[data-client-picker]");
const area = document.getElementById("id_audience");
const input = picker.querySelector("[role=combobox]");
const list = picker.querySelector("[role=listbox]");
const weight = picker.querySelector("#picker-weight");
const notice = picker.querySelector("[data-notice]");
let chosen = null;
let active = -1;
let asked = 0;
let timer = 0;

function close() {
  list.hidden = true;
  active = -1;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

function mark(number) {
  const options = list.children;
  if (!options.length) return;
  active = (number + options.length) % options.length;
  for (const [n, option] of [...options].entries())
    option.setAttribute("aria-selected", String(n === active));
  input.setAttribute("aria-activedescendant", options[active].id);
  options[active].scrollIntoView({ block: "nearest" });
}

function choose(option) {
  chosen = option.dataset.client;
  input.value = option.textContent;
  close();
  weight.focus();
  weight.select();
}

function show(found) {
  list.replaceChildren(
    ...found.map((one, n) => {
      const option = document.createElement("li");
      option.id = `picker-option-${n}`;
      option.role = "option";
      option.ariaSelected = "false";
      option.dataset.client = one.client;
      option.textContent = one.name;
      return option;
    }),
  );
  list.hidden = !found.length;
  input.setAttribute("aria-expanded", String(found.length > 0));
  input.removeAttribute("aria-activedescendant");
  active = -1;
  notice.textContent = found.length
    ? `${found.length} suggestion${found.length > 1 ? "s" : ""}`
    : "Nothing of this name is known here; write it below as DE, DE/City or DE/AS64500.";
}

async function suggest() {
  const own = ++asked;
  const text = input.value.trim();
  if (!text) return close();
  try {
    const answer = await fetch(`${picker.dataset.clientPicker}?q=${encodeURIComponent(text)}`);
    if (answer.ok && own === asked) show((await answer.json()).results);
  } catch {
    notice.textContent = "Suggestions cannot be loaded; the text area below works without them.";
  }
}

function add() {
  const number = Number(weight.value.replace(",", "."));
  if (!chosen) {
    notice.textContent = "Choose one of the suggestions first.";
    return input.focus();
  }
  if (!(number > 0) || !Number.isFinite(number)) {
    notice.textContent = "The weight is a number above 0.";
    return weight.focus();
  }
  const name = /^[\p{L}\p{N}_/ .-]+$/u.test(chosen) ? chosen : `"${chosen}"`;
  const lines = area.value.trimEnd();
  area.value = `${lines}${lines ? "\n" : ""}${name},${number}\n`;
  notice.textContent = `${input.value}, weight ${number}, is in the list.`;
  input.value = "";
  chosen = null;
  input.focus();
}

input.addEventListener("input", () => {
  chosen = null;
  clearTimeout(timer);
  timer = setTimeout(suggest, 120);
});
input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (list.hidden) suggest();
    else mark(active + (event.key === "ArrowDown" ? 1 : active < 0 ? 0 : -1));
  } else if (event.key === "Escape" && !list.hidden) {
    event.preventDefault();
    close();
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (active >= 0) choose(list.children[active]);
    else if (!list.hidden && list.children.length === 1) choose(list.firstChild);
    else if (chosen) add();
  }
});
input.addEventListener("blur", () => setTimeout(close, 150));
list.addEventListener("mousedown", (event) => {
  event.preventDefault();
  const option = event.target.closest("[role=option]");
  if (option) choose(option);
});
weight.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  add();
});
picker.querySelector("[data-add]").addEventListener("click", add);
