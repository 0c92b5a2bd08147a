"""Real machines with planted neighbours, judged by a site over seven days of a stretched clock.

``python -m benchmarks.screening.laboratory [--rounds N] [--seconds S]``, as root. Each machine is a
network namespace with a CPU control group; the neighbour of some is a process in another group of
the same host. Every round all of them run the agent that the site serves, with the battery in the
first round of each day; then they call each other. The reports are measured; only their times are
stretched, so that one round is six hours. The site's verdicts, calibration, persistence, times of
day and heat map are printed beside the planted. Exits with 1 where one of them differs.
"""

import argparse
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.screening.machines import Load, Machines, find_missing, wait_all
from benchmarks.screening.nights import errors
from core.paths import PROJECT
from screening.statistics import persistence
from testbed.namespaces import control_network, namespace_exec, netns

ROUNDS_PER_DAY = 4
ROUND_S = 86_400 / ROUNDS_PER_DAY
# A loop of sleeps of 100 us uses an eighth of a core, so that 13 machines would not fit on two.
SLEEP_US = 1_000
# Calls per second, seconds for which three callers make 10,000 calls, and servers at a time.
GROUND_TRUTH = ((100, 36.0, 13), (200, 18.0, 7), (500, 7.2, 4))
CALLERS = 4
PORT = 7420
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Kind:
    """Machines of one kind: their load, and the rounds in which it is there."""

    count: int
    load: Load
    is_loaded: Callable[[int, int], bool]
    slows: bool = True


def _always(_: int, __: int) -> bool:
    return True


KINDS = {
    "quiet": Kind(3, Load(), lambda *_: False),
    # Waits of 4 ms are no stalls.
    "brief": Kind(2, Load(4, 200), _always, slows=False),
    "nightly": Kind(2, Load(15, 120), lambda at, _: at % ROUNDS_PER_DAY == 1),
    "moved": Kind(1, Load(30, 300), lambda at, rounds: at < rounds // 2),
    # Between the thresholds: one stall of 25 ms every three seconds.
    "doubtful": Kind(1, Load(25, 3_000), _always),
    "crowded": Kind(3, Load(30, 300), _always),
    "quota": Kind(1, Load(quota=True), _always),
}


@dataclass
class Site:
    """A web server in the centre of the machines' network, with an account and a pool."""

    base: str
    key: str
    account_token: str
    pool_token: str
    centre: str

    def ask(self, address: str, method: str = "GET", body: Any = None) -> Any:
        """One request of the API by the pool's owner; its answer."""
        return netns.run_inside(self.centre, partial(self._ask, address, method, body))

    def _ask(self, address: str, method: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.account_token}"}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(
            f"{self.base}/api/v1/screening{address}", data=data, headers=headers, method=method
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)


