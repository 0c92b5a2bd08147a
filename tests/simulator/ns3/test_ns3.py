"""The packet simulator beside ns-3, where that is installed (``make test-ns3``)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from simulator.packets.networks import graph_network
from simulator.packets.settings import Codel, PortSettings, Run, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import ENDLESS_BYTES, create_flows

SOURCE = Path(__file__).with_name("bottleneck.cc")
MODULES = ("applications", "point-to-point", "internet", "traffic-control", "network", "core")
# Headers of ns-3: point-to-point 2, IPv4 20, TCP with timestamps 32 bytes.
SEGMENT, HEADER, SECONDS, WARM_UP = 1448, 54, 10, 3
PACKET = SEGMENT + HEADER


@pytest.fixture(scope="module")
def ns3(tmp_path_factory):
    """Compile the program against ns-3; return a function of its options that gives its results."""
    root = os.environ.get("NEPHOSCOPE_NS3")
    if not root:
        pytest.skip("NEPHOSCOPE_NS3 names no folder of ns-3 (make test-ns3)")
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    program = tmp_path_factory.mktemp("ns3") / "bottleneck"
    libraries = Path(root) / "lib64"
    (core,) = libraries.glob("libns3.*-core.so")
    version = core.name.removeprefix("lib").removesuffix("-core.so")
    command = ["g++", "-O1", "-std=c++20", f"-I{root}/include", str(SOURCE), "-o", str(program)]
    command += [f"-L{libraries}", *(f"-l{version}-{module}" for module in MODULES)]
    command += [f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
    subprocess.run(command, check=True)

    def run(**options):
        given = [f"--{name}={value}" for name, value in options.items()]
        done = subprocess.run([program, *given], capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def simulate_bottleneck(control, n, ports):
    """The network of the program: goodput in Mb/s, mean queue in packets, drops, marks."""
    left, right = 2 * n, 2 * n + 1
    cables = [(i, left, 1e9, 1e-5) for i in range(n)]
    cables += [(right, n + i, 1e9, 1e-5) for i in range(n)]
    network = graph_network(2 * n, [*cables, (left, right, 1e8, 5e-3)])
    found = simulate_network(
        network,
        create_flows(0.01 * np.arange(n), range(n), range(n, 2 * n), ENDLESS_BYTES),
        Transport(control, max_window=4096, minimum_timeout_s=0.2, initial_timeout_s=1.0),
        ports,
        Run(
            duration_s=SECONDS,
            warm_up_s=WARM_UP,
            segment_bytes=SEGMENT,
            header_bytes=HEADER,
            reply_bytes=HEADER,
            watched_links=(4 * n,),
            sample_period_s=1e-3,
        ),
    )
    link = found.links
    return {
        "goodput": found.goodput_bps.sum() / 1e6,
        "queue": found.backlog_bytes[1000 * WARM_UP :, 0].mean() / PACKET,
        "dropped": int(link.dropped[4 * n] + link.discarded[4 * n]),
        "marked": int(link.marked[4 * n]),
    }


# One packet is in the device of ns-3, behind the queue that has the limit.
FIFO = PortSettings(queue_bytes=101 * PACKET)
# Control, ports, relative tolerances of goodput, mean queue (packets: absolute) and drops.
CASES = {
    "newreno": ("TcpNewReno", "fifo", FIFO, 0.01, 6, 0.3),
    "cubic": ("TcpCubic", "fifo", FIFO, 0.01, 3, 0.8),
    "newreno-codel": (
        "TcpNewReno",
        "codel",
        PortSettings(queue_bytes=1001 * PACKET, codel=Codel()),
        0.02,
        6,
        0.5,
    ),
}


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("case", CASES)
def test_flows_fill_a_bottleneck_as_in_ns3(ns3, case, n):
    transport, queue, ports, goodput, backlog, drops = CASES[case]
    limit = 100 if queue == "fifo" else 1000
    theirs = ns3(
        transport=transport, queue=queue, packets=limit, flows=n, seconds=SECONDS, warmUp=WARM_UP
    )
    ours = simulate_bottleneck(case.split("-")[0], n, ports)
    assert ours["goodput"] == pytest.approx(sum(theirs["goodput_mbps"]), rel=goodput)
    assert ours["queue"] == pytest.approx(theirs["queue_packets"], abs=backlog)
    assert ours["dropped"] == pytest.approx(theirs["dropped"], rel=drops, abs=5)


@pytest.mark.parametrize("n", [1, 4])
def test_dctcp_keeps_the_queue_at_the_threshold_as_in_ns3(ns3, n):
    theirs = ns3(
        transport="TcpDctcp", queue="red", packets=400, flows=n, seconds=SECONDS, warmUp=WARM_UP
    )
    ports = PortSettings(queue_bytes=401 * PACKET, mark_above_bytes=20 * PACKET)
    ours = simulate_bottleneck("dctcp", n, ports)
    assert ours["goodput"] == pytest.approx(sum(theirs["goodput_mbps"]), rel=0.01)
    assert ours["dropped"] == theirs["dropped"] == 0
    assert ours["queue"] == pytest.approx(theirs["queue_packets"], abs=1)
    assert ours["marked"] == pytest.approx(theirs["marked"], rel=0.05)


def test_packets_wait_at_a_port_as_in_ns3(ns3, tmp_path):
    # M/D/1 at a load of 0.7, packet by packet: 1,000 bytes at 100 Mb/s.
    gaps = np.random.default_rng(1).exponential(80e3 / 0.7, 20_000)
    times_ns = np.rint(np.cumsum(gaps)).astype(np.int64)
    arrivals = tmp_path / "arrivals"
    arrivals.write_text("\n".join(map(str, times_ns)))
    theirs = np.array(ns3(arrivals=arrivals)["delays_ns"])
    found = simulate_network(
        graph_network(2, [(0, 1, 1e8, 0.0)]),
        create_flows(times_ns * 1e-9, 0, 1, 970),
        Transport("open-loop"),
        PortSettings(queue_bytes=None),
        Run(header_bytes=30),
    )
    assert np.array_equal(np.rint(found.completion_s * 1e9), theirs)
