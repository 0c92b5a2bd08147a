"""Percentiles of the times of short flows over draws of paths, and their comparison by scheme."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simulator.experiments.declaration import (
    Conditions,
    Published,
    Result,
    Run,
    result_bars,
    summarise,
)

Floats = NDArray[np.float64]
# A figure, or that of the draws and of each of their resamples.
Figure = TypeVar("Figure", float, Floats)
LABELS = {"ecmp": "ECMP", "mptcp": "MPTCP", "presto": "Presto", "optimal": "One switch"}
# The times in ms, the figures and the traversals of a draw.
Simulate = Callable[[Conditions, str, int], tuple[Floats, dict[str, float], int]]
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9}
RESAMPLES = 500
# Published tails are reproduced within this factor.
FACTOR = 1.5
# A percentile that is a retransmission time-out, of 200 ms or more (figures were cut there).
TIMEOUT = Published(200.0, range=(200.0, 60_000.0))


def find_percentiles(times_ms: Floats) -> dict[str, float]:
    """Percentiles by name."""
    return {name: float(np.percentile(times_ms, q)) for name, q in PERCENTILES.items()}


def pool_draws(
    c: Conditions, case: str, seed: int, simulate: Simulate
) -> tuple[Floats, dict[str, float], int]:
    """Times of all draws of a case in ms, its figures by name, and traversals.

    The figures are means of those of the draws, and percentiles of all times.
    """
    n = c.integer("draws")
    draws = [simulate(c.part(draw, n), case, 1000 * seed + draw) for draw in range(n)]
    times_ms = np.concatenate([times for times, _, _ in draws])
    means = {name: float(np.mean([row[name] for _, row, _ in draws])) for name in draws[0][1]}
    found = {**means, **find_percentiles(times_ms)}
    named = {f"{case}_{name}": value for name, value in found.items()}
    return times_ms, named, sum(n for _, _, n in draws)


def run_draws(
    c: Conditions, seed: int, simulate: Simulate, schemes: Sequence[str] = tuple(LABELS)
) -> tuple[dict[str, float], int]:
    """Percentiles of all draws and means of their figures by scheme; changes against ECMP."""
    found: dict[str, float] = {}
    traversals = 0
    for i, scheme in enumerate(schemes):
        _, figures, n = pool_draws(c.part(i, len(schemes)), scheme, seed, simulate)
        found |= figures
        traversals += n
    return found | compare_schemes(found, schemes), traversals


def run_pooled(
    c: Conditions, cases: Sequence[str], simulate: Simulate
) -> tuple[dict[str, Floats], dict[str, list[float]], int]:
    """Simulate all draws of all seeds of each case.

    Returns percentiles by case, as of ``resample_percentiles``; the figures of the draws; and
    traversals.
    """
    n_draws = c.integer("draws")
    seeds = [
        1000 * (c.seed + i) + draw for i in range(c.integer("seeds")) for draw in range(n_draws)
    ]
    percentiles: dict[str, Floats] = {}
    figures: dict[str, list[float]] = {}
    traversals = 0
    for at, case in enumerate(cases):
        times = []
        of_case = c.part(at, len(cases))
        for i, seed in enumerate(seeds):
            times_ms, row, n = simulate(of_case.part(i, len(seeds)), case, seed)
            times.append(times_ms)
            traversals += n
            for name, value in row.items():
                figures.setdefault(f"{case}_{name}", []).append(value)
        found = resample_percentiles(times, c.seed)
        percentiles |= {f"{case}_{name}": values for name, values in found.items()}
    return percentiles, figures, traversals


def resample_percentiles(draws: Sequence[Floats], seed: int) -> dict[str, Floats]:
    """Percentiles of the times of all draws by name, shape (1 + resamples,).

    The first value is that of the draws; the others are of draws drawn with replacement (bootstrap
    by clusters: times of one draw share its paths), none of a single draw.
    """
    random = np.random.default_rng([seed, 5])
    n = len(draws)
    chosen = [np.arange(n), *random.integers(n, size=(RESAMPLES if n > 1 else 0, n))]
    rows = [
        np.percentile(np.concatenate([draws[i] for i in row]), list(PERCENTILES.values()))
        for row in chosen
    ]
    return dict(zip(PERCENTILES, np.array(rows).T, strict=True))


def summarise_pooled(
    name: str, values: Floats, unit: str = "", published: Published | None = None
) -> Result:
    """A figure of pooled draws, with the 95 % interval of those drawn with replacement."""
    interval = None
    if len(values) > 1:
        low, high = np.percentile(values[1:], (2.5, 97.5))
        interval = (float(low), float(high))
    return Result(name, float(values[0]), unit, interval, published)


def compare_schemes(
    percentiles: Mapping[str, Figure], schemes: Sequence[str] = tuple(LABELS)
) -> dict[str, Figure]:
    """Changes of the percentiles of all other schemes against ECMP, in per cent."""
    return {
        f"{scheme}_change_of_{name}": 100
        * (percentiles[f"{scheme}_{name}"] / percentiles[f"ecmp_{name}"] - 1)
        for scheme in schemes
        if scheme != "ecmp"
        for name in PERCENTILES
    }


def run_schemes(
    c: Conditions, simulate: Simulate, published: Mapping[str, Published], title: str
) -> Run:
    """All schemes, with percentiles of the times of all draws, and ``title`` in charts."""
    percentiles, figures, traversals = run_pooled(c, tuple(LABELS), simulate)
    percentiles |= compare_schemes(percentiles)
    results = summarise_draws(percentiles, figures, published)
    return Run(results, traversals, percentile_charts({row.name: row for row in results}, title))


def summarise_draws(
    percentiles: Mapping[str, Floats],
    figures: Mapping[str, Sequence[float]],
    published: Mapping[str, Published],
) -> tuple[Result, ...]:
    """Means of the figures of draws, and percentiles of the times of all."""
    return (
        *(summarise(name, v, unit_of(name), published.get(name)) for name, v in figures.items()),
        *(
            summarise_pooled(name, v, unit_of(name), published.get(name))
            for name, v in percentiles.items()
        ),
    )


def published_changes(changes: Mapping[str, Sequence[float]]) -> dict[str, Published]:
    """Published changes against ECMP by scheme, in per cent, in the order of the percentiles.

    Accepted is a ratio within ``FACTOR``. The percentiles after the published ones are left out.
    """
    known = {}
    for scheme, values in changes.items():
        for name, change in zip(PERCENTILES, values, strict=False):
            ratios = ((1 + change / 100) / FACTOR, (1 + change / 100) * FACTOR)
            low, high = (100 * (ratio - 1) for ratio in ratios)
            known[f"{scheme}_change_of_{name}"] = Published(change, range=(low, high))
    return known


def unit_of(name: str) -> str:
    """The unit of a figure, by its name."""
    if "ratio" in name or "_by_" in name:
        return ""
    if (
        "change" in name
        or "gain" in name
        or name.endswith(("resent", "unfinished", "load", "share"))
    ):
        return "%"
    return "Gb/s" if name.endswith("goodput") else "ms"


def percentile_charts(
    rows: Mapping[str, Result], title: str, prefix: str = ""
) -> tuple[Mapping[str, Any], ...]:
    """Bars of the median, p99 and p99.9 by scheme, of the figures with a prefix."""
    return tuple(
        result_bars(
            f"{name} of {title}",
            {
                text: rows[f"{prefix}{scheme}_{key}"]
                for scheme, text in LABELS.items()
                if f"{prefix}{scheme}_{key}" in rows
            },
            is_logarithmic=True,
        )
        for key, name in (("p50", "Median"), ("p99", "p99"), ("p99_9", "p99.9"))
    )
