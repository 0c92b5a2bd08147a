"""Proves that two workers share a limit per server, and that one may be killed at any time.

A survey of 200,000 names on 16 servers with a limit each, first in peace, then with one worker
killed in the middle and started again. The servers note when each query arrived.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.dns.accounting import family
from benchmarks.dns.counting import (
    Counted,
    address_of,
    arrivals,
    counting,
    label,
    names_of,
    zone_name,
)
from benchmarks.dns.figures import machine
from benchmarks.dns.workload import free_port
from tests.tasks.site import Site, kill, wait
from tests.tasks.surveys.sliding_clock import busiest_second

NAMES, ZONES, SERVERS, LIMIT_QPS = 200_000, 80, 16, 500
OVERSHOOT = 1.05
START_S, LONGEST_S = 30, 280
_RANGES = {
    "syncToken": "1",
    "createDate": "2026-11-01-00-00-00",
    "prefixes": [{"ip_prefix": "11.0.0.0/12", "region": "us-east-1", "service": "EC2"}],
    "ipv6_prefixes": [],
}
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SURVEY = "shared"


class Seen(NamedTuple):
    """What one survey did, by the servers' notes and by the answers that it stored."""

    label: str
    wall_s: float
    busiest: int
    mean_qps: float
    queries: int
    rows: int
    lost: int
    doubled: int
    wrong: int
    cpu_s: float
    shards: tuple[int, ...]
    taken_up_s: float | None
    state: str

    @property
    def is_whole(self) -> bool:
        return self.state == "finished" and not (self.lost or self.doubled or self.wrong)


def main() -> int:
    """Run both surveys and print the table; 1 when a limit or an answer was lost."""
    options = _parse()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), options)
        seen = [trial.run("undisturbed"), trial.run("one killed", kill_at=options.kill_at)]
    print(f"{machine()}\n\n{_table(seen, options)}")
    limit = options.rate * OVERSHOOT
    return int(not all(s.is_whole and s.busiest <= limit for s in seen))


