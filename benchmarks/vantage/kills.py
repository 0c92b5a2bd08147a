"""A campaign of 50 vantage points and 10,000 slots while its processes are killed, or crawl.

``python -m benchmarks.vantage.kills [--vantages N] [--rounds N] [--every S] [--seed N]``: a site
with broker, TLS proxy, collector, scheduler, worker and web server, and N vantage points, each a
process, ping ten targets on loopback once a round, while a reader asks the web server for the
progress each second. Every few seconds SIGKILL ends one of them at random, which is then started
again. Ends with 1 where a slot is lost or stored twice: planned slots are those that answered,
failed and were missed with a reason; stored rows are those of the first two. It also ends with 1
where an answer of the web server is no whole document, counts less than one before, or in the end
has other figures than the store.

With ``--survey SCALE`` nothing is killed: the site's worker crawls the world ``imc2013`` at that
scale from before the first round on (10,000 domains at 1/10), and a missed slot, too, ends with 1.
"""

import argparse
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import duckdb

TARGETS, ROUND_S, SLOT_S = 10, 12.0, 0.3
KINDS = ("vantage", "vantage", "vantage", "scheduler", "collector", "links", "worker", "web")


class Target:
    """A port that counts connections and closes them."""

    def __init__(self, address: str) -> None:
        self.sock = socket.create_server((address, 0), backlog=4_096)
        self.host, self.port = self.sock.getsockname()
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            client, _ = self.sock.accept()
            self.connections += 1
            client.close()


class Reader:
    """Asks the web server for the campaign's progress each second, also while it is down."""

    def __init__(self, base: str) -> None:
        self._address = f"{base}/api/v1/measurements/killed"
        self.answered = self.unanswered = 0
        self.faults: list[str] = []
        self._stored = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read_on, daemon=True)
        self._thread.start()

    def _read_on(self) -> None:
        while not self._ended.wait(1.0):
            self.read()

    def read(self) -> dict[str, int]:
        """Return the progress as it is served; empty where no server answers."""
        try:
            with urllib.request.urlopen(self._address, timeout=30) as answer:
                progress: dict[str, int] = json.load(answer)["progress"]
        except HTTPError as error:
            # It is not there until it has been started.
            if error.code != HTTPStatus.NOT_FOUND or self._stored:
                self.faults.append(str(error))
            return {}
        except (OSError, HTTPException):
            self.unanswered += 1
            return {}
        except (ValueError, KeyError) as error:
            self.faults.append(f"{type(error).__name__}: {error}")
            return {}
        stored = progress["ok"] + progress["failed"]
        if stored < self._stored:
            self.faults.append(f"{stored} slots after {self._stored}")
        self.answered, self._stored = self.answered + 1, stored
        return progress

    def end(self) -> dict[str, int]:
        """Stop, and return the progress at the end."""
        self._ended.set()
        self._thread.join()
        return self.read()


class Killed:
    """The processes of a site, each of which can be killed and started again."""

    def __init__(self, site: Any, names: list[str]) -> None:
        self._site, self._names = site, names
        self.points = {name: site.vantage(name) for name in names}
        self.scheduler = site.manage("campaign", "schedule")
        self.worker = site.worker(1)
        self.base = site.web()
        self.counts: Counter[str] = Counter()

    def kill_one(self, chance: random.Random) -> None:
        """Kill a process of a random kind, and start it again."""
        from tests.tasks.site import kill  # noqa: PLC0415

        kind = chance.choice(KINDS)
        self.counts[kind] += 1
        site = self._site
        if kind == "vantage":
            name = chance.choice(self._names)
            kill(self.points[name], signal.SIGKILL)
            self.points[name] = site.vantage(name)
        elif kind == "scheduler":
            kill(self.scheduler, signal.SIGKILL)
            self.scheduler = site.manage("campaign", "schedule")
        elif kind == "collector":
            kill(site.collecting, signal.SIGKILL)
            site.collecting = site.collector()
        elif kind == "worker":
            kill(self.worker, signal.SIGKILL)
            self.worker = site.worker(1)
        elif kind == "web":
            kill(site.web_server, signal.SIGKILL)
            site.web(int(self.base.rpartition(":")[2]))
        else:
            kill(site.links, signal.SIGKILL)
            site.start_links()


