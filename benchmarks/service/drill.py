"""Surveys on machines of their own while processes are killed and networks are cut.

``python -m benchmarks.service.drill [--minutes N] [--every S] [--seed N] [--zones N]``, as root:
each machine is a network namespace with a data folder of its own. PostgreSQL, Valkey and an S3
server have one each, and so have two web processes, three crawlers and a machine with the scheduler
and the other workers. No folder is shared. After one survey in peace, surveys follow each other,
and every few seconds a process is killed by SIGKILL and started again, two machines cannot reach
each other for some seconds (frames are lost, nothing is refused), or all connections to the
database are closed. Meanwhile pages are requested, and the first survey is audited over the API,
one audit after the other.

The crawled zones are counted: each of their names has one right answer. Ends with 1 where a name of
a survey is lost, doubled or wrong, where a table differs from that of the first survey, where an
audit is lost or doubled or has other findings than the first, or where neither web process answers
a page between two disturbances.
"""

import argparse
import http.client
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import psycopg

from benchmarks.dns import counting
from benchmarks.service.audit_load import Audits
from benchmarks.service.background import Background
from deploy import broker
from testbed.namespaces import netns
from testbed.namespaces.namespace_exec import command
from tests import services
from tests.store.s3_server import BUCKET, serve_command

ROOT = Path(__file__).resolve().parents[2]
# The user's machine starts surveys and asks for pages; nothing of it is cut or killed.
STORES = ("database", "broker", "objects")
WEBS, CRAWLERS = ("web1", "web2"), ("crawl1", "crawl2", "crawl3")
MACHINES = (*STORES, *WEBS, *CRAWLERS, "control", "user")
# What may be killed; the S3 server of the tests keeps its objects in memory.
KILLED = (*WEBS, *CRAWLERS, "sweeps", "analysis", "beat", "broker")
ADDRESS, DNS_PORT = "127.0.62.1", 5300
LABELS, LIMIT_QPS = 199, 400
RANGES = {
    "createDate": "2026-11-01-00-00-00",
    "prefixes": [{"ip_prefix": "11.0.0.0/9", "region": "us-east-1", "service": "EC2"}],
}
_NOWHERE = "02:00:00:00:00:01"
_LEAST_CUT_S, _MOST_CUT_S = 2.0, 12.0
FETCH_ATTEMPTS = 5


class Network:
    """A namespace for each machine, all on one bridge."""

    def __init__(self) -> None:
        self._prefix = netns.new_prefix()
        names = [self.name_of(machine) for machine in ("switch", *MACHINES)]
        for name in names:
            netns.add(name)
        lines = ["link set lo up", "link add hub type bridge", "link set hub up"]
        for number, machine in enumerate(MACHINES, 2):
            far = self.name_of(machine)
            lines += [
                f"link add p{number} type veth peer name eth0 netns {far}",
                f"link set p{number} master hub",
                f"link set p{number} up",
            ]
        netns.batch(names[0], lines)
        for machine in MACHINES:
            own = f"addr add {self.address_of(machine)}/24 dev eth0"
            netns.batch(self.name_of(machine), ["link set lo up", own, "link set eth0 up"])

    def name_of(self, machine: str) -> str:
        return self._prefix + machine

    def address_of(self, machine: str) -> str:
        return f"10.77.0.{MACHINES.index(machine) + 2}"

    def cut(self, first: str, second: str) -> None:
        """Lose all frames between two machines."""
        for one, other in ((first, second), (second, first)):
            entry = (
                f"neigh replace {self.address_of(other)} lladdr {_NOWHERE} dev eth0 nud permanent"
            )
            netns.batch(self.name_of(one), [entry])

    def join(self, first: str, second: str) -> None:
        """Let two machines reach each other again."""
        for one, other in ((first, second), (second, first)):
            entry = f"neigh del {self.address_of(other)} dev eth0"
            netns.batch(self.name_of(one), [entry], force=True)

    def close(self) -> None:
        netns.remove([self.name_of(machine) for machine in ("switch", *MACHINES)])


