"""A plot with axes, lines, bands, bars and hints, as ``screening/parts/plot.html`` draws it.

Lines live in a box of 1000 by 1000 units that stretches with the page; texts and dots keep their
size, since their positions are percentages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from webapp.pages.ui.charts.svg import Axis, Point, area_path, line_path

BOX = 1000.0
# Least distance of the labels at the ends of lines, as a fraction of the height.
LABEL_GAP = 0.062
# Labels beyond this fraction of the width are written to the left of their mark.
_LEFTWARD_FROM = 0.72
# Letters that fit in the space that is usually kept beside a plot with named lines.
_SHORT_NAME = 9


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of an axis: its position in percent of the side, and its text."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A line, band or bar: its path in the box, and the class that colours it."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot, a hover column or a vertical line; ``tip`` is shown on hover."""

    x: str
    y: str
    kind: str
    tip: str
    width: str = ""
    text: str = ""
    anchor: str = ""


@dataclass(slots=True)
class Plot:
    """A plot; ``size`` names a class of heights in the style sheet."""

    label: str
    x: Axis
    y: Axis
    x_label: str = ""
    y_label: str = ""
    size: str = "m"
    x_ticks: list[Tick] = field(default_factory=list)
    y_ticks: list[Tick] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    dots: list[Mark] = field(default_factory=list)
    hover_columns: list[Mark] = field(default_factory=list)
    end_labels: list[Mark] = field(default_factory=list)
    vertical_lines: list[Mark] = field(default_factory=list)

    @property
    def names_kind(self) -> str:
        """How much space the names at the ends of lines need beside the plot."""
        is_long = any(len(mark.text) > _SHORT_NAME for mark in self.end_labels)
        return "long-names" if is_long else "named"

    def set_x_ticks(self, values: Iterable[tuple[float, str]]) -> None:
        """Set the ticks below the plot, as (value, text)."""
        self.x_ticks = [Tick(percent(self.x.fraction(v)), text) for v, text in values]

    def set_y_ticks(self, values: Iterable[tuple[float, str]]) -> None:
        """Set the ticks beside the plot and their grid lines, as (value, text)."""
        self.y_ticks = [Tick(percent(1 - self.y.fraction(v)), text) for v, text in values]

    def add_line(self, points: Sequence[Point], kind: str) -> None:
        """Draw a line through points."""
        if points:
            self.shapes.append(Shape(line_path(self._in_box(points)), kind))

    def add_steps(self, points: Sequence[Point], kind: str) -> None:
        """Draw a line that keeps its value until the next point."""
        corners = list(points[:1])
        for (_, before), (x, y) in zip(points, points[1:], strict=False):
            corners += [(x, before), (x, y)]
        self.add_line(corners, kind)

    def add_band(self, lower: Sequence[Point], upper: Sequence[Point], kind: str) -> None:
        """Fill the area between two lines."""
        self.shapes.append(Shape(area_path(self._in_box(lower), self._in_box(upper)), kind))

    def add_bar(self, left: float, right: float, top: float, kind: str) -> None:
        """Draw a bar from the bottom to ``top``."""
        self.add_band([(left, self.y.low), (right, self.y.low)], [(left, top), (right, top)], kind)

    def add_dot(self, point: Point, kind: str, tip: str, text: str = "") -> None:
        """Draw a dot, with a text beside it where one is given."""
        x = self.x.fraction(point[0])
        anchor = "end" if x > _LEFTWARD_FROM else "start"
        y = percent(1 - self.y.fraction(point[1]))
        self.dots.append(Mark(percent(x), y, kind, tip, text=text, anchor=anchor))

    def add_hover_column(self, left: float, right: float, tip: str) -> None:
        """Add an invisible column that shows the figures in it on hover."""
        start, end = self.x.fraction(left), self.x.fraction(right)
        self.hover_columns.append(Mark(percent(start), "0", "", tip, width=percent(end - start)))

    def add_vertical_line(self, x: float, text: str, kind: str = "") -> None:
        """Draw a vertical line with a text at its top."""
        at = self.x.fraction(x)
        anchor = "end" if at > _LEFTWARD_FROM else "start"
        self.vertical_lines.append(Mark(percent(at), "0", kind, "", text=text, anchor=anchor))

    def label_ends(self, names: Sequence[tuple[float, str, str]]) -> None:
        """Write (value, kind, text) beside the ends of lines, moved apart to avoid overlaps."""
        wanted = sorted((1 - self.y.fraction(y), kind, text) for y, kind, text in names)
        at = -1.0
        placed: list[tuple[float, str, str]] = []
        for y, kind, text in wanted:
            at = max(y, at + LABEL_GAP)
            placed.append((at, kind, text))
        over = max(0.0, at - 1)
        self.end_labels = [
            Mark("100%", percent(y - over), kind, "", text=t) for y, kind, t in placed
        ]

    def _in_box(self, points: Sequence[Point]) -> list[Point]:
        x, y = (replace(axis, start=s, end=BOX - s) for axis, s in ((self.x, 0.0), (self.y, BOX)))
        return [(x.at(across), y.at(up)) for across, up in points]


def percent(fraction: float) -> str:
    """Return a fraction as an SVG length."""
    return f"{100 * fraction:.2f}%"
