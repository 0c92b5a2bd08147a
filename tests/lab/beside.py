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
from statistics import fmean, median

from core.clock import SystemClock
from probes import icmp_echo, tcp_ping
from probes.records import Target
from tests.lab.reference import RTT, Pinger

CLOCK = SystemClock()
# One of each kind after the other, so often: whatever slows the machine slows all of them.
INTERVAL_S = 0.02


def one_of(probe, target, **more):
    found = probe.run(target, probe.Config(count=1, timeout_s=0.3, **more), CLOCK)
    return found.values


def interleave(address, count):
    """Round trips of TCP pings, echoes and ``ping``, which take turns; lost ones are left out."""
    program = shutil.which("ping")
    beside = None if program is None else begin(program, address, count)
    found = {"syn": [], "echo": [], "ping": []}
    with Pinger(address) as pinger:
        kinds = {
            "syn": partial(one_of, tcp_ping, Target(address, 80)),
            "echo": partial(one_of, icmp_echo, Target(address)),
        }
        if beside is None:
            kinds["ping"] = pinger.once
        for number in range(count):
            # Who comes first has no advantage.
            order = [*kinds][number % len(kinds) :] + [*kinds][: number % len(kinds)]
            for kind in order:
                found[kind] += kinds[kind]()
            CLOCK.sleep(INTERVAL_S)
    if beside is not None:
        found["ping"] = list(map(float, RTT.findall(beside.communicate()[0])))
    return found


def begin(program, address, count):
    """The system's ``ping``, during the same seconds at the same pace."""
    words = [program, "-n", "-c", str(count), "-i", "0.06", "-W", "0.3", address]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def told_of(found):
    """Mean and median of each kind."""
    return {kind: [fmean(own), median(own)] for kind, own in found.items() if own}


def is_right(told, true_ms):
    """Means as near to those of ``ping`` as is claimed, medians too, and ``ping``'s to the plan."""
    if len(told) < 3:
        return False
    near = all(
        abs(own - beside) <= max(0.3, 0.02 * beside)
        for kind in ("syn", "echo")
        for own, beside in zip(told[kind], told["ping"], strict=True)
    )
    return near and abs(told["ping"][0] - true_ms) <= 1.0


def measure(asked):
    """The tries of each end, the last of which is right, unless none was."""
    tries = {}
    for end, (address, true_ms) in asked["ends"].items():
        own = tries[end] = []
        while len(own) < asked["tries"] and not (own and is_right(own[-1], true_ms)):
            own.append(told_of(interleave(address, asked["count"])))
    return tries


if __name__ == "__main__":
    json.dump(measure(json.loads(sys.argv[1])), sys.stdout)
