"""The form in which experiments are declared, and what a run of one gives."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.errors import BadInput

Value = int | float | str
# Two-sided 95 % quantiles of Student's t by degrees of freedom; 1.96 beyond.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)

# The comparison of a figure that is outside with an interval that is not.
REACHES = "the interval reaches the accepted range"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: a number within ``low`` and ``high``, or one of ``choices``.

    The type of ``default`` is the type of the parameter.
    """

    name: str
    default: Value
    description: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    def parse(self, given: Any) -> Value:
        """Check a value, also in the form of text; raises ``BadInput`` that names the range."""
        if self.choices:
            if str(given) not in self.choices:
                raise self._refuse(given)
            return str(given)
        try:
            value = float(given)
        except (TypeError, ValueError):
            raise self._refuse(given) from None
        if isinstance(given, bool) or not math.isfinite(value) or not self._holds(value):
            raise self._refuse(given)
        return int(value) if isinstance(self.default, int) else value

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        low, high = (f"{v:,.10g}" for v in (self.low, self.high))
        return f"{kind} from {low} to {high}" + (f" {self.unit}" if self.unit else "")

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "default": self.default,
            "type": {int: "integer", float: "number", str: "string"}[type(self.default)],
            "unit": self.unit,
            "allowed": self.allowed,
        }
        if self.choices:
            return {**document, "choices": list(self.choices)}
        return {**document, "minimum": self.low, "maximum": self.high}

    def _holds(self, value: float) -> bool:
        if self.low is None or self.high is None:
            raise ValueError(f"{self.name} has no range")
        is_whole = value == int(value) or not isinstance(self.default, int)
        return is_whole and self.low <= value <= self.high

    def _refuse(self, given: Any) -> BadInput:
        shown = str(given)[:40]
        return BadInput(f"{shown!r} is not {self.allowed}", field=self.name)


@dataclass(frozen=True, slots=True)
class Published:
    """A published figure, and how far a reproduced one may differ.

    Relatively, absolutely, or as a range of values.
    """

    value: float
    relative: float | None = None
    absolute: float | None = None
    range: tuple[float, float] | None = None

    @property
    def accepted(self) -> tuple[float, float]:
        if self.range is not None:
            return self.range
        off = self.absolute if self.absolute is not None else abs(self.value) * (self.relative or 0)
        return self.value - off, self.value + off


@dataclass(frozen=True, slots=True)
class Result:
    """A figure of a run: mean or median over the runs of all seeds with a 95 % interval.

    ``interval`` is ``None`` for what does not depend on chance, or was run once.
    """

    name: str
    value: float | None
    unit: str = ""
    interval: tuple[float, float] | None = None
    published: Published | None = None
    note: str = ""

    @property
    def within(self) -> bool | None:
        """Whether the value is within the tolerance; ``None`` without a published figure."""
        if self.published is None or self.value is None:
            return None
        low, high = self.published.accepted
        slack = 1e-9 * max(1.0, abs(high))
        return low - slack <= self.value <= high + slack

    @property
    def status(self) -> str:
        """The comparison in words; a figure outside can have an interval that is not all outside.

        Empty without a published figure.
        """
        if self.within is None or self.published is None:
            return ""
        if self.within:
            return "within"
        low, high = self.published.accepted
        reaches = self.interval and self.interval[0] <= high and low <= self.interval[1]
        return REACHES if reaches else "outside"

    def as_json(self) -> dict[str, Any]:
        known = self.published
        notes = [self.note, REACHES if self.status == REACHES else ""]
        return {
            "name": self.name,
            "value": self.value,
            "interval": list(self.interval) if self.interval else None,
            "unit": self.unit,
            "published": known.value if known else None,
            "tolerance": list(known.accepted) if known else None,
            "within": self.within,
            "note": "; ".join(note for note in notes if note),
        }


