"""Axes, ticks and paths of every chart that the server draws as SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]
_STEP_FACTORS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from ``low`` to ``high``, drawn between ``start`` and ``end`` of one side.

    Values beyond the ends are drawn at the ends; an axis without extent has its middle only.
    """

    low: float
    high: float
    start: float = 0.0
    end: float = 1.0
    is_log: bool = False

    def fraction(self, value: float) -> float:
        """Return the position of a value as a fraction of the axis, from 0 to 1."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5

    def at(self, value: float) -> float:
        """Return the coordinate of a value in units of the drawing, to a tenth of one."""
        return round(self.start + self.fraction(value) * (self.end - self.start), 1)

    def ticks(self, max_steps: int = 5) -> list[float]:
        """Return round values within the axis."""
        return round_ticks(self.low, self.high, max_steps)


def round_step(span: float, max_steps: int) -> float:
    """Return the smallest of 1, 2, 5 · 10ⁿ that divides a span into at most ``max_steps``."""
    span = span if span > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(span / max_steps))
    fitting = (power * f for f in _STEP_FACTORS if span / (power * f) <= max_steps + 1e-9)
    return next(fitting)


def round_ticks(low: float, high: float, max_steps: int = 6) -> list[float]:
    """Return round values from ``low`` to ``high``, with at most ``max_steps`` steps."""
    step = round_step(high - low, max_steps)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * number, 10) for number in range(first, last + 1)]


def decade_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten between two values, the ends included."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]


def line_path(points: Sequence[Point]) -> str:
    """Return the path data of a line through points; empty without points."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if points else ""


def area_path(lower: Sequence[Point], upper: Sequence[Point]) -> str:
    """Return the path data of the area between two lines; empty below two points."""
    return line_path([*upper, *reversed(lower)]) + "z" if len(lower) > 1 else ""


def column(axis: Axis, value: float) -> dict[str, float]:
    """Return ``y`` and ``height`` of a bar that begins at the start of a vertical axis."""
    top = axis.at(value)
    return {"y": top, "height": round(axis.start - top, 1)}


def consecutive_runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return ascending whole numbers, grouped where they follow each other."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
