"""``python -m tasks.joining SITE TOKEN``: make this machine a vantage point, and start it.

Without a token the identity of an earlier join is used. No Django, no database.
"""

import argparse
import logging
import os
import signal
import sys
import warnings
from pathlib import Path
from types import FrameType

from celery.platforms import SecurityWarning
from celery.signals import worker_ready, worker_shutting_down
from kombu.entity import Exchange, Queue

from core.errors import BadInput, NephoscopeError
from tasks import identity, station
from tasks.app import app
from tasks.identity import Identity
from tasks.pulse import TAKEN, Pulse
from tasks.site_calls import Presence, join, say_presence
from tasks.transport import OPTIONS

log = logging.getLogger(__name__)
_EXIT_CODES = {BadInput: 2, identity.AlreadyRunning: TAKEN}
_DJANGO = "DJANGO_SETTINGS_MODULE"


def main(arguments: list[str] | None = None) -> int:
    """Join where a token is given, then work until stopped; the exit code."""
    options = _parser().parse_args(arguments)
    if arguments is None and os.environ.get(_DJANGO):
        # Celery loads Django where this is set; a shell of the site's own machine may set it.
        clean = {name: value for name, value in os.environ.items() if name != _DJANGO}
        os.execve(sys.executable, [sys.executable, "-m", "tasks.joining", *sys.argv[1:]], clean)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=options.log)
    logging.getLogger("celery").setLevel(options.log)
    try:
        return _run(options)
    except NephoscopeError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return _EXIT_CODES.get(type(error), 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tasks.joining", description=__doc__)
    parser.add_argument("site", nargs="?", metavar="SITE", help="like https://nephoscope.example")
    parser.add_argument("token", nargs="?", metavar="TOKEN", help="from the invitation; works once")
    parser.add_argument(
        "--folder", default="", help="where the identity lies (~/.nephoscope-vantage)"
    )
    parser.add_argument("--join-only", action="store_true", help="do not start measuring")
    parser.add_argument("--plain", action="store_true", help="allow http to another machine")
    parser.add_argument("--log", default="WARNING", metavar="LEVEL")
    return parser


def _run(options: argparse.Namespace) -> int:
    folder = identity.folder_of(options.folder)
    who = _identity(options, folder)
    with identity.alone(folder):
        return 0 if options.join_only else work(who, folder)


def _identity(options: argparse.Namespace, folder: Path) -> Identity:
    known = identity.load(folder)
    if known is None and not options.token:
        raise BadInput(f"there is no identity in {folder}; join with SITE and TOKEN first")
    # A service that runs the same command again starts what has joined; a token that is too many
    # stays unused.
    if known and not (options.token and say_presence(known) is Presence.REVOKED):
        return known
    who = join(options.site, options.token, plain=options.plain)
    identity.save(who, folder)
    print(f"joined {who.site} as {who.name}", flush=True)  # noqa: T201
    return who


def work(who: Identity, folder: Path) -> int:
    """Consume the own queue until stopped; the exit code."""
    # Celery fears pickled messages where root runs it; none are accepted here.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    place = station.begin(who, folder)
    configure(who, folder)
    pulse = Pulse(place)
    worker_ready.connect(lambda **_: _ready(who), weak=False)
    worker_shutting_down.connect(lambda **_: place.ended.set(), weak=False)
    worker = app.Worker(
        pool="solo",
        concurrency=1,
        queues=[who.key("tasks")],
        hostname=f"{who.name}@vantage",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
        loglevel=logging.getLevelName(log.getEffectiveLevel()),
    )
    # Celery brings its own handler; until then, and while it cannot connect, this one ends us.
    signal.signal(signal.SIGTERM, _quit)
    pulse.start()
    try:
        worker.start()
    except SystemExit:
        log.info("stopped before the work began")
    pulse.stop()
    return pulse.ended_with or worker.exitcode or 0


def _quit(number: int, frame: FrameType | None) -> None:
    raise SystemExit


def _ready(who: Identity) -> None:
    print(f"{who.name} is measuring; Ctrl-C stops it", flush=True)  # noqa: T201
    # Celery has loaded the tasks by now.
    from tasks.vantage import go_on  # noqa: PLC0415

    go_on()


def configure(who: Identity, folder: Path) -> None:
    """Point Celery at the own queue, with the few commands that a vantage point may use."""
    key = who.key("tasks")
    unacked = {f"unacked{part}_key": who.key(f"unacked{part}") for part in ("", "_index", "_mutex")}
    app.conf.update(
        broker_url=who.url,
        broker_transport="tasks.transport:OwnTransport",
        broker_transport_options={**OPTIONS, **unacked},
        broker_use_ssl=identity.tls_options(who, folder),
        broker_connection_max_retries=None,
        broker_connection_retry_on_startup=True,
        task_queues=[Queue(key, Exchange(""), routing_key=key)],
        task_create_missing_queues=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        task_default_queue=key,
        task_routes={},
        beat_schedule={},
    )


if __name__ == "__main__":
    sys.exit(main())