class Trial:
    """Servers and workers for surveys of the same names."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        self.labels = options.names // options.zones - 1
        self.addresses = tuple(f"127.0.60.{n + 1}" for n in range(options.servers))

    def run(self, name: str, kill_at: float | None = None) -> Seen:
        """One survey on fresh servers, with a fresh store and fresh workers."""
        folder = self.folder / name.replace(" ", "-")
        port = free_port(self.addresses)
        with (
            counting(folder / "times", self.addresses, port, self.labels) as counted,
            _open_site(folder / "s") as site,
        ):
            survey = _Survey(site, counted, self)
            document = survey.run(kill_at)
        notes = arrivals(folder / "times")
        return survey.summarise(name, document, [times / 1e9 for times in notes])


@contextlib.contextmanager
def _open_site(folder: Path) -> Iterator[Site]:
    folder.mkdir(parents=True)
    site = Site(folder)
    try:
        yield site
    finally:
        site.close()


class _Survey:
    """One survey from the start of its workers to its figures."""

    def __init__(self, site: Site, counted: Counted, trial: Trial) -> None:
        self.site = site
        self.counted = counted
        self.options = trial.options
        self.labels = trial.labels
        self.cpu_s = 0.0
        self.killed_at = 0.0
        self.taken_up_s: float | None = None
        self.wall_s = 0.0

    def run(self, kill_at: float | None) -> dict[str, Any]:
        """The survey's own document."""
        site = self.site
        site.valkey()
        self._import_ranges()
        workers = [site.worker(concurrency=1, name=f"w{n}") for n in (1, 2)]
        site.beat()
        wait(lambda: site.has_workers(2), START_S)
        began = time.monotonic()
        process = site.survey(self.counted.servers, self._write_lists(), *self._arguments())
        if kill_at is not None:
            self._kill_one(workers, kill_at)
        out, err = process.communicate(timeout=LONGEST_S)
        self.wall_s = time.monotonic() - began
        self.cpu_s += sum(map(_cpu_s, workers))
        if process.returncode:
            raise RuntimeError(err[-600:])
        return json.loads(out)

    def _import_ranges(self) -> None:
        path = self.site.folder / "ranges.json"
        path.write_text(json.dumps(_RANGES))
        self.site.manage("ranges", "import", "aws", path).wait(timeout=START_S)

    def _write_lists(self) -> Path:
        domains = self.site.folder / "domains.txt"
        domains.write_text("\n".join(map(zone_name, range(self.options.zones))))
        words = self.site.folder / "words.txt"
        words.write_text("\n".join(map(label, range(self.labels))))
        return domains

    def _arguments(self) -> list[str]:
        words, out = self.site.folder / "words.txt", self.site.folder / "out"
        return [
            *("--name", _SURVEY, "--workers", "--rate", str(self.options.rate)),
            *("--wordlist", str(words), "--no-aaaa", "--out", str(out)),
        ]

    def _kill_one(self, workers: list[Any], kill_at: float) -> None:
        """Kill the first worker amid a shard, and start it again after two seconds."""
        site = self.site
        wait(lambda: self._done() >= kill_at and self._is_amid(workers[0]), LONGEST_S)
        self.cpu_s += _cpu_s(workers[0])
        kill(workers[0], signal.SIGKILL)
        killed_at = time.monotonic()
        time.sleep(2)
        workers[0] = site.worker(concurrency=1, name="w1")
        wait(lambda: any(attempt > 1 for _, _, attempt, _ in site.shards()), LONGEST_S)
        self.taken_up_s = time.monotonic() - killed_at

    def _done(self) -> float:
        """The share of shards that have ended; zero before the survey exists."""
        with contextlib.suppress(Exception):
            states = [state for state, *_ in self.site.shards()]
            return states.count("done") / len(states)
        return 0.0

    def _is_amid(self, worker: Any) -> bool:
        """Whether a worker has a shard and has shown that it found some of its names."""
        pids = family(worker.pid)
        for state, name, _, counters in self.site.shards():
            if state == "running" and int(name.rpartition(":")[2]) in pids:
                return json.loads(counters).get("found", 0) > 0
        return False

    def summarise(self, name: str, document: dict[str, Any], times: list[Any]) -> Seen:
        rows, lost, doubled, wrong = self._compare()
        spans = [t[-1] - t[0] for t in times]
        workers = Counter(worker for _, worker, *_ in self.site.shards())
        return Seen(
            label=name,
            wall_s=self.wall_s,
            busiest=max(map(busiest_second, times)),
            mean_qps=sum(len(t) / s for t, s in zip(times, spans, strict=True)) / len(times),
            queries=sum(map(len, times)),
            rows=rows,
            lost=lost,
            doubled=doubled,
            wrong=wrong,
            cpu_s=self.cpu_s,
            shards=tuple(sorted(workers.values(), reverse=True)),
            taken_up_s=self.taken_up_s,
            state=document["state"],
        )

    def _compare(self) -> tuple[int, int, int, int]:
        """Stored rows; names without one, rows too many, and names with another address."""
        names = names_of(self.options.zones, self.labels)
        truth = pa.table({"name": names, "address": list(map(address_of, names))})
        path = self.site.folder / "out" / "observations" / "lookups.parquet"
        with duckdb.connect() as connection:
            connection.register("truth", truth)
            connection.execute(
                f"""CREATE VIEW seen AS SELECT name, [a.data for a in answers] AS data
                FROM '{path}' WHERE type = 'A'"""
            )
            found = connection.execute(
                """SELECT (SELECT count(*) FROM seen),
                (SELECT count(*) FROM truth ANTI JOIN seen USING (name)),
                (SELECT count(*) - count(DISTINCT name) FROM seen),
                (SELECT count(*) FROM seen JOIN truth USING (name) WHERE data != [address])
                """
            ).fetchall()
        return found[0]


def _cpu_s(process: Any) -> float:
    """CPU time of a worker with its children."""
    total = 0
    for pid in family(process.pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS_PER_S


def _table(seen: list[Seen], options: argparse.Namespace) -> str:
    heads = (
        *("survey", "names", "lost", "doubled", "wrong address", "busiest second of any server"),
        *("mean queries/s per server", "queries", "shards by worker", "taken up again after s"),
        *("workers' CPU s", "wall s"),
    )
    rows = [heads, ("---",) * len(heads)]
    for s in seen:
        taken_up = "" if s.taken_up_s is None else f"{s.taken_up_s:.1f}"
        rows.append(
            (
                *(s.label, f"{s.rows:,}", str(s.lost), str(s.doubled), str(s.wrong)),
                f"{s.busiest} (at most {options.rate * OVERSHOOT:.0f})",
                *(f"{s.mean_qps:.0f}", f"{s.queries:,}", " + ".join(map(str, s.shards))),
                *(taken_up, f"{s.cpu_s:.1f}", f"{s.wall_s:.1f}"),
            )
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=NAMES)
    parser.add_argument("--zones", type=int, default=ZONES)
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--rate", type=float, default=LIMIT_QPS, help="queries/s per server")
    parser.add_argument("--kill-at", type=float, default=0.4, help="share of shards done by then")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
