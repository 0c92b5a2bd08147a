"""The type of a finished small table of a campaign, shared by analysis and storage."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """One small table of a campaign as it is stored."""

    id: str
    columns: tuple[str, ...]
    rows: list[list[Any]]
    n: int
    headline: str
    checks: list[str] = field(default_factory=list)
