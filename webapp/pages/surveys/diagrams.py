"""The drawn pattern of a domain: its names, the services that answer for them, and their places.

Pure geometry: the template writes it as inline SVG, once wide and once tall, and the style sheet
shows the one that fits.
"""

from dataclasses import dataclass
from typing import Any

from webapp.pages.ui import formatting

MAX_NODES = 7  # per column; the rest is one node with their number


@dataclass(frozen=True, slots=True)
class Node:
    """A box: title in the first line, a figure in the second."""

    x: float
    y: float
    width: float
    height: float
    title: str
    sub: str
    provider: str
    mono: bool = False

    @property
    def text_x(self) -> float:
        return self.x + 14

    @property
    def title_y(self) -> float:
        return self.y + 20

    @property
    def sub_y(self) -> float:
        return self.y + 36


@dataclass(frozen=True, slots=True)
class Edge:
    """A curve between two boxes; ``weight`` is its width in pixels."""

    path: str
    provider: str
    weight: float


@dataclass(frozen=True, slots=True)
class Diagram:
    """One drawing with its size."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    heads: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True)
class _Item:
    """A box before it has a place; ``weight`` is its number of names."""

    title: str
    sub: str
    provider: str
    weight: int
    mono: bool = False


def draw_deployment(found: dict[str, Any]) -> dict[str, Diagram] | None:
    """The wide and the tall drawing, or ``None`` where no name uses a cloud."""
    if not found["labels"]:
        return None
    columns = [_names(found), _fronts(found), _regions(found)]
    return {"wide": _wide(columns), "tall": _tall(columns)}


def _names(found: dict[str, Any]) -> list[_Item]:
    total = found["names"]["total"] or found["found"]
    return [_Item(_short(found["domain"], 26), f"{_names_of(total)} found", "", total, True)]


def _fronts(found: dict[str, Any]) -> list[_Item]:
    items = [
        _Item(formatting.feature(r["label"]), _front_sub(r), r["provider"], r["names"])
        for r in found["labels"]
    ]
    return _limit_nodes(items, "more front ends")


def _front_sub(row: dict[str, Any]) -> str:
    names, instances = _names_of(row["names"]), row["instances"]
    return f"{names} · {instances:,} inst." if instances else names


def _names_of(count: int) -> str:
    return f"{count:,} {'name' if count == 1 else 'names'}"


def _regions(found: dict[str, Any]) -> list[_Item]:
    items = [
        _Item(
            r["region"],
            f"{_names_of(r['names'])}, {r['only_here']:,} only here",
            r["provider"],
            r["names"],
            True,
        )
        for r in found["depends"]
    ]
    edges = sorted({r["provider"] for r in found["labels"] if r["label"] in ("cloudfront", "cdn")})
    items += [_Item("Edge network", "no region", p, 1) for p in edges]
    return _limit_nodes(items, "more regions")


def _limit_nodes(items: list[_Item], what: str) -> list[_Item]:
    if len(items) <= MAX_NODES:
        return items
    kept, rest = items[: MAX_NODES - 1], items[MAX_NODES - 1 :]
    return [*kept, _Item(f"{len(rest)} {what}", "in the tables below", rest[0].provider, 1)]


def _short(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 9]}…{text[-8:]}"


_HEADS = ("DNS names", "Front ends", "Regions")
BOX_W, BOX_H, GAP_X, GAP_Y, HEAD = 220.0, 48.0, 110.0, 14.0, 30.0


def _wide(columns: list[list[_Item]]) -> Diagram:
    tallest = max(len(c) for c in columns)
    height = HEAD + tallest * (BOX_H + GAP_Y)
    placed = []
    for at, column in enumerate(columns):
        x = at * (BOX_W + GAP_X)
        top = HEAD + (height - HEAD - len(column) * (BOX_H + GAP_Y)) / 2
        placed.append([_node(i, x, top + n * (BOX_H + GAP_Y), BOX_W) for n, i in enumerate(column)])
    heads = tuple((i * (BOX_W + GAP_X), 14.0, _HEADS[i]) for i, c in enumerate(columns) if c)
    width = (BOX_W + GAP_X) * 3 - GAP_X
    return Diagram(width, height, _flat(placed), _edges(columns, placed, _across), heads)


def _tall(columns: list[list[_Item]]) -> Diagram:
    """Columns stacked for a narrow screen, two boxes to a row."""
    width, gap, y = 340.0, 12.0, 0.0
    placed: list[list[Node]] = []
    heads: list[tuple[float, float, str]] = []
    for at, column in enumerate(columns):
        if not column:
            placed.append([])
            continue
        heads.append((0.0, y + 14, _HEADS[at]))
        top, box = y + HEAD - 6, width if len(column) == 1 else (width - gap) / 2
        placed.append(
            [
                _node(i, (n % 2) * (box + gap), top + (n // 2) * (BOX_H + gap), box)
                for n, i in enumerate(column)
            ]
        )
        y = top + -(-len(column) // 2) * (BOX_H + gap) + 26
    return Diagram(width, y - 26, _flat(placed), (), tuple(heads))


def _node(item: _Item, x: float, y: float, width: float) -> Node:
    fits = int(width // (8.2 if item.mono else 7.4)) - 2
    sub = item.sub if len(item.sub) * 6.3 < width - 20 else item.sub.split(",")[0].split(" ·")[0]
    return Node(x, y, width, BOX_H, _short(item.title, fits), sub, item.provider, item.mono)


def _flat(placed: list[list[Node]]) -> tuple[Node, ...]:
    return tuple(node for column in placed for node in column)


def _edges(columns: list[list[_Item]], placed: list[list[Node]], curve: Any) -> tuple[Edge, ...]:
    """Return edges from names to front ends, and from these to regions of their provider."""
    made = []
    for item, node in zip(columns[1], placed[1], strict=True):
        made.append(Edge(curve(placed[0][0], node), item.provider, _weight(item, columns[1])))
        for place, target in zip(columns[2], placed[2], strict=True):
            edge_only = item.title in (formatting.feature("cloudfront"), formatting.feature("cdn"))
            if place.provider == item.provider and edge_only == (place.title == "Edge network"):
                made.append(Edge(curve(node, target), item.provider, _weight(place, columns[2])))
    return tuple(made)


def _weight(item: _Item, column: list[_Item]) -> float:
    whole = max(i.weight for i in column) or 1
    return round(1.2 + 5 * item.weight / whole, 1)


def _across(start: Node, end: Node) -> str:
    x1, y1 = start.x + start.width, start.y + start.height / 2
    x2, y2 = end.x, end.y + end.height / 2
    middle = (x1 + x2) / 2
    return f"M{x1:g},{y1:g}C{middle:g},{y1:g} {middle:g},{y2:g} {x2:g},{y2:g}"