def main() -> int:
    """Run everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7 * ROUNDS_PER_DAY)
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    if reason := find_missing():
        print(f"left out: {reason}")
        return 0
    # Ended by a signal, it still removes its machines.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="nephoscope-") as name, Machines(list_loads()) as lab:
        folder = Path(name)
        with start_site(folder, lab.prefix) as site:
            fetch_agents(site, lab, folder)
            with serve_calls(lab, folder):
                run_rounds(site, lab, folder, given.rounds, given.seconds)
                test_network(site, lab, folder)
            return compare(site, lab, given.rounds)


def list_loads() -> dict[str, Load]:
    """Load by name of machine."""
    return {
        f"{name}-{number + 1}": kind.load
        for name, kind in KINDS.items()
        for number in range(kind.count)
    }


def is_good(name: str, at: int, rounds: int) -> bool:
    """The planted status of a machine in a round; ``rounds`` is after the last one."""
    kind = KINDS[name.partition("-")[0]]
    return not (kind.slows and kind.is_loaded(at, rounds))


@contextmanager
def start_site(folder: Path, prefix: str) -> Iterator[Site]:
    """Serve a new site to the machines, and make its pool by the API."""
    data = folder / "site"
    environment = {
        **os.environ,
        "NEPHOSCOPE_DATA": str(data),
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
        "NEPHOSCOPE_HOSTS": control_network.ADDRESS,
        "PYTHONPATH": str(PROJECT),
    }
    account_token = create_account(environment)
    centre = prefix + control_network.NODE
    words = [
        "-m",
        "webapp.server",
        "--host",
        control_network.ADDRESS,
        "--port",
        "8000",
        "--log-level",
        "warning",
    ]
    server = subprocess.Popen(
        namespace_exec.command(centre, [sys.executable, *words]), cwd=PROJECT, env=environment
    )
    try:
        while not netns.run_inside(centre, partial(answers, control_network.ADDRESS, 8000)):
            if server.poll() is not None:
                raise RuntimeError("the web server did not start")
            time.sleep(0.1)
        site = Site(f"http://{control_network.ADDRESS}:8000", "", account_token, "", centre)
        made = site.ask("/pools", "POST", {"name": "Laboratory of control groups", "wanted": 5})
        site.key, site.pool_token = made["key"], made["token"]
        yield site
    finally:
        server.terminate()
        server.wait()


def create_account(environment: dict[str, str]) -> str:
    """Make a store with one account; return its API token."""
    os.environ.update(environment)
    import django  # noqa: PLC0415

    django.setup()
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    from webapp.store.access import tokens  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("anna")
    return tokens.issue(owner, "laboratory", "write")[1]


def answers(host: str, port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def fetch_agents(site: Site, lab: Machines, folder: Path) -> None:
    """Each machine downloads the agent from the site, through its own network."""
    for name in lab.machines:
        own = folder / name
        own.mkdir()

        def fetch(own: Path = own) -> None:
            with urllib.request.urlopen(f"{site.base}/agent", timeout=60) as answer:
                (own / "agent.py").write_bytes(answer.read())

        netns.run_inside(lab.prefix + name, fetch)


@contextmanager
def serve_calls(lab: Machines, folder: Path) -> Iterator[None]:
    """All machines answer calls of the network test."""
    words = ["--server", f":{PORT}", "--seconds", "3600"]
    children = {name: start_agent(lab, folder, name, *words) for name in lab.machines}
    try:
        for name in lab.machines:
            while not netns.run_inside(lab.prefix + name, partial(answers, "127.0.0.1", PORT)):
                time.sleep(0.1)
        yield
    finally:
        for child in children.values():
            child.terminate()
        for child in children.values():
            child.communicate()


def start_agent(lab: Machines, folder: Path, name: str, *words: str) -> "subprocess.Popen[str]":
    """The agent of a machine, isolated as on one that has nothing else."""
    agent = [sys.executable, "-I", str(folder / name / "agent.py"), "--name", name]
    return lab.machines[name].start(lab.prefix, [*agent, *words])


def run_rounds(site: Site, lab: Machines, folder: Path, rounds: int, seconds: float) -> None:
    """Measure with all machines at the same time, round by round, and send the reports."""
    base = (time.time() // 86_400 - -(-rounds // ROUNDS_PER_DAY)) * 86_400
    for at in range(rounds + 1):
        for name, machine in lab.machines.items():
            kind = KINDS[name.partition("-")[0]]
            machine.disturb(kind.is_loaded(at, rounds))
        if at == rounds:
            return
        battery = ["--battery", "--files", "3", "--peer", lab.machines["quiet-1"].address]
        words = ["--seconds", str(seconds), "--sleep-us", str(SLEEP_US)]
        words += battery if at % ROUNDS_PER_DAY == 0 else []
        children = {
            name: start_agent(
                lab, folder, name, *words, "--output", str(folder / name / f"{at}.json")
            )
            for name in lab.machines
        }
        wait_all(children, seconds + 120)
        if (at + 1) % ROUNDS_PER_DAY == 0 or at + 1 == rounds:
            day = at // ROUNDS_PER_DAY
            send_day(site, lab, folder, range(day * ROUNDS_PER_DAY, at + 1), base)
            print(f"day {day + 1}, load {os.getloadavg()[0]:.1f}", flush=True)


def send_day(site: Site, lab: Machines, folder: Path, rounds: range, base: float) -> None:
    """Move the reports of a day to the stretched clock, and let the agents send them."""
    children = {}
    for name in lab.machines:
        paths = [folder / name / f"{at}.json" for at in rounds]
        for at, path in zip(rounds, paths, strict=True):
            report = json.loads(path.read_text())
            path.write_text(json.dumps({**report, "started_at": base + at * ROUND_S}))
        upload = ["--pool", site.pool_token, "--server", site.base, "--upload", *map(str, paths)]
        children[name] = start_agent(lab, folder, name, *upload)
    wait_all(children, 120)


def test_network(site: Site, lab: Machines, folder: Path) -> None:
    """All call their neighbours in the list; some that are called good call all others."""
    names = list(lab.machines)
    for offset in (1, 3, 5):
        for group in (names[0::2], names[1::2]):
            calls = {
                name: [names[(names.index(name) + step) % len(names)] for step in (offset, -offset)]
                for name in group
            }
            call(site, lab, folder, calls, 100, 10.0)
    rows = {row["name"]: row for row in site.ask(f"/pools/{site.key}/instances")["results"]}
    callers = [n for n in sorted(rows, key=_stalls(rows)) if rows[n]["verdict"] == "good"][:CALLERS]
    for rate, seconds, size in GROUND_TRUTH:
        for first in range(0, len(names), size):
            some = names[first : first + size]
            calls = {caller: [name for name in some if name != caller] for caller in callers}
            call(site, lab, folder, calls, rate, seconds)


def _stalls(rows: dict[str, Any]) -> Callable[[str], float]:
    return lambda name: float(rows[name]["per_100s"] or 0)


def call(
    site: Site,
    lab: Machines,
    folder: Path,
    calls: dict[str, list[str]],
    rate: int,
    seconds: float,
) -> None:
    """Let callers test their servers at the same time, and send the reports."""
    children = {}
    for name, servers in calls.items():
        addresses = [f"{lab.machines[server].address}:{PORT}" for server in servers]
        words = ["--rates", str(rate), "--seconds", str(seconds), "--client", *addresses]
        send = ["--pool", site.pool_token, "--server", site.base]
        children[name] = start_agent(lab, folder, name, *words, *send)
    wait_all(children, seconds + 120)


def compare(site: Site, lab: Machines, rounds: int) -> int:
    """Print the site's findings beside the planted; return 1 where one differs."""
    found = site.ask(f"/pools/{site.key}/findings", "POST", {})
    rows = {row["name"]: row for row in site.ask(f"/pools/{site.key}/instances")["results"]}
    names = list(lab.machines)
    reports = read_reports(site)
    verdicts = [[reports[name][at] for at in range(rounds)] for name in names]
    called = np.array([[verdict == "good" for verdict in row] for row in verdicts])
    good = np.array([[is_good(name, at, rounds) for at in range(rounds)] for name in names])
    print(f"{len(names)} machines, {rounds} rounds: {', '.join(errors(called, good))}")
    for name, row in zip(names, verdicts, strict=True):
        print(f"  {name:11} {rows[name]['cause']:12} {dict(Counter(row))}")
    wrong = [
        *check_truth(rows, names, rounds),
        *check_errors(called, good),
        *check_persistence(found, names, good),
        *check_heat_map(found, names, rounds),
    ]
    own, others = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    used_s = sum(each.ru_utime + each.ru_stime for each in (own, others))
    print(f"{used_s:.0f} CPU s, without the web server's")
    for section in ("calibration", "persistence", "nights", "heatmap", "causes"):
        print(f"{section}: {found[section].get('headline') or found[section].get('reason')}")
    print(f"wrong: {wrong or 'nothing'}")
    return int(bool(wrong))


