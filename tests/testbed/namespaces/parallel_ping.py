"""One vantage point's process: our probes and ``ping``, packet by packet beside each other.

Run inside its namespace with one JSON argument: the address by each end, how many packets of each,
how often a second try may be made and how near is near. It shares no interpreter with anybody, so
that no other thread stands between a packet and its stamp. The tries of each end come out as JSON.
"""

import json
import shutil
import subprocess
import sys
from functools import partial
from statistics import fmean, median, stdev

from core.clock import SystemClock
from probes.kinds import icmp_echo, tcp_ping
from probes.records import Target
from tests.testbed.namespaces.reference import RTT, Pinger

CLOCK = SystemClock()
# One of each kind after the other, so often: whatever slows the machine slows all of them.
INTERVAL_S = 0.02


def one_of(probe, target, **more):
    found = probe.run(target, probe.Config(count=1, timeout_s=0.3, **more), CLOCK)
    return found.values


def interleave(address, count):
    """Round trips of TCP pings, echoes and ``ping``, which take turns; lost ones are left out."""
    program = shutil.which("ping")
    beside = None if program is None else start_ping(program, address, count)
    found = {"syn": [], "echo": [], "ping": []}
    with Pinger(address) as pinger:
        kinds = {
            "syn": partial(one_of, tcp_ping, Target(address, 80)),
            "echo": partial(one_of, icmp_echo, Target(address)),
        }
        if beside is None:
            kinds["ping"] = pinger.measure
        for number in range(count):
            # Who comes first has no advantage.
            order = [*kinds][number % len(kinds) :] + [*kinds][: number % len(kinds)]
            for kind in order:
                found[kind] += kinds[kind]()
            CLOCK.sleep(INTERVAL_S)
    if beside is not None:
        found["ping"] = list(map(float, RTT.findall(beside.communicate()[0])))
    return found


def start_ping(program, address, count):
    """The system's ``ping``, during the same seconds at the same pace."""
    words = [program, "-n", "-c", str(count), "-i", "0.06", "-W", "0.3", address]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def summarise(found):
    """Each kind's mean, median, minimum, and standard error of the mean, in milliseconds."""
    return {
        kind: [fmean(own), median(own), min(own), stdev(own) / len(own) ** 0.5]
        for kind, own in found.items()
        if len(own) > 1
    }


def is_right(summary, true_ms):
    """Whether both probes agree with ``ping``, and ``ping``'s minimum with the plan.

    ``ping`` is the control: means and medians may differ from its own by 0.3 ms, by 2 %, or by
    what its standard error explains. Other work on the machine never shortens a round trip, so
    minima are compared without that allowance.
    """
    if len(summary) < 3:
        return False
    *expected, least, error = summary["ping"]
    slack = [max(0.3, 0.02 * value, 3 * 2**0.5 * error) for value in expected]
    near = all(
        abs(value - control) <= most
        for kind in ("syn", "echo")
        for value, control, most in zip(
            summary[kind][:3], [*expected, least], [*slack, max(0.3, 0.02 * least)], strict=True
        )
    )
    return near and abs(least - true_ms) <= 1.0


def measure(asked):
    """The tries of each end, the last of which is right, unless none was."""
    tries = {}
    for end, (address, true_ms) in asked["ends"].items():
        own = tries[end] = []
        while len(own) < asked["tries"] and not (own and is_right(own[-1], true_ms)):
            own.append(summarise(interleave(address, asked["count"])))
    return tries


if __name__ == "__main__":
    json.dump(measure(json.loads(sys.argv[1])), sys.stdout)
