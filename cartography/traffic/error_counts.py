"""What a file held that could not be used: each reason with its count and its first lines."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# Enough to find the trouble with an editor.
KEPT_LINES = 5


@dataclass
class ErrorCounts:
    """Counts by reason; the lines of a reason are the first ones, in order."""

    counts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, reason: str, lines: Iterable[int], count: int | None = None) -> None:
        """Count ``lines`` under a reason; ``count`` where they are only the first of them."""
        given = list(lines)
        n_lines = len(given) if count is None else count
        if not n_lines:
            return
        self.counts[reason] = self.counts.get(reason, 0) + n_lines
        kept = self.lines.setdefault(reason, [])
        kept.extend(given[: KEPT_LINES - len(kept)])

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def as_json(self) -> dict[str, dict[str, Any]]:
        return {
            reason: {"count": n, "first_lines": self.lines.get(reason, [])}
            for reason, n in sorted(self.counts.items())
        }
