"""An open-loop load on web processes with PostgreSQL: latency, errors, CPU time and memory.

``python -m benchmarks.service.load FOLDER [--scale 1] [--rate 200] [--seconds 60] [--web 2]``.
Requests arrive as a Poisson process at the given rate, whether or not earlier ones have been
answered, and latency counts from the planned arrival: there is no coordinated omission. The store
of FOLDER, a survey of the world ``imc2013`` on a PostgreSQL of its own, is filled once.

``/healthz`` is part of the mix as a control: what a request of almost no work waits for on this
machine. Ends with 1 after any answer other than 200, or where p99 is above 200 ms.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import django

from benchmarks.pages.serve import ROOT, late, pages_of
from benchmarks.service.stores import filled_store
from tests.services import free_port

TARGET_MS, SEED = 200.0, 7
# The server closes a connection that is idle for five seconds.
_IDLE_S = 3.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Shares of requests in per cent; reports are divided evenly among their families.
MIX = {
    "healthz": 4,
    "front page": 8,
    "list of surveys": 6,
    "survey": 8,
    "report": 30,
    "list of domains": 8,
    "domain, any": 8,
    "domain, best-ranked": 6,
    "name": 3,
    "outage explorer": 4,
    "API survey": 5,
    "API table": 5,
    "API domain": 5,
}


@dataclass
class Site:
    """Web processes of one store, as ``deploy.commands web`` starts them."""

    environment: Mapping[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)

    def start(self, count: int) -> None:
        """Start ``count`` web processes and wait until each answers."""
        for _ in range(count):
            port = free_port()
            command = [sys.executable, "-m", "deploy.commands", "web", "--port", str(port)]
            options = ["--log-level", "error"]
            self.processes.append(
                subprocess.Popen([*command, *options], cwd=ROOT, env=dict(self.environment))
            )
            self.ports.append(port)

    def cpu_s(self) -> float:
        """CPU seconds of all web processes so far."""
        return sum(_cpu_s(process.pid) for process in self.processes)

    def memory_mb(self) -> list[float]:
        """Resident megabytes of each web process."""
        return [_resident_mb(process.pid) for process in self.processes]

    def stop(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.terminate()
            process.wait(20)


@dataclass
class Samples:
    """Milliseconds from planned arrival to the last octet, by kind, and answers that failed."""

    took_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)
    memory_mb: list[list[float]] = field(default_factory=list)


class Client:
    """Connections to one web process; idle ones are used again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def get(self, path: str) -> int:
        """Return the status of an answer that was read to its end."""
        reader, writer = await self._connect()
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n"
        writer.write(head.encode())
        status, length = await _read_head(reader)
        await reader.readexactly(length)
        self._idle.append((time.monotonic(), reader, writer))
        return status

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            since, reader, writer = self._idle.pop()
            if time.monotonic() - since < _IDLE_S:
                return reader, writer
            writer.close()
        return await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, int]:
    lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in lines[1:] if line)
    return int(lines[0].split()[1]), int(fields[b"content-length"])


async def run_load(
    site: Site, pages: Mapping[str, Callable[[], str]], rate: float, seconds: float
) -> Samples:
    """Send requests for ``seconds`` at ``rate`` a second, in turn to each web process."""
    clients = [Client(port) for port in site.ports]
    chance, samples, work = random.Random(SEED), Samples(), set()
    names, weights = list(pages), [weight_of(name, pages) for name in pages]
    began = due = time.perf_counter()
    number, next_look = 0, began
    while due < began + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        name = chance.choices(names, weights)[0]
        task = asyncio.create_task(_ask(clients[number % len(clients)], name, pages, due, samples))
        work.add(task)
        task.add_done_callback(work.discard)
        if due >= next_look:
            samples.memory_mb.append(site.memory_mb())
            next_look += seconds / 12
        number, due = number + 1, due + chance.expovariate(rate)
    if work:
        await asyncio.wait(work, timeout=60)
    samples.failures += ["no answer within a minute"] * len(work)
    return samples


async def _ask(
    client: Client, name: str, pages: Mapping[str, Callable[[], str]], due: float, samples: Samples
) -> None:
    path = pages[name]()
    try:
        status = await client.get(path)
    except (OSError, EOFError, ValueError, KeyError) as error:
        samples.failures.append(f"{path}: {error!r}")
        return
    samples.took_ms[name].append((time.perf_counter() - due) * 1e3)
    if status != 200:
        samples.failures.append(f"{path}: {status}")


