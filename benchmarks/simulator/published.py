"""Every experiment beside its paper: published value, ours with its interval, what is accepted.

``python -m benchmarks.simulator.published [NAME …]`` prints a table per experiment and ends with 1
when a figure is outside of its tolerance.
"""

import sys

from simulator.experiments.registry import EXPERIMENTS, run_experiment

WIDTHS = (34, 11, 24, 11, 22, 8)


def print_row(*cells: str) -> None:
    """Print cells at fixed widths."""
    print("  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)))


def number(value: float | None) -> str:
    """Four significant digits."""
    return "" if value is None else f"{value:,.4g}"


def span(values: list[float] | None) -> str:
    """A range of two numbers."""
    return f"{number(values[0])} to {number(values[1])}" if values else ""


def show(name: str) -> int:
    """Run an experiment with the parameters of its paper; return the number of figures outside."""
    found = run_experiment(name, {}, seed=1).as_json()
    print(f"\n{name}: {EXPERIMENTS[name].source}")
    print(f"seed 1, {found['events']:,} events, {found['cpu_s']} CPU s")
    print_row("figure", "ours", "95 % interval", "paper", "accepted", "within")
    outside = 0
    for row in found["results"]:
        verdict = {None: "", True: "yes", False: "NO"}[row["within"]]
        outside += row["within"] is False
        ours = f"{number(row['value'])} {row['unit']}".strip()
        cells = (ours, span(row["interval"]), number(row["published"]), span(row["tolerance"]))
        print_row(row["name"], *cells, verdict)
    return outside


def main() -> int:
    """Show the named experiments, or all; return the exit code."""
    names = sys.argv[1:] or list(EXPERIMENTS)
    outside = sum(show(name) for name in names)
    print(f"\n{outside} figures outside of their tolerance")
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main())
