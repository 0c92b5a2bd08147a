"""Check the options of a probe against the limits of a vantage point.

A vantage point runs one probe at a time, for all of its users.
"""

import math
from collections.abc import Mapping
from typing import Any

# Files of a vantage point are its own.
_RESERVED_OPTIONS = ("ca_file",)
_ANY = 1e12
_MOST = {
    "timeout_s": 60.0,
    "interval_s": 60.0,
    "count": 10_000,
    "octets": 10**9,
    "max_octets": 10**9,
    "size": 65_000,
    "attempts": 100,
    "max_ttl": 255,
    "first_ttl": 255,
    "window": 255,
    "silent_hops": 255,
    "flow": 100_000,
}
LONGEST_RUN_S = 900.0


def check_bounds(options: Mapping[str, Any], config: Any) -> None:
    """Raises ``ValueError`` for an option out of its bounds, or a run that may take too long."""
    for name in _RESERVED_OPTIONS:
        if options.get(name):
            raise ValueError(f"{name} cannot be chosen from here")
    for name, value in options.items():
        most = _MOST.get(name, _ANY)
        if isinstance(value, (int, float)) and not 0 <= value <= most:
            raise ValueError(f"{name} is {value}; it is from 0 to {most:g}")
    longest_s = longest_run_s(config)
    if longest_s > LONGEST_RUN_S:
        raise ValueError(
            f"one run may take {longest_s:,.0f} s, more than {LONGEST_RUN_S:g} s: lower its count, "
            "interval or time-out"
        )


def longest_run_s(config: Any) -> float:
    """How long a run takes where nothing answers."""
    wait_s, pause_s = config.timeout_s, getattr(config, "interval_s", 0.0)
    if hasattr(config, "max_ttl"):
        at_once = 1 if config.mda else max(1, config.window)
        packets = config.max_ttl * max(1, config.attempts)
        return float(math.ceil(config.max_ttl / at_once) * wait_s + packets * pause_s)
    if hasattr(config, "streams"):
        # Packets are sent without waiting for replies to earlier ones.
        return float(config.count * pause_s + wait_s)
    return float(getattr(config, "count", 1) * max(wait_s, pause_s))
