"""Values in, the geometry of a drawing out: shares of its width and height, for plain SVG.

Paths live in a box of 1000 by 1000 that stretches with the page; texts and dots keep their size.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

BOX = 1000
# Labels at the ends of lines stand at least so far apart, in shares of the height.
LABEL_GAP = 0.062
STEPS = (1, 2, 5, 10)
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values along one side; a logarithmic one says so in its label."""

    low: float
    high: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1; values beyond the ends lie on them."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of a scale: where, in percent of the side, and what it says."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A line, band or bar: its path in the box, and the class that colours it."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot or a strip with what it tells; ``width`` is for strips."""

    x: str
    y: str
    kind: str
    tip: str
    width: str = ""
    text: str = ""
    anchor: str = ""


@dataclass(slots=True)
class Plot:
    """A drawing as its template part takes it; ``size`` is a class of height."""

    label: str
    x: Scale
    y: Scale
    x_label: str = ""
    y_label: str = ""
    size: str = "m"
    x_ticks: list[Tick] = field(default_factory=list)
    y_ticks: list[Tick] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    dots: list[Mark] = field(default_factory=list)
    strips: list[Mark] = field(default_factory=list)
    ends: list[Mark] = field(default_factory=list)
    rules: list[Mark] = field(default_factory=list)

    def mark_x(self, values: Iterable[tuple[float, str]]) -> None:
        """Ticks along the bottom."""
        self.x_ticks = [Tick(percent(self.x.place(v)), text) for v, text in values]

    def mark_y(self, values: Iterable[tuple[float, str]]) -> None:
        """Ticks and lines along the side."""
        self.y_ticks = [Tick(percent(1 - self.y.place(v)), text) for v, text in values]

    def add_line(self, points: Sequence[Point], kind: str) -> None:
        """A line through points."""
        if points:
            self.shapes.append(Shape("M" + "L".join(map(self._fit, points)), kind))

    def add_steps(self, points: Sequence[Point], kind: str) -> None:
        """A line that holds its level until the next point."""
        turned = list(points[:1])
        for (_, before), (x, y) in zip(points, points[1:], strict=False):
            turned += [(x, before), (x, y)]
        self.add_line(turned, kind)

    def add_band(self, lower: Sequence[Point], upper: Sequence[Point], kind: str) -> None:
        """The room between two lines."""
        points = [*lower, *reversed(upper)]
        self.shapes.append(Shape("M" + "L".join(map(self._fit, points)) + "Z", kind))

    def add_bar(self, left: float, right: float, top: float, kind: str) -> None:
        """A bar from the bottom."""
        corners = [(left, self.y.low), (left, top), (right, top), (right, self.y.low)]
        self.shapes.append(Shape("M" + "L".join(map(self._fit, corners)) + "Z", kind))

    def add_dot(self, point: Point, kind: str, tip: str, text: str = "") -> None:
        """A dot, with a text beside it where one is given."""
        x = self.x.place(point[0])
        anchor = "end" if x > 0.72 else "start"
        y = percent(1 - self.y.place(point[1]))
        self.dots.append(Mark(percent(x), y, kind, tip, text=text, anchor=anchor))

    def add_strip(self, left: float, right: float, tip: str) -> None:
        """An invisible column that tells what lies in it."""
        start, end = self.x.place(left), self.x.place(right)
        self.strips.append(Mark(percent(start), "0", "", tip, width=percent(end - start)))

    def add_rule(self, x: float, text: str, kind: str = "") -> None:
        """An upright line with a text at its top."""
        at = self.x.place(x)
        anchor = "end" if at > 0.72 else "start"
        self.rules.append(Mark(percent(at), "0", kind, "", text=text, anchor=anchor))

    def name_ends(self, names: Sequence[tuple[float, str, str]]) -> None:
        """Names of lines beside their ends, moved apart where they would touch."""
        wanted = sorted((1 - self.y.place(y), kind, text) for y, kind, text in names)
        at = -1.0
        placed: list[tuple[float, str, str]] = []
        for y, kind, text in wanted:
            at = max(y, at + LABEL_GAP)
            placed.append((at, kind, text))
        over = max(0.0, at - 1)
        self.ends = [Mark("100%", percent(y - over), kind, "", text=t) for y, kind, t in placed]

    def _fit(self, point: Point) -> str:
        x, y = self.x.place(point[0]), 1 - self.y.place(point[1])
        return f"{x * BOX:.1f},{y * BOX:.1f}"


def percent(part: float) -> str:
    """A share as an SVG length."""
    return f"{100 * part:.2f}%"


def list_round(high: float, most: int = 6, low: float = 0.0) -> list[float]:
    """Round values from ``low`` to ``high``, at most so many steps."""
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in STEPS if span / (power * factor) <= most + 1e-9)
    first = math.ceil(low / step - 1e-9)
    return [step * at for at in range(first, math.floor(high / step + 1e-9) + 1)]


def list_decades(low: float, high: float) -> list[float]:
    """Powers of ten between two values, the ends included."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]
