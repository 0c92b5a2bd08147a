"""How many examples Hypothesis draws: a third of the full number, all with ``make thorough``."""

import os

THOROUGH = bool(os.environ.get("NEPHOSCOPE_THOROUGH"))
# Few examples are few since each takes long; a third of them would find nothing.
_LEAST = 6


def examples(full: int) -> int:
    """Return how many of ``full`` examples this run draws."""
    return full if THOROUGH else max(min(full, _LEAST), full // 3)
