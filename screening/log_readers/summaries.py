"""Summarise a log, with its verdict, in the same form for every kind of tool."""

import math
from typing import Any

from screening.agent_parts.verdict import BAD, GOOD, UNKNOWN
from screening.decision.rate_interval import WINDOW_S
from screening.decision.verdict import Marks, Verdict, find_verdict
from screening.log_readers import read_log, unpack
from screening.log_readers.agent_report import ANY_TIME
from screening.log_readers.records import Log
from screening.report.parsing import Report, parse_report

# Kinds that measure wake-ups, so that Bobtail's marks mean something.
WAKE_UPS = ("hdrhistogram", "cyclictest", "agent")


def summarise_file(data: bytes, marks: Marks | None = None) -> list[dict[str, Any]]:
    """Summaries of everything in a file; BadInput when it is no log of a known tool."""
    logs = read_log(data)
    if logs[0].kind == "agent":
        return [summarise_report(parse_report(unpack(data), ANY_TIME), marks)]
    return [summarise_log(log, marks) for log in logs]


def summarise_log(log: Log, marks: Marks | None = None) -> dict[str, Any]:
    """Figures in the log's own unit, and a verdict where the log is about wake-ups."""
    stalls = log.count_from()
    verdict, reasons = _find_verdict(log, stalls, marks or Marks())
    return {
        "kind": log.kind,
        "name": log.name,
        "histograms": log.histograms,
        "samples": log.samples,
        "p50": log.find_percentile(0.5),
        "p99": log.find_percentile(0.99),
        "p999": log.find_percentile(0.999),
        "p9999": log.find_percentile(0.9999),
        "max": log.maximum,
        "unit": log.unit,
        "stalls_10ms": stalls,
        "seconds": log.seconds,
        "verdict": verdict,
        "reasons": [*reasons, *log.notes, *_describe_overflows(log), *_describe_rejected(log)],
    }


def summarise_report(report: Report, marks: Marks | None = None) -> dict[str, Any]:
    """The same for an agent's report, judged with all that it knows."""
    judged: Verdict = find_verdict(report, marks)
    cpu = next((cpu for cpu in report.cpus if cpu.cpu == judged.cpu), None)
    figures = (
        {
            "samples": cpu.wakeups,
            "p50": cpu.p50_us,
            "p99": cpu.p99_us,
            "p999": cpu.p999_us,
            "max": cpu.max_us,
            "stalls_10ms": cpu.stalls_10ms,
            "seconds": cpu.seconds,
        }
        if cpu
        else {}
    )
    return {
        "kind": "agent",
        "name": report.host.name,
        "histograms": len(report.cpus),
        "unit": "us",
        **figures,
        "verdict": judged.verdict,
        "reasons": list(judged.reasons),
    }


def _find_verdict(log: Log, stalls: int | None, marks: Marks) -> tuple[str, list[str]]:
    if log.kind in WAKE_UPS and stalls is None:
        return UNKNOWN, ["the histogram ends below 10 ms: let cyclictest keep more, as -h 20000"]
    if log.kind not in WAKE_UPS or stalls is None:
        return UNKNOWN, [f"{log.kind} does not measure wake-ups: only figures, no verdict"]
    if log.seconds:
        rate = WINDOW_S * stalls / log.seconds
        text = f"{stalls:,} of 10 ms or more in {log.seconds:.0f} s: {rate:.1f} per 100 s"
        return marks.place(stalls, log.seconds), [text, *_describe_corrected(log)]
    # Without a time, only what holds for every interval between wake-ups is known.
    if stalls == 0 and log.samples:
        return GOOD, [f"none of {log.samples:,} wake-ups was 10 ms late or more"]
    share = stalls / log.samples if log.samples else math.nan
    text = f"{stalls:,} of {log.samples:,} wake-ups of 10 ms or more; the log does not say how long"
    return (BAD if share >= 0.001 else UNKNOWN), [text]


def _describe_corrected(log: Log) -> list[str]:
    if log.kind != "hdrhistogram":
        return []
    return ["jHiccup writes a long stall as several samples, so that stalls are fewer than counted"]


def _describe_overflows(log: Log) -> list[str]:
    if not log.overflows or not len(log.values):
        return []
    samples = "sample" if log.overflows == 1 else "samples"
    return [
        f"{log.overflows:,} {samples} ran over the histogram, which ends at {log.values[-1]:g} "
        f"{log.unit}: a percentile among them is given as the longest"
    ]


def _describe_rejected(log: Log) -> list[str]:
    if not log.rejected:
        return []
    number, reason = log.rejected[0]
    return [f"{len(log.rejected):,} lines could not be read, the first is {number}: {reason}"]