def main() -> int:
    """Run the campaign, print what became of its slots, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vantages", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--every", type=float, default=6.0, help="seconds between kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--survey", metavar="SCALE", help="crawl at this scale instead of killing")
    given = parser.parse_args()
    from tests import forks  # noqa: PLC0415
    from tests.tasks.site import Site  # noqa: PLC0415

    forks.start_server()
    with tempfile.TemporaryDirectory(prefix="nephoscope-") as folder:
        site = Site(Path(folder) / "s")
        site.folder.mkdir()
        try:
            return measure(site, given)
        finally:
            site.close()


def measure(site: Any, given: argparse.Namespace) -> int:
    """Start everything, kill until the campaign has ended, and compare slots with rows."""
    site.collecting = site.open_links()
    names = [f"v{number:02}" for number in range(given.vantages)]
    site.join(*names)
    targets = [Target(f"127.0.0.{2 + number}") for number in range(TARGETS)]
    site.valkey()
    killed, chance = Killed(site, names), random.Random(given.seed)
    survey = crawl(site, given.survey) if given.survey else None
    process = start(site, names, targets, given.rounds)
    reader = Reader(killed.base)
    began = time.monotonic()
    # The first work orders are sent twenty seconds before the first round.
    while process.poll() is None:
        time.sleep(given.every)
        if not survey and 10 < time.monotonic() - began < given.rounds * ROUND_S:
            killed.kill_one(chance)
    out, _ = process.communicate()
    connections = sum(target.connections for target in targets)
    found = json.loads(out)
    status = compare(site, found, connections, killed.counts)
    status = max(status, describe_reading(reader, found["progress"]))
    return max(status, describe_survey(site, found)) if survey else status


def crawl(site: Any, scale: str) -> Any:
    """Serve a world and start its survey on the site's worker; return the command's process."""
    server, domains = site.testbed("imc2013", "--scale", scale)
    return site.survey(server, domains, "--workers")


def describe_reading(reader: Reader, stored: dict[str, int]) -> int:
    """Print what the web server served; return 1 where it was wrong."""
    served = reader.end()
    is_equal = all(served.get(name) == stored[name] for name in ("ok", "failed", "missed"))
    print(
        f"web server: {reader.answered:,} answers, {reader.unanswered} while it was down, "
        f"{len(reader.faults)} faults {reader.faults[:3]}; in the end "
        f"{'equal to' if is_equal else 'other than'} the store"
    )
    return int(bool(reader.faults) or not is_equal)


def describe_survey(site: Any, found: dict[str, Any]) -> int:
    """Print how far the survey came; return 1 where a slot was missed or nothing was crawled."""
    rows = site.ask("SELECT state, last - first FROM store_shard")
    done = sum(size for state, size in rows if state == "done")
    missed = found["progress"]["missed"]
    print(f"survey: {done:,} of {sum(size for _, size in rows):,} domains; {missed} slots missed")
    return int(missed > 0 or not done)


def start(site: Any, names: list[str], targets: list[Target], rounds: int) -> Any:
    """Start the campaign, and wait for its end in a process."""
    options = {"count": 1, "timeout_s": 0.5, "method": "connect"}
    activity = {"name": "ping", "probe": "tcp-ping", "options": options, "slot_s": SLOT_S}
    schedule = {"round_s": ROUND_S, "rounds": rounds, "activities": [activity]}
    listed = [
        {"name": f"t{number}", "host": target.host, "port": target.port, "region": f"r{number}"}
        for number, target in enumerate(targets)
    ]
    for name, document in (("schedule.json", schedule), ("targets.json", listed)):
        (site.folder / name).write_text(json.dumps(document))
    words = ["--schedule", site.folder / "schedule.json", "--targets", site.folder / "targets.json"]
    words += ["--allow-network", "127.0.0.0/8", "--name", "killed", "--json", "--wait"]
    words += [word for name in names for word in ("--vantage", name)]
    return site.manage("campaign", "start", *words, stdout=subprocess.PIPE)


def compare(site: Any, found: dict[str, Any], connections: int, kills: Counter[str]) -> int:
    """Print the slots by how they ended; return 1 where one is lost or doubled."""
    slots = found["progress"]
    path = site.folder / "lake" / "measurements" / "killed" / "samples" / "*.parquet"
    query = f"SELECT vantage, activity, round, slot FROM '{path}'"
    rows = Counter(duckdb.sql(query).fetchall())
    doubled = sum(count - 1 for count in rows.values())
    ended = slots["ok"] + slots["failed"] + slots["missed"]
    unstored = slots["ok"] + slots["failed"] - len(rows)
    reasons = found["summary"]["reasons"]["missed"]
    print(f"kills: {kills.total()}, {dict(kills)}")
    print(
        f"slots: {slots['planned']:,} planned; {slots['ok']:,} answered, {slots['failed']:,} "
        f"failed, {slots['missed']:,} missed {reasons}; {slots['planned'] - ended} without an end"
    )
    print(
        f"rows: {len(rows):,}, {doubled} doubled, {unstored} counted but not stored; targets had "
        f"{connections:,} connections"
    )
    is_explained = sum(reasons.values()) == slots["missed"]
    is_whole = ended == slots["planned"] and not doubled and not unstored and is_explained
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
