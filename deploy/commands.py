"""Command lines of all services: ``python -m deploy.commands NAME [ARGUMENT …]`` becomes one.

``make run``, the systemd units and the containers start the same commands. Settings come from the
environment (docs/reference/settings.md); arguments are appended.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from core.paths import data_folder
from deploy import broker, links
from deploy.certificates import NoCertificate

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
_MANAGE = [PYTHON, str(ROOT / "manage.py")]
_CELERY = [PYTHON, "-m", "celery", "-A", "tasks.platform.app"]
LINKS_PORT = 6390


def service_environment(data: Path) -> dict[str, str]:
    """The environment of this process with what every service needs; without REDIS_URL the
    embedded Valkey.
    """
    env = dict(os.environ)
    env["NEPHOSCOPE_DATA"] = str(data)
    env["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    env["PYTHONPATH"] = str(ROOT)
    env.setdefault("REDIS_URL", f"redis+socket://{broker.socket_path(data)}")
    # Processes share the cores: threads of linear algebra in each would only wait for one.
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
    return env


def worker(queues: Sequence[str], concurrency: int, *options: str) -> list[str]:
    """A worker of some queues; its name shows workers of several machines apart."""
    return [
        *(*_CELERY, "worker", "--loglevel", "INFO", "--without-gossip", "--without-mingle"),
        *("--queues", ",".join(queues), "--hostname", f"{queues[0]}@%h"),
        *("--concurrency", str(concurrency)),
        *options,
    ]


def _beat() -> list[str]:
    schedule = str(data_folder() / "beat-schedule")
    return [*_CELERY, "beat", "--schedule", schedule, "--pidfile", ""]


def _gate() -> list[str]:
    """Raises ``NoCertificate`` where no certificate can be made."""
    address = os.environ.get("NEPHOSCOPE_LINKS_ADDRESS") or f"127.0.0.1:{LINKS_PORT}"
    host, _, port = address.rpartition(":")
    return links.gate_command(data_folder(), host, int(port))


# A sweep that takes long, or a receiver that is slow, keeps no other waiting: threads.
_THREADS = ("--pool", "threads")
COMMANDS: dict[str, Callable[[], list[str]]] = {
    "migrate": lambda: [*_MANAGE, "migrate", "--verbosity", "0"],
    "web": lambda: [PYTHON, "-m", "webapp.server"],
    "crawl": lambda: worker(["crawl"], 2),
    "analysis": lambda: worker(["analysis"], 2),
    "sweeps": lambda: worker(["sweeps"], 3, *_THREADS),
    "alerts": lambda: worker(["alerts"], 4, *_THREADS),
    "beat": _beat,
    "valkey": lambda: broker.command(data_folder()),
    "links": lambda: links.command(data_folder()),
    "gate": _gate,
    "collector": lambda: [*_MANAGE, "vantage", "collect"],
}


def command_line(arguments: Sequence[str]) -> list[str]:
    """The command line of a service with further arguments; ends the process where it has none."""
    name, *more = arguments or [""]
    if name not in COMMANDS:
        print(f"error: {name!r} is not one of {', '.join(COMMANDS)}", file=sys.stderr)
        sys.exit(2)
    try:
        return [*COMMANDS[name](), *more]
    except NoCertificate as error:
        sys.exit(f"error: {error}")


def main() -> None:
    """Become the service that the first argument names."""
    command = command_line(sys.argv[1:])
    os.umask(0o077)
    os.chdir(ROOT)
    os.execve(command[0], command, service_environment(data_folder()))


if __name__ == "__main__":
    main()
