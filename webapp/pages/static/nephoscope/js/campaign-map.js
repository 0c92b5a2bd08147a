// Arrow keys in the grid of pairs and on the map; rows beside the map and marks on it point at each
// other. Without this, every cell and mark is a link that Tab comes to.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/* One stop of the Tab key for many links; arrows go on from there. */
function rove(links, next) {
  if (!links.length) return;
  const hold = (link) =>
    links.forEach((other) => other.setAttribute("tabindex", other === link ? 0 : -1));
  hold(links.find((link) => link.querySelector(".is-chosen")) ?? links[0]);
  for (const link of links) {
    link.addEventListener("focus", () => hold(link));
    link.addEventListener("keydown", (event) => {
      const to = event.ctrlKey || event.metaKey || event.altKey ? null : next(link, event.key);
      if (!to) return;
      event.preventDefault();
      to.focus();
    });
  }
}

function inTable(table) {
  const rows = [...table.tBodies[0].rows];
  const at = (row, column) => rows[row]?.cells[column]?.querySelector("a");
  const line = (row, way) => [...row.querySelectorAll("td a")].at(way);
  rove([...table.querySelectorAll("tbody td a")], (link, key) => {
    const cell = link.closest("td");
    const row = cell.parentElement;
    if (key === "Home") return line(row, 0);
    if (key === "End") return line(row, -1);
    const [dx, dy] = ARROWS[key] ?? [0, 0];
    let [x, y] = [cell.cellIndex, rows.indexOf(row)];
    // Cells without a value that can be followed are passed over.
    for (let step = 0; (dx || dy) && step < 200; step += 1) {
      [x, y] = [x + dx, y + dy];
      if (y < 0 || y >= rows.length || x < 1 || x >= row.cells.length) return null;
      if (at(y, x)) return at(y, x);
    }
    return null;
  });
}

/* The nearest mark in a direction: what is off to the side counts for more. */
function onMap(map) {
  const links = [...map.querySelectorAll("a")];
  const spot = (link) => {
    const box = link.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  rove(links, (link, key) => {
    const way = ARROWS[key];
    if (!way) return null;
    const [x, y] = spot(link);
    let [best, least] = [null, Infinity];
    for (const other of links) {
      const [dx, dy] = [spot(other)[0] - x, spot(other)[1] - y];
      const along = dx * way[0] + dy * way[1];
      const aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (other !== link && along > 0.5 && along + 2 * aside < least)
        [best, least] = [other, along + 2 * aside];
    }
    return best;
  });
}

/* What has the same name in the map and in its table is shown together. */
function point(atlas) {
  const marks = new Map();
  for (const mark of atlas.querySelectorAll("[data-end]")) {
    marks.set(mark.dataset.end, [...(marks.get(mark.dataset.end) ?? []), mark]);
  }
  const show = (event, on) => {
    const name = event.target.closest?.("[data-end]")?.dataset.end;
    for (const mark of marks.get(name) ?? []) mark.classList.toggle("is-pointed", on);
  };
  for (const [begin, end] of [
    ["mouseover", "mouseout"],
    ["focusin", "focusout"],
  ]) {
    atlas.addEventListener(begin, (event) => show(event, true));
    atlas.addEventListener(end, (event) => show(event, false));
  }
}

document.querySelectorAll("[data-cells]").forEach(inTable);
document.querySelectorAll(".atlas__map").forEach(onMap);
document.querySelectorAll(".atlas").forEach(point);
