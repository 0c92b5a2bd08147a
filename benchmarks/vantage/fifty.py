"""Proves what a vantage point's process costs, and that fifty of them run a round on one machine.

``python -m benchmarks.vantage.fifty [N]``: a broker with its TLS port and N vantage points, each a
process that pings a server on loopback; memory when idle and after the round, CPU until ready.
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PINGS = 5
# Interpreters that start together on few cores would only wait for each other.
AT_ONCE = 4


def main() -> None:
    """Run and print."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory(prefix="nephoscope-") as folder:
        os.environ["NEPHOSCOPE_DATA"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
        import django  # noqa: PLC0415
        from django.core.management import call_command  # noqa: PLC0415

        django.setup()
        call_command("migrate", verbosity=0)
        with links_in(Path(folder)) as port, listener() as target:
            measure(Path(folder), port, target, n)


@contextmanager
def links_in(folder: Path) -> Iterator[int]:
    """A broker with its TLS port; returns that port."""
    from deploy import links  # noqa: PLC0415

    port_file = folder / "port"
    quiet: dict[str, Any] = {"cwd": ROOT, "stdout": subprocess.DEVNULL}
    server = subprocess.Popen(links.command(folder), **quiet)
    command = [*links.gate_command(folder, "127.0.0.1", 0), "--port-file", str(port_file)]
    gate = subprocess.Popen(command, **quiet)
    try:
        while not (links.answers(folder) and port_file.exists() and port_file.read_text()):
            time.sleep(0.05)
        yield int(port_file.read_text())
    finally:
        for child in (gate, server):
            child.terminate()
            child.wait()


@contextmanager
def listener() -> Iterator[int]:
    """A port with connections accepted by the kernel alone, so that no thread is needed."""
    with socket.create_server(("127.0.0.1", 0), backlog=4_096) as server:
        yield server.getsockname()[1]


def measure(folder: Path, port: int, target: int, n: int) -> None:
    """Start them, let each run a unit, and print the cost."""
    names = [f"v{number:02}" for number in range(n)]
    identities(folder, port, names)
    children, ready_s = start_all(folder, names)
    try:
        time.sleep(3)
        idle = [memory_mb(child.pid) for child in children]
        cpu = [cpu_s(child.pid) for child in children]
        print_summary("until ready, CPU s", cpu)
        print_summary("until ready, wall s", ready_s)
        print_summary("idle, RSS MB", [m[0] for m in idle])
        print_summary("idle, PSS MB", [m[1] for m in idle])
        took_s, got, values = round_of(names, target)
        after = [memory_mb(child.pid) for child in children]
        print_summary("after the round, peak RSS MB", [m[2] for m in after])
        print_summary("after the round, PSS MB", [m[1] for m in after])
        print(f"{len(got)} of {n} vantage points sent a result, {values} values, in {took_s:.1f} s")
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait()


def identities(folder: Path, port: int, names: list[str]) -> None:
    """Let every name join, without the site's web server."""
    from tests.tasks.vantages.joined import main as join  # noqa: PLC0415

    join(folder / "points", f"127.0.0.1:{port}", *names)


def start_all(folder: Path, names: list[str]) -> tuple[list[subprocess.Popen[str]], list[float]]:
    """Start the processes, a few at a time; how long each took until it could take work."""
    children, took = [], []
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NEPHOSCOPE", "DJANGO"))}
    for first in range(0, len(names), AT_ONCE):
        began = time.monotonic()
        batch = [
            subprocess.Popen(
                [sys.executable, "-m", "tasks.vantage.joining"]
                + ["--folder", str(folder / "points" / name)],
                cwd=ROOT,
                env=env,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in names[first : first + AT_ONCE]
        ]
        for child in batch:
            assert child.stdout is not None
            assert "is measuring" in child.stdout.readline()
            took.append(time.monotonic() - began)
        children += batch
    return children, took


def round_of(names: list[str], target: int) -> tuple[float, set[str], int]:
    """Order a unit of every vantage point; seconds until the last result, senders and values."""
    from tasks.campaigns.results_collector import Collector  # noqa: PLC0415
    from tasks.protocol import vantage_queues  # noqa: PLC0415
    from tasks.protocol.work_order import BEGAN, RESULT, Order  # noqa: PLC0415

    got: dict[str, int] = {}

    def store(vantage: str, message: Any) -> None:
        got[vantage] = sum(len(row["result"]["values"]) for row in message.rows())

    began = time.monotonic()
    for name in names:
        now = time.time()
        order = Order(
            campaign="bench",
            unit=f"{name}.0",
            attempt=1,
            due=now,
            ends=now + 60,
            probe="tcp-ping",
            targets=[{"host": "127.0.0.1", "port": target}],
            slots=[[0, 0, 0.0, 60.0]],
            options={"count": PINGS},
            allow=["127.0.0.0/8"],
        )
        vantage_queues.send(name, "tasks.vantage.measure", [order.as_json()], expires_s=60)
    collector = Collector({BEGAN: lambda vantage, message: None, RESULT: store})
    while len(got) < len(names) and time.monotonic() - began < 60:
        collector.collect()
        time.sleep(0.05)
    return time.monotonic() - began, set(got), sum(got.values())


def memory_mb(pid: int) -> tuple[float, float, float]:
    """Resident, proportional and peak resident memory."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    status = Path(f"/proc/{pid}/status").read_text()
    parts = (rollup.split("Rss:")[1], rollup.split("\nPss:")[1], status.split("VmHWM:")[1])
    rss, pss, peak = (int(text.split()[0]) / 1024 for text in parts)
    return rss, pss, peak


def cpu_s(pid: int) -> float:
    """Processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def print_summary(what: str, values: list[float]) -> None:
    """One line: median and worst."""
    print(f"{what}: median {statistics.median(values):.2f}, worst {max(values):.2f}")


if __name__ == "__main__":
    main()
