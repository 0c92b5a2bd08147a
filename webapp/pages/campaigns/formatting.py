"""Formatting of a campaign's figures, and their colour classes."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from webapp.pages.ui.formatting import NONE, THIN, share

# Upper ends of the shades, from pale to dark; the last one has no end.
SHADES = {
    "latency": (25.0, 50.0, 100.0, 150.0, 250.0),
    "throughput": (250e3, 500e3, 1e6, 2e6, 4e6),
    "loss": (0.002, 0.01, 0.03, 0.1, 0.3),
}
_REASONS = {
    "TIMEOUT": "no answer in time",
    "REFUSED": "the port is closed",
    "UNREACHABLE": "no route to the host",
    "RESET": "the connection was reset",
    "NO_NAME": "the name has no address",
    "FORBIDDEN": "an address that must not be probed",
    "NOT_PERMITTED": "the vantage point may not",
    "MALFORMED": "an unreadable answer",
    "TOO_LARGE": "more than the limit",
    "TLS": "no trusted connection",
    "HTTP": "another status than 200",
    "BUSY": "another transfer was under way",
    "NETWORK": "the vantage point had no network",
    "OFFLINE": "the vantage point was offline",
    "no_cloud_end": "neither end is in a known cloud",
    "cloud_not_reached": "the cloud was not reached",
    "never_left": "the path ends within the cloud",
    "silent": "no router answered beyond the cloud",
    "private": "only private addresses beyond the cloud",
    "unannounced": "only addresses in no BGP announcement",
    "exchange": "an exchange, and no network behind it",
    "several_origins": "several networks announce the address",
    "disagreeing": "replies of one hop disagree",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that is measured, as pages speak of it."""

    id: str
    name: str
    unit: str
    best: str
    figure: str
    higher_is_better: bool


METRICS = {
    "latency": Metric("latency", "Latency", "ms", "nearest", "Figure 15", False),
    "throughput": Metric("throughput", "Throughput", "kB/s", "fastest", "Figure 14", True),
}


def reason(status: str) -> str:
    """Why a run has no value, or a route no ISP, in words."""
    return _REASONS.get(status, status.lower().replace("_", " ") or "no reason was given")


def milliseconds(value: Any, *, signed: bool = False) -> str:
    """``184 ms``, ``9.6 ms``, ``0.42 ms``; a missing figure is a dash."""
    if value is None or value != value:
        return NONE
    size = abs(value)
    digits = 0 if size >= 99.95 else 1 if size >= 0.995 else 2
    sign = ("+" if value > 0 else "−" if value < 0 else "") if signed else ""
    return f"{sign}{size if signed else value:,.{digits}f}{THIN}ms"


def rate(value: Any, *, signed: bool = False) -> str:
    """``1,143 kB/s`` or ``12.4 MB/s`` of bytes per second; a missing figure is a dash."""
    if value is None or value != value:
        return NONE
    size = abs(value)
    sign = ("+" if value > 0 else "−") if signed and value else ""
    text = f"{size / 1e6:.1f}{THIN}MB/s" if size >= 9.95e6 else f"{size / 1e3:,.0f}{THIN}kB/s"
    return sign + text


def amount(metric: str, value: Any, *, signed: bool = False) -> str:
    """A value of a metric with its unit."""
    write = rate if metric == "throughput" else milliseconds
    return write(value, signed=signed)


def bare(metric: str, value: Any) -> str:
    """The same without the unit, for cells under a head that has it."""
    return amount(metric, value).partition(THIN)[0]


def tick(metric: str, value: float) -> str:
    """A round value beside an axis, in the unit of its metric."""
    return f"{value / 1e3 if metric == 'throughput' else value:,.10g}"


def shade(metric: str, value: Any) -> int:
    """Which of six shades a value has, 0 without a value."""
    if value is None or value != value:
        return 0
    return bisect_left(SHADES[metric], value) + 1


def legend(scale: str) -> list[tuple[int, str]]:
    """(shade, what it means) of all six shades; nothing for a figure without shades."""
    if not scale:
        return []
    ends = SHADES[scale]
    edges = [share(end) if scale == "loss" else tick(scale, end) for end in ends]
    unit = "" if scale == "loss" else f"{THIN}{METRICS[scale].unit}"
    texts = [f"to {edges[0]}"]
    texts += [f"{low}–{high}" for low, high in zip(edges, edges[1:], strict=False)]
    texts.append(f"over {edges[-1]}{unit}")
    return list(enumerate(texts, 1))


_VALUES = (
    "What gave no value is counted as lost and is in no mean. Quantiles are exact, with linear "
    "interpolation between neighbours."
)
_PROBES = (
    "Quantiles are exact. The 95 % interval of a median is by order statistics, from six values "
    "on, and that of a share is Wilson’s. Both treat values as independent; those of one run are "
    "not, so that intervals are too narrow. What gave no value is counted as lost and is in no "
    "quantile."
)
# The text of "How we know", by the name of the page.
HOW = {
    "campaign": "Each vantage point counts once: the mean of its values, then the mean "
    f"of those. Marks are shaded by the best region’s mean, or by the choice’s medians. {_VALUES}",
    "campaign-grid": f"A cell is over all values of all rounds of its pair. {_VALUES}",
    "campaign-changes": "A change starts a run of rounds whose medians lie beyond nearly all of up "
    "to 720 rounds before. The new level lasts. It differs by at least 1 ms, by 1 %, and by 1.25 "
    "times the range from p10 to p90. The size of a change is the median of all differences "
    "between rounds after and before. Its 95 % interval is by ranks.",
    "campaign-regions": "Means of all values of a pair; in the table each vantage point counts "
    f"once. The spread is one standard deviation. {_VALUES}",
    "campaign-region": "Countries are those of the vantage points; each vantage point is one "
    "median, and a country the mean of them. ISPs are the first network after the cloud’s own on a "
    f"path: at least so many. {_VALUES}",
    "campaign-pair": f"Over all values of the pair, and round by round. {_VALUES}",
    "campaign-routes": "A path is the sequence of addresses that answered. Networks are those "
    "that announced an address on the campaign’s day; times are means of the path’s traceroutes.",
    "campaign-samples": "Every run as it came, in the order of time; nothing is left out.",
    "campaign-choice": "The usual region has the best mean of all rounds, of those that answered "
    "in at least half of them; in each round the best mean is the best region.",
    "campaign-best": "Every set of each size is compared over the means of vantage points, "
    "regions and rounds; the 95 % interval is over resampled vantage points and rounds.",
    "campaign-zones": "Differences of means, over vantage points that saw both zones; the "
    "95 % interval is over vantage points.",
    "campaign-isps": "The first network after the cloud’s own on each path, by the tables of the "
    "campaign’s day. Routes with a silent or unannounced hop before it are doubtful and "
    "counted separately.",
    "campaign-failures": "A run failed if it gave no value at all; a packet is lost if it was not "
    "answered in time, within a run that may have others.",
    "campaign-probes": _PROBES,
    "campaign-probe": _PROBES,
    "campaign-suitability": "Shares are of all that was sent: what was lost counts as beyond the "
    "limit. Intervals take values as independent; those of one run are not: they are too narrow.",
    "campaign-progress": "A slot is one probe of one vantage point at one target in one round. "
    "Measured are those that ran, with a value or a failure; coverage is their share of all that "
    "are over.",
}
