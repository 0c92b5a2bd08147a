// Places of labels on a map: greedy, the most important first; one that finds no room is left out.
const GAP = 5;

const overlaps = (a, b) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function touchesDisc(box, disc) {
  const dx = Math.max(box.left - disc.x, 0, disc.x - box.right);
  const dy = Math.max(box.top - disc.y, 0, disc.y - box.bottom);
  return dx * dx + dy * dy < disc.r * disc.r;
}

function candidates({ x, y, r, width, height }) {
  const reach = Math.max(r, 9) + GAP;
  const slant = reach * 0.75;
  const box = (left, top, align) => ({
    left,
    top,
    right: left + width,
    bottom: top + height,
    align,
  });
  return [
    box(x + reach, y - height / 2, "right"),
    box(x - reach - width, y - height / 2, "left"),
    box(x - width / 2, y + reach - 2, "middle"),
    box(x - width / 2, y - reach - height + 2, "middle"),
    box(x + slant, y + slant * 0.6, "right"),
    box(x + slant, y - slant * 0.6 - height, "right"),
    box(x - slant - width, y + slant * 0.6, "left"),
    box(x - slant - width, y - slant * 0.6 - height, "left"),
  ];
}

// items: {x, y, r, width, height}, most important first; returns one box or null for each.
export function placeLabels(items, frame, obstacles) {
  const taken = [...obstacles];
  return items.map((item) => {
    const free = candidates(item).find(
      (box) =>
        box.left > frame.left + 4 &&
        box.right < frame.right - 4 &&
        box.top > frame.top + 4 &&
        box.bottom < frame.bottom - 4 &&
        !taken.some((other) => overlaps(box, other)) &&
        !items.some((other) =>
          touchesDisc(box, { ...other, r: other === item ? item.r : Math.max(other.r, 9) + 2 }),
        ),
    );
    if (free) taken.push(free);
    return free ?? null;
  });
}

// Moves points apart until no two are nearer than `distance`; small shifts, shared by both.
export function dodge(points, distance) {
  const moved = points.map((p) => ({ ...p }));
  for (let round = 0; round < 40; round += 1) {
    let quiet = true;
    for (let i = 0; i < moved.length; i += 1) {
      for (let j = i + 1; j < moved.length; j += 1) {
        const [a, b] = [moved[i], moved[j]];
        let [dx, dy] = [b.x - a.x, b.y - a.y];
        let gap = Math.hypot(dx, dy);
        if (gap >= distance) continue;
        quiet = false;
        if (gap < 0.5) [dx, dy, gap] = [Math.cos(i + j), Math.sin(i + j), 1];
        // The heavier point (earlier in the list) keeps more of its place.
        const push = (distance - Math.min(gap, distance)) / gap + 0.02;
        b.x += dx * push * 0.75;
        b.y += dy * push * 0.75;
        a.x -= dx * push * 0.25;
        a.y -= dy * push * 0.25;
      }
    }
    if (quiet) break;
  }
  return moved;
}
