// Tables that sort by a column head; the order that the server gave is the third state.
const read = (cell) => cell?.dataset.value ?? cell?.textContent.trim() ?? "";

function compare(a, b) {
  const [x, y] = [Number(a), Number(b)];
  if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  return a.localeCompare(b, "en", { numeric: true });
}

function sort(table, index, direction) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.forEach((row, at) => (row.dataset.at ??= at));
  rows.sort((a, b) =>
    direction === 0
      ? a.dataset.at - b.dataset.at
      : direction * compare(read(a.cells[index]), read(b.cells[index])),
  );
  body.append(...rows);
}

function press(table, head) {
  const numeric = head.classList.contains("num");
  const order = numeric ? ["descending", "ascending", null] : ["ascending", "descending", null];
  const now = head.getAttribute("aria-sort");
  const next = order[(order.indexOf(now) + 1) % 3];
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  if (next) head.setAttribute("aria-sort", next);
  sort(table, head.cellIndex, next === "ascending" ? 1 : next === "descending" ? -1 : 0);
}

export function sortable(scope) {
  for (const table of scope.querySelectorAll("table[data-sortable]:not([data-ready])")) {
    table.dataset.ready = "";
    if (table.tBodies[0].rows.length < 2) continue;
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "grid__sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => press(table, head));
    }
  }
}
