"""stub"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    scale: Any
    seed: int
    domains: Any
    labels: tuple[str, ...]


def build_generated(raw: Any, request: Request, book: Any, ranges: Any) -> Any:
    raise NotImplementedError
