"""Every experiment beside its paper: published value, ours with its interval, what is accepted.

``python -m benchmarks.simulator.published [NAME …]`` prints a table per experiment and ends with 1
when a figure is outside of its tolerance. Each figure is within, outside, or outside with an
interval that reaches the accepted range.
"""

import sys
from collections import Counter
from collections.abc import Sequence

from simulator.experiments.registry import EXPERIMENTS, run_experiment

WIDTHS = (36, 11, 24, 11, 22, 40)
# Tails by collisions of hashes need more draws than a run on a page makes: 20 over all seeds.
MORE_DRAWS = {"presto-latency": {"draws": 4}}


def print_row(*cells: str) -> None:
    """Print cells at fixed widths."""
    print("  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)))


def number(value: float | None) -> str:
    """Four significant digits."""
    return "" if value is None else f"{value:,.4g}"


def span(values: Sequence[float] | None) -> str:
    """A range of two numbers."""
    return f"{number(values[0])} to {number(values[1])}" if values else ""


def show(name: str) -> Counter[str]:
    """Run an experiment with the parameters of its paper; return its figures by comparison."""
    found = run_experiment(name, MORE_DRAWS.get(name, {}), seed=1)
    print(f"\n{name}: {EXPERIMENTS[name].source}")
    print(f"seed 1, {found.run.events:,} events, {found.cpu_s:.1f} CPU s")
    print_row("figure", "ours", "95 % interval", "paper", "accepted", "comparison")
    for row in found.run.results:
        known = row.published
        paper, accepted = (known.value, known.accepted) if known else (None, None)
        ours = f"{number(row.value)} {row.unit}".strip()
        print_row(row.name, ours, span(row.interval), number(paper), span(accepted), row.status)
    return Counter(row.status for row in found.run.results if row.status)


def main() -> int:
    """Show the named experiments, or all; return the exit code."""
    names = sys.argv[1:] or list(EXPERIMENTS)
    counts: Counter[str] = Counter()
    for name in names:
        counts += show(name)
    print("\n" + ", ".join(f"{status}: {n}" for status, n in sorted(counts.items())))
    return int(counts["within"] < counts.total())


if __name__ == "__main__":
    sys.exit(main())
