"""Machines of a drill: a network namespace each, with the stores and services of one site."""

import http.client
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

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
ADDRESS, DNS_PORT, LABELS = "127.0.62.1", 5300, 199
RANGES = {
    "createDate": "2026-11-01-00-00-00",
    "prefixes": [{"ip_prefix": "11.0.0.0/9", "region": "us-east-1", "service": "EC2"}],
}
_NOWHERE = "02:00:00:00:00:01"


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
    _commands_once: set[str] = field(default_factory=set)

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

    def run_once(self, role: str, *words: object) -> subprocess.Popen[bytes]:
        """Start a Python program on the user's machine, which is not started again."""
        self._commands_once.add(role)
        return self.start(role, "user", [sys.executable, *map(str, words)])

    def manage(self, *words: object) -> subprocess.Popen[bytes]:
        """Start a command of the product on the user's machine."""
        return self.run_once("command", "manage.py", *words)

    def kill(self, role: str) -> None:
        """End a process and its children by SIGKILL."""
        with suppress(ProcessLookupError):
            os.killpg(self.running[role].pid, 9)
        self.running[role].wait()

    def restart_ended(self) -> list[str]:
        """Start services that ended by themselves, as a service manager does; return which."""
        ended = [
            role
            for role, process in self.running.items()
            if role not in self._commands_once and process.poll() is not None
        ]
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
    wait(lambda: cluster.inside(lambda: ask_status(cluster, "objects", 9000, "PUT", f"/{BUCKET}")))


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


def ask_status(cluster: Cluster, machine: str, port: int, method: str, path: str) -> int:
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


def ask(cluster: Cluster, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query on the database, from the user's machine."""
    with psycopg.connect(cluster.environment("user")["DATABASE_URL"]) as database:
        return database.execute(query).fetchall()


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