@dataclass
class Cluster:
    """The processes of all machines by role."""

    folder: Path
    network: Network
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _commands: dict[str, tuple[str, list[str], dict[str, str]]] = field(default_factory=dict)

    def environment(self, machine: str) -> dict[str, str]:
        """The settings of a process of the product on a machine."""
        at = self.network.address_of
        endpoint = quote(f"http://{at('objects')}:9000", safe="")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NEPHOSCOPE", "DATABASE"))}
        return kept | {
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
            "DATABASE_URL": f"postgresql://nephoscope@{at('database')}/postgres",
            "REDIS_URL": f"redis://{at('broker')}:6379/0",
            "NEPHOSCOPE_DATA": str(self.folder / machine),
            "NEPHOSCOPE_SECRET_KEY": "k" * 50,
            "NEPHOSCOPE_HOSTS": "*",
            "NEPHOSCOPE_FETCH_RANGES": "0",
            "NEPHOSCOPE_LAKE_URL": f"s3://{BUCKET}/lake?endpoint={endpoint}",
            "NEPHOSCOPE_LAKE_ACCESS_KEY": "key",
            "NEPHOSCOPE_LAKE_SECRET_KEY": "secret",
            "NEPHOSCOPE_LOG_LEVEL": "WARNING",
        }

    def start(
        self, role: str, machine: str, program: list[str], env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process of a machine, also one that was killed."""
        self._commands[role] = machine, program, env or self.environment(machine)
        (self.folder / machine).mkdir(exist_ok=True)
        return self.restart(role)

    def restart(self, role: str) -> subprocess.Popen[bytes]:
        """Start a process as it was started before."""
        machine, program, env = self._commands[role]
        line = command(self.network.name_of(machine), program)
        with (self.folder / f"{role}.log").open("ab") as log:
            self.running[role] = subprocess.Popen(
                line,
                cwd=ROOT,
                env=env,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.running[role]

    def serve(self, role: str, machine: str, *words: str) -> None:
        """Start a service as ``deploy.commands`` does."""
        self.start(role, machine, [sys.executable, "-m", "deploy.commands", *words])

    def manage(self, *words: object, role: str = "command") -> subprocess.Popen[bytes]:
        """Start a command of the product on the user's machine."""
        return self.start(role, "user", [sys.executable, "manage.py", *map(str, words)])

    def kill(self, role: str) -> None:
        """End a process and its children by SIGKILL."""
        with suppress(ProcessLookupError):
            os.killpg(self.running[role].pid, 9)
        self.running[role].wait()

    def restart_ended(self) -> list[str]:
        """Start processes that ended by themselves, as a service manager does; return which."""
        ended = [role for role, process in self.running.items() if process.poll() is not None]
        for role in ended:
            self.restart(role)
        return ended

    def inside(self, work: Callable[[], Any]) -> Any:
        """Return what ``work`` gives on the user's machine."""
        return netns.run_inside(self.network.name_of("user"), work)

    def memory_mb(self) -> dict[str, float]:
        """Resident memory of each role with its children."""
        return {
            role: sum(map(_resident_mb, _group_of(process.pid)))
            for role, process in self.running.items()
            if process.poll() is None
        }

    def close(self) -> None:
        for role in reversed(self.running):
            self.kill(role)


def _group_of(pid: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[2]) == pid:
                yield int(path.parent.name)


def _resident_mb(pid: int) -> float:
    with suppress(OSError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6
    return 0.0


def start_stores(cluster: Cluster) -> None:
    """Start database, broker and object storage on their machines; raises ``NotInstalled``."""
    home = cluster.folder / "postgresql"
    home.mkdir()
    data = services.create_cluster(home)
    with (data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 10.77.0.0/24 trust\n")
    options = {"listen_addresses": "*", "unix_socket_directories": str(home), "fsync": "off"}
    words = [text for name, value in options.items() for text in ("-c", f"{name}={value}")]
    user = [shutil.which("setpriv") or "setpriv", f"--reuid={services.UNPRIVILEGED}"]
    server = services.find_postgresql("postgres")
    program = [*user, "--regid=nogroup", "--clear-groups", server, "-D", str(data), *words]
    cluster.start("database", "database", program, dict(os.environ))
    program = [*broker.command(cluster.folder / "valkey"), "--port", "6379", "--bind", "*"]
    cluster.start("broker", "broker", [*program, "--protected-mode", "no"], dict(os.environ))
    cluster.start("objects", "objects", serve_command(9000, "0.0.0.0"), dict(os.environ))
    wait(lambda: cluster.inside(lambda: _ask_status(cluster, "objects", 9000, "PUT", f"/{BUCKET}")))


def start_product(cluster: Cluster) -> None:
    """Migrate, import ranges, and start every service."""
    for role in CRAWLERS:
        folder = cluster.folder / role
        folder.mkdir()
        program = [sys.executable, str(ROOT / "benchmarks" / "dns" / "counting.py"), str(folder)]
        words = [str(DNS_PORT), str(LABELS), ADDRESS]
        cluster.start(f"dns-{role}", role, [*program, *words], dict(os.environ))
    ranges = cluster.folder / "aws.json"
    ranges.write_text(json.dumps(RANGES))
    wait(lambda: cluster.manage("migrate", "--verbosity", 0).wait() == 0)
    if cluster.manage("ranges", "import", "aws", ranges).wait():
        raise SystemExit("the ranges could not be imported; see command.log")
    for role in WEBS:
        cluster.serve(role, role, "web", "--host", "0.0.0.0", "--port", "8000")
    for role in CRAWLERS:
        cluster.serve(role, role, "crawl", "--concurrency", "1")
    for role in ("sweeps", "analysis", "beat"):
        cluster.serve(role, "control", role)


def _ask_status(cluster: Cluster, machine: str, port: int, method: str, path: str) -> int:
    """Return the status of an answer below 500; 0 without one."""
    link = http.client.HTTPConnection(cluster.network.address_of(machine), port, timeout=5)
    with suppress(OSError, http.client.HTTPException):
        link.request(method, path)
        status = link.getresponse().status
        return status if status < 500 else 0
    return 0


def wait(ready: Callable[[], Any], limit_s: float = 120.0) -> None:
    """Wait until ``ready`` is true."""
    deadline = time.monotonic() + limit_s
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit("it did not happen in time")
        time.sleep(0.2)


class Disturbances(Background):
    """Kills, cuts and closed connections, one every few seconds, until stopped."""

    def __init__(self, cluster: Cluster, seed: int, every_s: float) -> None:
        super().__init__()
        self._cluster, self._every_s = cluster, every_s
        self._chance = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        """Disturb until stopped."""
        while not self._stopped.wait(self._every_s * self._chance.uniform(0.5, 1.5)):
            for role in self._cluster.restart_ended():
                self.counts[f"ended by itself {role}"] += 1
            kind = self._chance.choices(("kill", "cut", "close"), (5, 4, 1))[0]
            getattr(self, f"_{kind}")()

    def _kill(self) -> None:
        role = self._chance.choice(KILLED)
        self.counts[f"kill {role}"] += 1
        self._cluster.kill(role)
        self._cluster.restart(role)

    def _cut(self) -> None:
        first = self._chance.choice((*WEBS, *CRAWLERS, "control"))
        second = self._chance.choice(STORES)
        self.counts[f"cut {first} {second}"] += 1
        self._cluster.network.cut(first, second)
        self._stopped.wait(self._chance.uniform(_LEAST_CUT_S, _MOST_CUT_S))
        self._cluster.network.join(first, second)

    def _close(self) -> None:
        self.counts["close connections"] += 1
        query = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        self._cluster.inside(lambda: ask(self._cluster, query))


def ask(cluster: Cluster, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query on the database, from the user's machine."""
    with psycopg.connect(cluster.environment("user")["DATABASE_URL"]) as database:
        return database.execute(query).fetchall()


class Visitors(Background):
    """Requests for pages, each to the other web process if the first gives no answer."""

    def __init__(self, cluster: Cluster, paths: list[str]) -> None:
        super().__init__(cluster.inside)
        self._cluster, self._paths = cluster, paths
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        """Request pages until stopped."""
        number = 0
        while not self._stopped.wait(0.2):
            path = self._paths[number % len(self._paths)]
            order = WEBS if number % 2 else WEBS[::-1]
            statuses = (_ask_status(self._cluster, web, 8000, "GET", path) for web in order)
            found = next(filter(None, statuses), 0)
            self.counts["answered" if found == 200 else f"status {found}"] += 1
            number += 1


def run_survey(cluster: Cluster, name: str, zones: int) -> dict[str, Any]:
    """Run a survey by the workers; return its tables without names and times."""
    domains, words = cluster.folder / "domains", cluster.folder / "words"
    domains.write_text("\n".join(map(counting.zone_name, range(zones))))
    words.write_text("\n".join(map(counting.label, range(LABELS))))
    options = ("--no-aaaa", "--workers", "--rate", LIMIT_QPS, "--wordlist", words, "--json")
    server = f"{ADDRESS}:{DNS_PORT}"
    for _ in range(20):
        # The command ends where its connection is closed, and continues the survey of this name.
        found = cluster.manage("survey", domains, "--name", name, "--name-server", server, *options)
        if not found.wait():
            break
        time.sleep(1)
    else:
        raise SystemExit(f"survey {name} did not end; see command.log")
    query = "SELECT table_id, columns, rows, n FROM store_report WHERE survey_id = (SELECT id FROM"
    rows = cluster.inside(lambda: ask(cluster, f"{query} store_survey WHERE slug = '{name}')"))
    return {table_id: rest for table_id, *rest in rows}


def check_rows(cluster: Cluster, name: str, zones: int) -> str:
    """Compare a survey's answers with the truth; return what is wrong, or nothing."""
    # The machine may be cut off from the storage at this moment.
    if all(cluster.manage("lake", "fetch").wait() for _ in range(FETCH_ATTEMPTS)):
        return "the lake could not be fetched"
    shards = cluster.inside(
        lambda: ask(
            cluster,
            "SELECT key FROM store_shard WHERE state = 'done' AND survey_id = "
            f"(SELECT id FROM store_survey WHERE slug = '{name}')",
        )
    )
    folder = cluster.folder / "user" / "lake" / name / "lookups"
    paths = [str(folder / f"{key}.parquet") for (key,) in shards]
    rows = duckdb.sql(
        f"SELECT name, [a.data for a in answers] FROM read_parquet({paths}) WHERE type = 'A'"
    ).fetchall()
    expected = {found: [counting.address_of(found)] for found in counting.names_of(zones, LABELS)}
    lost, doubled = len(expected) - len(dict(rows)), len(rows) - len(dict(rows))
    wrong = sum(expected.get(found) != addresses for found, addresses in rows)
    print(f"{name}: {len(rows):,} names; {lost} lost, {doubled} doubled, {wrong} wrong", flush=True)
    return f"{name}: names differ" if lost or doubled or wrong else ""


@contextmanager
def built() -> Iterator[Cluster]:
    """All machines with all processes, which end whatever happens."""
    with tempfile.TemporaryDirectory(prefix="nephoscope-drill-") as folder:
        Path(folder).chmod(0o755)
        cluster = Cluster(Path(folder), Network())
        try:
            start_stores(cluster)
            start_product(cluster)
            yield cluster
        except SystemExit:
            for log in sorted(cluster.folder.glob("*.log")):
                print(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
            raise
        finally:
            cluster.close()
            cluster.network.close()


def main() -> int:
    """Run the drill, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--every", type=float, default=6.0, help="seconds between disturbances")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--zones", type=int, default=60)
    given = parser.parse_args()
    if os.geteuid():
        print("skipped: network namespaces need root")
        return 77
    with built() as cluster:
        return drill(cluster, given)


def drill(cluster: Cluster, given: argparse.Namespace) -> int:
    """One survey in peace, then others among disturbances; print and judge what was found."""
    calm = run_survey(cluster, "calm", given.zones)
    faults = [check_rows(cluster, "calm", given.zones)]
    paths = ["/", "/surveys/", "/s/calm/", "/s/calm/domains/", "/api/v1/surveys/calm"]
    paths += [f"/api/v1/surveys/calm/tables/{table_id}" for table_id in sorted(calm)[:5]]
    end, number = time.monotonic() + 60 * given.minutes, 0
    first = cluster.memory_mb()
    audits = Audits([cluster.network.address_of(web) for web in WEBS], "calm", cluster.inside)
    with (
        Disturbances(cluster, given.seed, given.every) as found,
        Visitors(cluster, paths) as seen,
        audits,
    ):
        while time.monotonic() < end:
            number += 1
            tables = run_survey(cluster, f"survey{number}", given.zones)
            different = [table_id for table_id in calm if tables.get(table_id) != calm[table_id]]
            if different:
                faults.append(f"survey{number}: tables differ: {', '.join(different)}")
            faults.append(check_rows(cluster, f"survey{number}", given.zones))
        # What was started again ends with the thread of the disturbances.
        last = cluster.memory_mb()
    print(f"disturbances: {found.counts.total()}, {dict(sorted(found.counts.items()))}")
    print(f"pages: {dict(seen.counts)}")
    print("memory, MB: " + ", ".join(f"{r} {first.get(r, 0):.0f} to {last[r]:.0f}" for r in last))
    print(f"audits: {audits.done}, {len(audits.faults)} lost, doubled or different")
    faults = [fault for fault in (*faults, *audits.faults) if fault]
    print("\n".join(faults) or f"{number} surveys: every table as in peace")
    return 1 if faults or not seen.counts["answered"] else 0


if __name__ == "__main__":
    sys.exit(main())
