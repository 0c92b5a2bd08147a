"""How screening is worded: verdicts, causes, times and rates."""

import math
from collections.abc import Sequence
from typing import Any

from core import wording
from webapp.pages.ui.formatting import NONE, THIN

# Word, and the sign that is next to it: colour is never the only signal.
VERDICTS = {
    "good": ("good", "✓"),
    "network-test": ("needs a network test", "?"),
    "bad": ("bad", "✕"),
    "not-enough": ("not enough data", "…"),
}
CAUSES = {
    "steal": "a neighbour (steal)",
    "run delay": "own load (run delay)",
    "quota": "own quota",
    "mixed": "several causes",
    "unexplained": "unexplained",
    "": "no stall",
}
TOOLS = {
    "hdrhistogram": "HdrHistogram log",
    "vm-noise": "table of machines",
    "agent": "own report",
}
BATTERY = {
    "cpu_ms": "Fixed piece of computing, ms",
    "disk_read_mb_s": "Reading whole files, MB/s",
    "disk_write_mb_s": "Writing whole files, MB/s",
    "disk_small_read_ms": "Small reads, ms",
    "disk_small_write_ms": "Small synchronous writes, ms",
    "first_hop_ms": "Round-trip time to the first router, ms",
    "three_hops_ms": "Round-trip times to three routers, ms",
    "echo_32kb_ms": "32 KB to a peer and back, ms",
}
CAUSE_SENTENCES = {
    "steal": "The hypervisor gave the CPU to a neighbour while this machine had work to do.",
    "run delay": "Other work inside this machine had the CPU; no neighbour is to blame.",
    "quota": "The CPU quota of the own control group was used up; no neighbour is to blame.",
    "mixed": "No single cause covers half of the stalls.",
    "unexplained": "No counter of this kernel covers the stalls; on a virtual machine that is "
    "mostly a hypervisor that does not report steal.",
    "": "No sleep took 10 ms or longer.",
}


# What to do with the machines of each group that is not chosen.
ADVICE = {
    "terminate": "These are surely bad, and most of their stalls are CPU time stolen by a "
    "neighbour. Read each command before you run it. The names are those that the machines gave. "
    "Words in capitals are for you to replace.",
    "again": "Too little is known to end them: run the agent for 100 s, or a network test where "
    "the verdict asks for one.",
    "own-load": "Not the machine's fault: other work inside it, or its own CPU quota, causes the "
    "stalls. Another machine would stall as well. Remove the load and measure again.",
    "spare": "Good machines beyond the number wanted, in order.",
}


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or not math.isfinite(float(value))


def tool_word(kind: str) -> str:
    """What wrote a log."""
    return TOOLS.get(kind, kind)


def unit_word(unit: str) -> str:
    """A unit as people write it."""
    return "µs" if unit == "us" else unit


def ms(value: Any) -> str:
    """``8.4 ms`` of milliseconds, three digits that count; a missing figure is a dash."""
    if _is_missing(value):
        return NONE
    number = float(value)
    if number == 0:
        return f"0{THIN}ms"
    if 0 < number < 0.1:
        return f"{number * 1000:.0f}{THIN}µs"
    if number >= 9_999.5:
        return f"{number / 1000:.1f}{THIN}s"
    digits = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:,.{digits}f}{THIN}ms"


def rate(value: Any) -> str:
    """``12.3`` stalls per 100 s; a missing or endless figure is a dash."""
    if _is_missing(value):
        return NONE
    number = float(value)
    return f"{number:,.0f}" if number >= 99.95 or number == int(number) else f"{number:.1f}"


def points(value: Any) -> str:
    """``87.8 %`` of a share that may be negative."""
    if _is_missing(value):
        return NONE
    sign = "−" if value < 0 else ""
    return sign + wording.percent(abs(float(value))).replace(" ", THIN)


def points_of(value: Any, whole: int | None) -> str:
    """The same of ``whole`` things: counts of few, ``no data`` of none."""
    return wording.share_of(None if _is_missing(value) else value, whole, points)


def points_span(ends: Sequence[float], whole: int | None) -> str:
    """An interval of such a share."""
    return wording.span_of(ends[0], ends[1], whole, points)


def money(value: Any) -> str:
    """``7.60`` of a price."""
    return NONE if _is_missing(value) else f"{float(value):,.2f}"


def price(value: Any) -> str:
    """``0.0960`` of the price of one: what is cheap keeps digits that count."""
    if _is_missing(value):
        return NONE
    number = float(value)
    return f"{number:,.2f}" if number >= 1 or number == round(number, 2) else f"{number:.3g}"


def p_value(value: Any) -> str:
    """Format ``p = 0.004``; very small ones as ``p < …``."""
    if _is_missing(value):
        return NONE
    return wording.p_text(float(value)).replace(" ", THIN)


def verdict_word(value: str) -> str:
    """A verdict in words."""
    return VERDICTS.get(value, (value, ""))[0]


def verdict_sign(value: str) -> str:
    """The sign beside the word."""
    return VERDICTS.get(value, ("", "·"))[1]


def cause_word(value: str | None) -> str:
    """A cause in words."""
    return CAUSES.get(value or "", value or "")


def cause_sentence(value: str | None) -> str:
    """What a cause means."""
    return CAUSE_SENTENCES.get(value or "", "")


def shape_word(fan_out: int, calls: int) -> str:
    """A model in words: ``10 sequential calls``, ``slowest of 20``."""
    if fan_out > 1:
        return f"slowest of {fan_out}"
    return "one call" if calls == 1 else f"{calls} sequential calls"


def p_word(percentile: float) -> str:
    """``p99.9`` of 0.999."""
    return f"p{100 * percentile:g}"