def read_reports(site: Site) -> dict[str, list[str]]:
    """Verdicts by machine in the order of time, of reports with sleeps."""
    found: dict[str, list[tuple[str, str]]] = {}
    after: str | None = ""
    while after is not None:
        page = site.ask(f"/pools/{site.key}/reports?limit=200{after}")
        for row in page["results"]:
            if row["has_sleeps"]:
                found.setdefault(row["name"], []).append((row["started_at"], row["verdict"]))
        after = f"&cursor={page['next']}" if page.get("next") else None
    return {name: [verdict for _, verdict in sorted(rows)] for name, rows in found.items()}


def check_truth(rows: dict[str, Any], names: list[str], rounds: int) -> Iterator[str]:
    """Network tests find the planted status of each machine."""
    for name in names:
        planted = "good" if is_good(name, rounds, rounds) else "bad"
        if rows[name]["truth"] != planted:
            yield f"{name} is {planted}, by network tests {rows[name]['truth'] or 'not known'}"


def check_errors(called: Flags, good: Flags) -> Iterator[str]:
    """Single verdicts err at most as often as Bobtail's."""
    for name, share, most in (
        ("false positives", (called & ~good).sum() / (~good).sum(), 0.1),
        ("false negatives", (~called & good).sum() / good.sum(), 0.3),
    ):
        if share > most:
            yield f"{name} {share:.3f} (at most {most})"


def check_persistence(found: dict[str, Any], names: list[str], good: Flags) -> Iterator[str]:
    """Shares of time in long periods, beside those of the planted statuses.

    A nightly neighbour is there for one verdict a day, which cannot be distinguished from an error.
    """
    series = {
        name: [(at * ROUND_S, bool(s) or "nightly" in name) for at, s in enumerate(row)]
        for name, row in zip(names, good, strict=True)
    }
    planted = persistence.describe(persistence.find_periods(series))
    for name in ("unchanged", "at_most_daily", "at_most_12_hourly"):
        value, seen = getattr(planted, name), found["persistence"][name]
        print(f"persistence, {name}: planted {value:.3f}, found {seen:.3f}")
        # One machine of thirteen.
        if abs(value - seen) > 1.01 / len(good):
            yield f"persistence, {name}: {seen:.3f}, planted {value:.3f}"


def check_heat_map(found: dict[str, Any], names: list[str], rounds: int) -> Iterator[str]:
    """Slow machines are those with a load after the last round.

    They are clients as well, so that both directions are slow: the test may not find *node*.
    """
    planted = sorted(name for name in names if not is_good(name, rounds, rounds))
    heat = found["heatmap"]
    print(f"clients that stall themselves: {', '.join(heat.get('slow_callers', [])) or 'none'}")
    if sorted(heat.get("bad", [])) != planted:
        yield f"heat map: bad are {heat.get('bad')}, planted {planted}"


if __name__ == "__main__":
    sys.exit(main())
