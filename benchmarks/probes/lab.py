"""Every pair of the laboratory, over both families: our means, those of ``ping``, and the truth.

Needs root. Prints one line per vantage point and the largest differences.
"""

import argparse
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import fmean

from core.clock import SystemClock
from lab.laboratory import Laboratory
from lab.sixbyfour import six_by_four
from probes import icmp_echo, tcp_ping
from probes.records import Target

TIME = re.compile(r"time=([\d.]+) ms")
# Of one pair: the ends, family, then TCP ping, echo, ping and what is configured.
Seen = tuple[str, str, int, float, float, float | None, float]


def ping(address: str, count: int) -> float | None:
    """The mean of the system's ``ping``, where there is one."""
    if shutil.which("ping") is None:
        return None
    words = ["ping", "-n", "-c", str(count), "-i", "0.02", "-W", "1", address]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return fmean(map(float, TIME.findall(said)))


def measure(lab: Laboratory, count: int, start: str) -> list[Seen]:
    """All instances from one vantage point."""
    found: list[Seen] = []
    for end in lab.plan.of_kind("instance"):
        for family in (4, 6):
            home = lab.plan.home(end.name, 4 if family == 4 else 6)
            syn = tcp_ping.Config(count=count, interval_s=0.02, timeout_s=0.5)
            echo = icmp_echo.Config(count=count, interval_s=0.02, timeout_s=0.5)
            own = tcp_ping.run(Target(home, 80), syn, SystemClock()).mean_ms or 0.0
            other = icmp_echo.run(Target(home), echo, SystemClock()).mean_ms or 0.0
            true = lab.truth.rtt_ms(start, end.name)
            found.append((start, end.name, family, own, other, ping(home, count), true))
    return found


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    count = parser.parse_args().count
    with Laboratory(six_by_four()) as lab:
        starts = [node.name for node in lab.plan.of_kind("vantage")]
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(lab.inside, s, partial(measure, lab, count, s)) for s in starts]
            rows = [row for found in waiting for row in found.result()]
    for start in starts:
        own = [r for r in rows if r[0] == start]
        syn, echo = fmean(r[3] - r[6] for r in own), fmean(r[4] - r[6] for r in own)
        print(f"{start:10} TCP {syn:+.3f} ms, echo {echo:+.3f} ms from the configured")
    print(f"largest: {max(abs(r[3] - r[6]) for r in rows):.3f} ms from the configured")
    beside = [max(abs(r[3] - r[5]), abs(r[4] - r[5])) for r in rows if r[5] is not None]
    print(f"{max(beside):.3f} ms from ping" if beside else "there is no ping here")


if __name__ == "__main__":
    main()