def weight_of(name: str, pages: Mapping[str, object]) -> float:
    """Return the share of a kind of request in per cent."""
    if not name.startswith("report"):
        return MIX[name]
    return MIX["report"] / sum(other.startswith("report") for other in pages)


def mix_of(slug: str) -> dict[str, Callable[[], str]]:
    """Return a maker of addresses for each kind of request."""
    from webapp.store.models import Report  # noqa: PLC0415  (after Django's setup)

    tables = list(Report.objects.filter(survey__slug=slug).values_list("table_id", flat=True))
    dice, found = random.Random(SEED), pages_of(slug, None)
    domain = found["domain, any"]
    fixed = {
        "healthz": "/healthz",
        "front page": "/",
        "list of surveys": "/surveys/",
        "survey": f"/s/{slug}/",
        "API survey": f"/api/v1/surveys/{slug}",
    }
    found |= {name: (lambda path=path: path) for name, path in fixed.items()}
    base = f"/api/v1/surveys/{slug}"
    found["API table"] = lambda: f"{base}/tables/{dice.choice(tables)}"
    found["API domain"] = lambda: f"{base}/domains/{domain().split('/')[-2]}"
    return {n: p for n, p in found.items() if n in MIX or n.startswith("report")}


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_S


def _resident_mb(pid: int) -> float:
    with suppress(OSError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


def database_cpu_s() -> float:
    """CPU seconds of this folder's PostgreSQL, backends that have ended included."""
    from django.db import connection  # noqa: PLC0415  (after Django's setup)

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        own = int(cursor.fetchone()[0])
    server = int(Path(f"/proc/{own}/stat").read_text().rpartition(")")[2].split()[1])
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return _cpu_s(server) + sum(_cpu_s(int(child)) for child in children)


@contextmanager
def running(environment: Mapping[str, str], count: int) -> Iterator[Site]:
    """Web processes that are ended whatever happens."""
    site = Site(environment)
    try:
        site.start(count)
        asyncio.run(_wait(site))
        yield site
    finally:
        site.stop()


async def _wait(site: Site) -> None:
    for port in site.ports:
        for _ in range(600):
            with suppress(OSError):
                await Client(port).get("/healthz")
                break
            await asyncio.sleep(0.1)


def show(samples: Samples, seconds: float, web_s: float, database_s: float) -> bool:
    """Print the figures; return whether the targets are met."""
    n = sum(map(len, samples.took_ms.values()))
    print(f"{'request':26}{'n':>7}{'p50 ms':>9}{'p95':>9}{'p99':>9}{'max':>9}")
    everything = [ms for values in samples.took_ms.values() for ms in values]
    rows = {"all": everything, **dict(sorted(samples.took_ms.items()))}
    for name, values in rows.items():
        cells = (late(values, 0.5), late(values, 0.95), late(values, 0.99), max(values))
        print(f"{name:26}{len(values):7}" + "".join(f"{cell:9.1f}" for cell in cells))
    print(f"{n / seconds:.0f} requests/s, {len(samples.failures)} failed")
    for text in samples.failures[:5]:
        print(f"  {text}")
    print(f"CPU ms a request: web {web_s / n * 1e3:.2f}, database {database_s / n * 1e3:.2f}")
    first, last = (sum(samples.memory_mb[place]) for place in (len(samples.memory_mb) // 4, -1))
    print(f"web processes: {first:.0f} MB after a quarter, {last:.0f} MB at the end")
    return not samples.failures and late(everything, 0.99) <= TARGET_MS


def main() -> int:
    """Fill, start, warm up, load; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--web", type=int, default=2, help="web processes")
    chosen = parser.parse_args()
    with filled_store(chosen.folder.resolve(), chosen.scale) as environment:
        os.environ.update(environment)
        django.setup()
        from webapp.store.models import Survey  # noqa: PLC0415  (after Django's setup)

        slug = Survey.objects.filter(finished_at__isnull=False).latest("pk").slug
        pages = mix_of(slug)
        with running(environment, chosen.web) as site:
            asyncio.run(run_load(site, pages, 20.0, 10.0))  # imports and templates are not counted
            before = site.cpu_s(), database_cpu_s()
            samples = asyncio.run(run_load(site, pages, chosen.rate, chosen.seconds))
            web_s, database_s = site.cpu_s() - before[0], database_cpu_s() - before[1]
    return 0 if show(samples, chosen.seconds, web_s, database_s) else 1


if __name__ == "__main__":
    sys.exit(main())
