"""Compute Algorithm 1's verdict on a report, with its uncertainty, cause and reasons.

The worst virtual CPU decides: a server's tail is made there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from screening.agent_parts.verdict import (
    BAD,
    ENOUGH_S,
    GOOD,
    HIGH_PER_100S,
    LOW_PER_100S,
    NETWORK_TEST,
    UNKNOWN,
    place,
)
from screening.decision.cause import Attribution, attribute
from screening.decision.rate_interval import Rate, estimate_rate
from screening.report.parsing import CpuTiming, Report
from screening.statistics.histograms import find_percentile_ms

# A verdict is sure when the other two share less than this.
DOUBT = 0.1


@dataclass(frozen=True, slots=True)
class Marks:
    """Stalls per 100 s up to which an instance is good, and above which it is bad."""

    low: float = LOW_PER_100S
    high: float = HIGH_PER_100S

    def place(self, stalls: int, seconds: float) -> str:
        """Algorithm 1, as the agent applies it."""
        return place(stalls, seconds, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is thought of an instance; ``chances`` holds the three verdicts' probabilities."""

    verdict: str
    sure: bool
    cpu: int | None
    rate: Rate | None
    p999_ms: float
    chances: dict[str, float]
    attribution: Attribution | None
    reasons: tuple[str, ...]


def find_verdict(report: Report, marks: Marks | None = None) -> Verdict:
    """Verdict on the instance that sent a report."""
    if not report.cpus:
        return Verdict(UNKNOWN, False, None, None, float("nan"), {}, None, ("no CPU measured",))
    marks = marks or Marks()
    rates = {cpu.cpu: estimate_cpu(cpu) for cpu in report.cpus}
    worst = max(report.cpus, key=lambda cpu: rates[cpu.cpu].per_100s)
    rate = rates[worst.cpu]
    chances = find_chances(rate, marks)
    verdict = marks.place(rate.count, rate.seconds)
    cause = attribute(worst, report.host)
    sure = is_sure(verdict, chances)
    reasons = explain(worst.cpu, rate, marks, pinned=worst.pinned) + cause.sentences
    return Verdict(
        verdict,
        sure,
        worst.cpu,
        rate,
        find_percentile_ms(worst.histogram, 0.999),
        chances,
        cause,
        reasons,
    )


def estimate_cpu(cpu: CpuTiming) -> Rate:
    """Stall rate of one virtual CPU; stalls without times count as evenly spread."""
    times = [stall.at_us / 1e6 for stall in cpu.stalls]
    missing = cpu.stalls_10ms - len(times)
    times += [(at + 0.5) * cpu.seconds / missing for at in range(missing)]
    return estimate_rate(times, cpu.seconds)


def find_chances(rate: Rate, marks: Marks) -> dict[str, float]:
    """Probability of each of the three verdicts."""
    good = rate.find_chance_below(marks.low)
    below = rate.find_chance_below(marks.high)
    return {GOOD: good, NETWORK_TEST: below - good, BAD: 1 - below}


def is_sure(verdict: str, chances: Mapping[str, float]) -> bool:
    """Whether the other verdicts together are improbable."""
    return chances.get(verdict, 0.0) >= 1 - DOUBT


def explain(cpu: int, rate: Rate, marks: Marks, *, pinned: bool = True) -> tuple[str, ...]:
    """Sentences that give the rate of the worst CPU beside the marks, with its doubt."""
    sentences = [
        f"CPU {cpu}: {rate.count} sleeps of 10 ms or more in {rate.seconds:.0f} s, "
        f"{rate.per_100s:.1f} per 100 s ({rate.low:.1f} to {rate.high:.1f} with "
        f"{100 * rate.level:.0f} % confidence); good up to {marks.low:g}, bad over {marks.high:g}"
    ]
    if rate.dispersion > 1.5:
        sentences.append(
            f"stalls come in bursts: their counts vary {rate.dispersion:.1f} times "
            "as much as by chance"
        )
    if max(find_chances(rate, marks).values()) < 1 - DOUBT:
        more = "measure 100 s" if rate.seconds < ENOUGH_S else "measure again"
        sentences.append(f"the interval spans more than one verdict: {more}")
    if not pinned:
        sentences.append("the sampler could not be pinned, so that the CPU's number is a guess")
    return tuple(sentences)
