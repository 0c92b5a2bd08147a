"""Runs of several engines as one table: medians with the least and the most."""

import os
import platform
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

from benchmarks.dns.accounting import Cost

_HEAD = (
    "engine",
    "names",
    "client CPU µs/name",
    "names/s",
    "server CPU µs/name",
    "foreign cores",
    "peak MiB",
)


class Figures:
    """Costs by engine, in the order in which engines came."""

    def __init__(self) -> None:
        self.costs: dict[str, list[Cost]] = defaultdict(list)
        self.notes: dict[str, tuple[str, ...]] = {}

    def add(self, label: str, cost: Cost) -> None:
        """Record one run."""
        self.costs[label].append(cost)

    def middle(self, label: str, figure: Callable[[Cost], float]) -> float:
        """The median of one figure of an engine."""
        return median(map(figure, self.costs[label]))

    def table(self, *notes_heads: str, leave_out: str = "") -> str:
        """The figures as a Markdown table; notes make the last columns."""
        heads = (*_HEAD, *notes_heads)
        rows = [heads, ("---",) * len(heads)]
        rows += [
            self._row(label, costs) for label, costs in self.costs.items() if label != leave_out
        ]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def _row(self, label: str, costs: Sequence[Cost]) -> tuple[str, ...]:
        return (
            label,
            f"{costs[0].names:,}",
            _span([c.cpu_us for c in costs], 1),
            _span([c.names_per_s for c in costs], 0),
            _span([c.server_cpu_s / c.names * 1e6 for c in costs], 1),
            _span([c.foreign_cpu_s / c.wall_s for c in costs], 1),
            f"{max(c.peak_mib for c in costs):.0f}",
            *self.notes.get(label, ()),
        )


def _span(values: Sequence[float], digits: int) -> str:
    middle, least, most = (f"{f(values):,.{digits}f}" for f in (median, min, max))
    return middle if len(values) == 1 else f"{middle} ({least}–{most})"


def machine() -> str:
    """One line about where and when the figures were taken."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({model}), Linux "
        f"{platform.release().split('-')[0]}, Python {platform.python_version()}, "
        f"dnspython {version('dnspython')}, load {load} at the end"
    )
