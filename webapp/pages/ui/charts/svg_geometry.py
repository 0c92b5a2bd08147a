"""Values go in; the geometry of plain SVG charts comes out, in units of the drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LEFT, RIGHT, TOP, BOTTOM = 64.0, 16.0, 14.0, 30.0
MOST_LINES = 5


@dataclass(frozen=True, slots=True)
class Axis:
    """Values along one side, from ``low`` to ``high``, between two ends of the drawing."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """Where a value stands; those beyond the ends stand at them."""
        if self.high <= self.low:
            return round((self.begin + self.end) / 2, 1)
        part = min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
        return round(self.begin + part * (self.end - self.begin), 1)

    def ticks(self, most: int = MOST_LINES) -> list[float]:
        """Round values within the axis."""
        step = _step((self.high - self.low) or 1.0, most)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(n * step, 10) for n in range(first, last + 1)]


def _step(span: float, most: int) -> float:
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * f for f in (1, 2, 5, 10, 20) if span / (power * f) <= most)


def line(points: Sequence[tuple[float, float]]) -> str:
    """A path through points."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if points else ""


def lines(runs: Sequence[Sequence[tuple[float, float]]]) -> str:
    """Paths with gaps; a run of one point is a dot."""
    return "".join(line([*run, run[0]] if len(run) == 1 else run) for run in runs if run)


def band(low: Sequence[tuple[float, float]], high: Sequence[tuple[float, float]]) -> str:
    """The area between two lines."""
    if len(low) < 2:
        return ""
    return line([*high, *reversed(low)]) + "z"


def runs_of(numbers: Sequence[int]) -> list[list[int]]:
    """Consecutive whole numbers together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def whisker(axis: Axis, middle: float, half: float) -> dict[str, float]:
    """A bar from zero with its spread."""
    return {
        "x": axis.at(0),
        "width": round(axis.at(middle) - axis.at(0), 1),
        "low": axis.at(max(0.0, middle - half)),
        "high": axis.at(middle + half),
    }


def course(
    rows: Sequence[dict[str, Any]], rounds: int, size: tuple[float, float], most: float
) -> dict[str, Any]:
    """Mean with its band over rounds, gaps where there was no value, and marks for those.

    ``rows`` have ``round``, ``n``, ``mean``, ``low``, ``high``; ``most`` bounds the axis.
    """
    width, height = size
    across = Axis(0, max(1, rounds - 1), LEFT, width - RIGHT)
    down = Axis(0, most or 1, height - BOTTOM, TOP)
    heard = {int(r["round"]): r for r in rows if r["n"]}
    silent = [int(r["round"]) for r in rows if not r["n"]]
    runs = runs_of(sorted(heard))

    def along(run: list[int], key: str) -> list[tuple[float, float]]:
        return [(across.at(n), down.at(heard[n][key])) for n in run]

    return {
        "width": width,
        "height": height,
        "left": LEFT,
        "right": width - RIGHT,
        "base": height - BOTTOM,
        "top": TOP,
        "path": lines([along(run, "mean") for run in runs]),
        "band": "".join(band(along(run, "low"), along(run, "high")) for run in runs),
        "gaps": [_gap(across, run) for run in runs_of(silent)],
        "lines": [{"y": down.at(v), "value": v} for v in down.ticks()],
        "across": across,
    }


def _gap(across: Axis, run: list[int]) -> dict[str, float]:
    begin, end = across.at(run[0] - 0.5), across.at(run[-1] + 0.5)
    return {"x": begin, "width": max(2.0, round(end - begin, 1)), "rounds": len(run)}