@dataclass(frozen=True, slots=True)
class Run:
    """What an experiment's function gives: its figures, and how many events were simulated."""

    results: tuple[Result, ...]
    events: int = 0
    charts: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """Parameters of one run, its seed, and a function called with the share of work done.

    ``report`` may raise ``Cancelled`` to end the run.
    """

    values: Mapping[str, Value]
    seed: int
    report: Callable[[float], None] = field(default=lambda share: None)

    def number(self, name: str) -> float:
        return float(self.values[name])

    def integer(self, name: str) -> int:
        return int(self.values[name])

    def text(self, name: str) -> str:
        return str(self.values[name])

    def part(self, number: int, n: int) -> "Conditions":
        """The same conditions for one of ``n`` equal parts of the work, counted from 0."""
        return replace(self, report=lambda share: self.report((number + share) / n))


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment: its question, parameters, function, and the source of published figures.

    ``headline`` makes the finding of a run of its figures by name.
    """

    id: str
    title: str
    question: str
    source: str
    parameters: tuple[Parameter, ...]
    run: Callable[[Conditions], Run]
    meaning: str
    leaves_out: str
    headline: Callable[[Mapping[str, float]], str]

    def check(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """All parameters, given ones or defaults; raises ``BadInput`` that names the field."""
        known = {p.name: p for p in self.parameters}
        for name in given:
            if name not in known:
                names = ", ".join(known)
                raise BadInput(f"{self.id} has no parameter {name}; it has {names}", field=name)
        return {p.name: p.parse(given.get(p.name, p.default)) for p in self.parameters}

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.id,
            "title": self.title,
            "question": self.question,
            "source": self.source,
            "meaning": self.meaning,
            "leaves_out": self.leaves_out,
            "parameters": [p.as_json() for p in self.parameters],
        }


def run_seeds(
    conditions: Conditions, run_once: Callable[[Conditions, int], tuple[dict[str, float], int]]
) -> tuple[list[dict[str, float]], int]:
    """Run an experiment for each of its ``seeds``, from the seed of the conditions on.

    ``run_once`` gives the figures of one seed by name and its number of events. Returns the figures
    by seed and the events of all; the share of seeds that are done is reported before each.
    """
    n_seeds = conditions.integer("seeds")
    rows: list[dict[str, float]] = []
    n_events = 0
    for i in range(n_seeds):
        conditions.report(i / n_seeds)
        row, n = run_once(conditions.part(i, n_seeds), conditions.seed + i)
        rows.append(row)
        n_events += n
    return rows, n_events


def summarise(
    name: str,
    values: Sequence[float],
    unit: str = "",
    published: Published | None = None,
    note: str = "",
) -> Result:
    """The mean of one figure over independent runs, with the 95 % interval by Student's t."""
    mean = statistics.fmean(values)
    interval = None
    if len(values) > 1:
        t = _T95[len(values) - 2] if len(values) - 2 < len(_T95) else 1.96
        half = t * statistics.stdev(values) / math.sqrt(len(values))
        interval = (mean - half, mean + half)
    return Result(name, mean, unit, interval, published, note)


def summarise_median(
    name: str,
    values: Sequence[float],
    unit: str = "",
    published: Published | None = None,
    note: str = "",
) -> Result:
    """The median of one figure over independent runs, with its distribution-free 95 % interval.

    The interval is between two of the values (David and Nagaraja, Order Statistics, 7.1); there is
    none for fewer than six.
    """
    ordered, n = sorted(values), len(values)
    # Most values to leave out at each end: fewer than that many of n fair coins in 2.5 % of cases.
    cut, below = -1, 0.5**n
    while below <= 0.025:
        cut += 1
        below += math.comb(n, cut + 1) * 0.5**n
    interval = (ordered[cut], ordered[n - 1 - cut]) if cut >= 0 else None
    return Result(name, statistics.median(ordered), unit, interval, published, note)


def summarise_all(
    runs: Iterable[Mapping[str, float]],
    units: Mapping[str, str],
    published: Mapping[str, Published] | None = None,
    method: Callable[..., Result] = summarise,
) -> tuple[Result, ...]:
    """Summarise figures of several runs, by mean or median, in the order of ``units``."""
    rows = list(runs)
    known = published or {}
    return tuple(
        method(name, [row[name] for row in rows], unit, known.get(name))
        for name, unit in units.items()
    )


def result_bars(
    title: str, rows: Mapping[str, Result], *, is_logarithmic: bool = False
) -> Mapping[str, Any]:
    """The chart of results by label, with their published values and intervals."""
    return {
        "kind": "bars",
        "title": title,
        "unit": next(iter(rows.values())).unit,
        "is_logarithmic": is_logarithmic,
        "rows": [
            {
                "label": label,
                "value": row.value,
                "interval": row.interval,
                "published": row.published.value if row.published else None,
            }
            for label, row in rows.items()
        ],
    }
