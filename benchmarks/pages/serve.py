"""How long the server works on a page of a stored survey, and how many pages one core gives.

The real server (one process) answers over loopback on a given data folder. Besides
wall time, the CPU time of the server process is measured, which other work on the machine
does not lengthen. Every page is requested once cold, then many times; of a domain's and a name's
page every request is for another one, so that nothing is remembered.

    python -m benchmarks.pages.serve DATA_FOLDER [SURVEY] [--before SURVEY] [--json]
"""

import argparse
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import django

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = 200
# Linux gives each process a CPU clock: this bit asks for scheduled time, in nanoseconds.
_SCHEDULED = 2
TARGET_MS, TARGET_PER_S = 50.0, 100.0
SEED = 7


def cpu_clock(pid: int) -> int:
    """Return the id of a process's CPU clock, for ``time.clock_gettime``."""
    return (~pid << 3) | _SCHEDULED


@dataclass(frozen=True, slots=True)
class Figure:
    """One kind of page: wall milliseconds by request, and pages for each CPU second."""

    page: str
    bytes_sent: int
    cold_ms: float
    median_ms: float
    p95_ms: float
    cpu_ms: float
    cpu_p95_ms: float
    per_core_s: float

    @property
    def is_missed(self) -> bool:
        """Whether the server works longer on it than it may."""
        slow = self.cpu_p95_ms > TARGET_MS
        return slow or (self.page.startswith("report") and self.per_core_s < TARGET_PER_S)


class Server:
    """The web server of the product on a temporary data folder."""

    def __init__(self, data: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        environment = {
            **os.environ,
            "NEPHOSCOPE_DATA": str(data),
            "REDIS_URL": "redis://127.0.0.1:1/0",
        }
        command = [sys.executable, "-m", "webapp.server"]
        options = ["--port", str(self.port), "--log-level", "error"]
        self.process = subprocess.Popen([*command, *options], cwd=ROOT, env=environment)

    def cpu_ms(self) -> float:
        """CPU time of the whole process so far, threads that ended included."""
        return time.clock_gettime(cpu_clock(self.process.pid)) * 1e3

    def get(self, path: str) -> tuple[float, bytes]:
        """(wall milliseconds, body) of one request on a connection that stays open."""
        if not hasattr(self, "_link"):
            self._link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        started = time.perf_counter()
        self._link.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = self._link.getresponse()
        body = answer.read()
        took_ms = (time.perf_counter() - started) * 1e3
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")
        return took_ms, body

    def wait(self) -> None:
        """Until it answers."""
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the web server did not start")


@contextmanager
def serving(data: Path) -> Iterator[Server]:
    """A server that is ended whatever happens."""
    server = Server(data)
    try:
        server.wait()
        server.get("/about/")  # imports and templates of the first page are not counted
        yield server
    finally:
        server.process.terminate()
        server.process.wait(20)


def measure(server: Server, page: str, paths: Callable[[], str]) -> Figure:
    """One kind of page."""
    cold_ms, body = server.get(paths())
    walls, works = [], []
    for _ in range(REQUESTS):
        path, before_ms = paths(), server.cpu_ms()
        walls.append(server.get(path)[0])
        works.append(server.cpu_ms() - before_ms)
    mean_ms = sum(works) / REQUESTS
    return Figure(
        page, len(body), cold_ms, late(walls, 0.5), late(walls), mean_ms, late(works), 1e3 / mean_ms
    )


def late(values: list[float], share: float = 0.95) -> float:
    """The value that ``share`` of them do not pass."""
    return sorted(values)[int(len(values) * share)]


def pages_of(slug: str, before: str | None) -> dict[str, Callable[[], str]]:
    """Kinds of page by name, each with a maker of addresses."""
    from webapp.pages.ui.report_families import FAMILIES  # noqa: PLC0415  (after Django's setup)
    from webapp.store.models import Survey  # noqa: PLC0415
    from webapp.store.surveys import index as survey_index  # noqa: PLC0415

    index = survey_index.index_of(Survey.objects.get(slug=slug))
    if index is None:
        raise SystemExit(f"survey {slug} has no index")
    dice = random.Random(SEED)
    found: dict[str, Callable[[], str]] = {
        f"report {f.slug}": (lambda f=f: f"/s/{slug}/reports/{f.slug}/") for f in FAMILIES
    }

    def domain() -> dict[str, Any]:
        return index.domains.rows(dice.randrange(index.domains.n_rows), 1)[0]

    def name() -> str:
        while True:
            row = domain()
            if row["total"]:
                return str(index.names(row, dice.randrange(row["total"]), 1)[0]["name"])

    found["domain, any"] = lambda: f"/s/{slug}/domains/{domain()['domain']}/"
    best = [r["domain"] for r in index.domains.rows(0, 200, ["domain"])]
    found["domain, best-ranked"] = lambda: f"/s/{slug}/domains/{dice.choice(best)}/"
    found["domain, history"] = lambda: f"/s/{slug}/domains/{domain()['domain']}/history/"
    found["list of domains"] = lambda: f"/s/{slug}/domains/?page={dice.randrange(1, 200)}"
    found["name"] = lambda: f"/s/{slug}/names/{name()}/"
    targets = [k.split("/", 2) for k in index.targets() if not k.startswith("operator")]
    found["outage explorer"] = lambda: _outage(slug, *dice.choice(targets))
    if before:
        found["comparison"] = lambda: f"/compare/{before}/{slug}/"
        found["moved names"] = lambda: f"/compare/{before}/{slug}/moves/?dimension=regions"
    return found


def _outage(slug: str, kind: str, provider: str, target: str) -> str:
    query = urlencode({"kind": kind, "provider": provider, "target": target})
    return f"/s/{slug}/outages/?{query}"


def main() -> None:
    """Measure every kind of page and print which miss the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("survey", nargs="?")
    parser.add_argument("--before", help="a second survey, for the pages of a comparison")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    os.environ["NEPHOSCOPE_DATA"] = str(chosen.data.resolve())
    os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    django.setup()
    from webapp.store.models import Survey  # noqa: PLC0415

    survey = chosen.survey or Survey.objects.filter(finished_at__isnull=False).latest("pk").slug
    pages = pages_of(survey, chosen.before)
    with serving(chosen.data.resolve()) as server:
        figures = [measure(server, page, paths) for page, paths in pages.items()]
    if chosen.json:
        print(json.dumps([asdict(f) for f in figures], indent=1))
        return
    show(figures)


def show(figures: list[Figure]) -> None:
    """The figures as a table."""
    heads = ("kB", "cold ms", "wall p50", "wall p95", "CPU ms", "CPU p95", "/s core")
    print(f"{'page':22}" + "".join(f"{head:>9}" for head in heads))
    for f in figures:
        times = (f.bytes_sent / 1e3, f.cold_ms, f.median_ms, f.p95_ms, f.cpu_ms, f.cpu_p95_ms)
        cells = "".join(f"{value:9.1f}" for value in times)
        print(f"{f.page:22}{cells}{f.per_core_s:9.0f}{'  MISSED' if f.is_missed else ''}")


if __name__ == "__main__":
    main()
