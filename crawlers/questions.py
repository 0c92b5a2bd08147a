"""What an engine is asked, its limits and its counters."""

from collections import Counter
from dataclasses import dataclass, field

from core.errors import BadInput


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Limits of one engine; ``rate_per_server`` is in queries per second, none means no limit."""

    window: int = 400
    timeout_s: float = 2.0
    retries: int = 3
    rate_per_server: float | None = None
    sockets: int = 4
    tcp_parallel: int = 8
    tcp_timeout_s: float = 5.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("window", 1, 60_000),
            ("timeout_s", 0.01, 60),
            ("retries", 0, 20),
        ):
            if not low <= getattr(self, name) <= high:
                raise BadInput(f"must be from {low} to {high}", field=name.removesuffix("_s"))
        if self.rate_per_server is not None and self.rate_per_server <= 0:
            raise BadInput("must be more than 0", field="rate")


@dataclass(frozen=True, slots=True)
class Question:
    """One name and type to ask; ``tag`` travels along untouched."""

    name: str
    type: str = "A"
    tag: int = 0


@dataclass(slots=True)
class EngineStats:
    """Counters since the engine was opened."""

    queries: int = 0
    retries: int = 0
    tcp: int = 0
    stray: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
