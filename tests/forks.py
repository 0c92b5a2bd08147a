"""Processes of the product, forked from one that has imported its libraries.

An interpreter that starts anew spends a second or two of processor time on Django, numba and
DuckDB; a fork of one that has imported them spends a tenth of it. ``Process`` is ``Popen`` with
that difference: a fork has its own number, standard streams, environment, working directory and
session, so that signals, exit codes and waiting are those of any process. All forks share one seed
of ``hash``, and sizes of memory are not theirs alone: whoever looks at these uses ``Popen``.
"""

import atexit
import gc
import json
import os
import runpy
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from manage import STANDALONE

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = "NEPHO_TESTS_FORKS"
_NUMBER = struct.Struct("!i")
# Read when an interpreter starts, so a fork would not obey them.
_AT_START = ("PYTHON", "LANG", "LC_", "MALLOC_", "LD_")
# Nothing of these reads the environment or a setting when it is imported.
_LIBRARIES = (
    "celery.bin.celery",
    "celery.bin.worker",
    "celery.bin.beat",
    "celery.concurrency.prefork",
    "celery.fixups.django",
    "celery.worker.consumer",
    "celery.worker.worker",
    "django.contrib.auth.hashers",
    "django.contrib.messages.middleware",
    "django.contrib.sessions.middleware",
    "django.contrib.staticfiles.handlers",
    "django.core.handlers.asgi",
    "django.core.management.commands.check",
    "django.db.backends.sqlite3.base",
    "django.db.migrations.executor",
    "django.forms",
    "django.middleware.csrf",
    "django.template.loader",
    "django.views.generic",
    "jsonschema_rs",
    "kombu.transport.redis",
    "pandas",
    "playwright.sync_api",
    "polars",
    "pydantic",
    "redis.asyncio",
    "uvicorn.protocols.http.h11_impl",
)
_STREAMS = ("stdin", "stdout", "stderr")
# Our own code below the tasks knows neither.
_FOLDERS = (
    "core",
    "lake",
    "crawlers",
    "cartography",
    "probes",
    "analysis",
    "screening",
    "simulator",
    "audits",
    "testbed",
)


class Process(subprocess.Popen):
    """``Popen`` of ``python manage.py …``, ``-m …`` or ``-c …``; of all else an ordinary one."""

    _server: socket.socket | None = None

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        shell, pipes, session = rest[2], rest[3:9], rest[-2]
        args = [args] if isinstance(args, str) else [os.fspath(arg) for arg in args]
        if shell or preexec_fn or pass_fds or not _is_ours(args, env):
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest
            )
            return
        job = {
            "arguments": args[1:],
            "folder": os.fspath(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "session": bool(session),
        }
        own = [fd if fd != -1 else n for n, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        self._server = _ask(job, own)
        self.pid = _NUMBER.unpack(_receive(self._server, _NUMBER.size))[0]
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags):
        """What ``waitpid`` says of a child: the server is the parent and passes it on."""
        if self._server is None:
            return super()._try_wait(wait_flags)
        if self._server.fileno() < 0:
            # Collected as garbage before anybody asked, and kept by ``subprocess`` for later.
            return self.pid, 0
        if wait_flags & os.WNOHANG and not select.select([self._server], [], [], 0)[0]:
            return 0, 0
        status = _NUMBER.unpack(_receive(self._server, _NUMBER.size))[0]
        self._server.close()
        return self.pid, status

    def _internal_poll(self, _deadstate=None, **_):
        if self._server is None:
            return super()._internal_poll(_deadstate)
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid == self.pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def run(command, **more) -> subprocess.CompletedProcess:
    """What ``subprocess.run`` does, with ``Process``."""
    limit_s, check = more.pop("timeout", None), more.pop("check", False)
    text = more.pop("input", None)
    if text is not None:
        more["stdin"] = subprocess.PIPE
    if more.pop("capture_output", False):
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Process(command, **more) as process:
        try:
            out, err = process.communicate(text, timeout=limit_s)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def manage(folder, *arguments, **more) -> subprocess.CompletedProcess:
    """A command on a data folder, with no other setting of the product, as text."""
    more.setdefault("capture_output", "stdout" not in more)
    command = [sys.executable, str(ROOT / "manage.py"), *map(str, arguments)]
    return run(command, env=bare_environment(folder) | more.pop("env", {}), text=True, **more)


def bare_environment(folder) -> dict[str, str]:
    """The environment of this process with this data folder and no other setting."""
    own = ("NEPHOSCOPE", "DJANGO", "DATAB")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return kept | {"NEPHOSCOPE_DATA": str(folder)}


def start_server() -> Path:
    """Start the server for this process and all that it starts; it ends with this process.

    Returns a folder that lives as long, and that all of them share.
    """
    if ADDRESS in os.environ:
        return Path(os.environ[ADDRESS]).parent
    folder = Path(tempfile.mkdtemp(prefix="nephoscope-forks-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen(128)
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.forks", str(listener.fileno())],
            cwd=ROOT,
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
    os.environ[ADDRESS] = str(folder / "socket")
    atexit.register(server.wait)
    atexit.register(server.stdin.close)
    return folder


def _is_ours(args, env) -> bool:
    if args[0] != sys.executable or len(args) < 3 or _at_start(env or os.environ) != _KEPT:
        return False
    return (
        args[1] == "-c"
        or (args[1] == "-m" and args[2] != "tasks.vantage.joining")
        or (Path(args[1]).name == "manage.py" and args[2] not in STANDALONE)
    )


def _at_start(env) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_AT_START)}


_KEPT = _at_start(os.environ)


def _ask(job, streams) -> socket.socket:
    start_server()
    server = socket.socket(socket.AF_UNIX)
    server.connect(os.environ[ADDRESS])
    text = json.dumps(job).encode()
    socket.send_fds(server, [_NUMBER.pack(len(text))], streams)
    server.sendall(text)
    return server


def _receive(server, length) -> bytes:
    parts = b""
    while len(parts) < length:
        part = server.recv(length - len(parts))
        if not part:
            raise RuntimeError("the server of forks has ended")
        parts += part
    return parts


class Server:
    """Forks a process for each connection, and writes its number and its status there."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._children: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> dict | None:
        """Until standard input ends; a fork returns from here with what it is to become."""
        while True:
            ready, _, _ = select.select([0, self._listener, *self._children], [], [])
            for handle in ready:
                if handle == 0:
                    return None
                if handle is not self._listener:
                    self._bury(handle)
                elif job := self._fork():
                    return job

    def _fork(self) -> dict | None:
        client, _ = self._listener.accept()
        header, streams, _, _ = socket.recv_fds(client, _NUMBER.size, 3)
        job = json.loads(_receive(client, _NUMBER.unpack(header)[0]))
        child = os.fork()
        if not child:
            for handle in (self._listener, client, *(one for _, one in self._children.values())):
                handle.close()
            for handle in self._children:
                os.close(handle)
            return job | {"streams": streams}
        for stream in streams:
            os.close(stream)
        with suppress(OSError):
            client.sendall(_NUMBER.pack(child))
        self._children[os.pidfd_open(child)] = child, client
        return None

    def _bury(self, handle) -> None:
        child, client = self._children.pop(handle)
        os.close(handle)
        with suppress(OSError), client:
            client.sendall(_NUMBER.pack(os.waitpid(child, 0)[1]))


def _become(job) -> None:
    if job["session"]:
        os.setsid()
    for number, name in enumerate(_STREAMS):
        os.dup2(job["streams"][number], number)
        os.close(job["streams"][number])
        # The interpreter has looked whether its own can be sought in.
        own = getattr(sys, f"__{name}__")
        mode = "r" if number == 0 else "w"
        new = open(number, mode, encoding=own.encoding, errors=own.errors, closefd=False)  # noqa: SIM115
        new.reconfigure(line_buffering=number == 2 or new.isatty())
        setattr(sys, f"_own_{name}", own)
        setattr(sys, f"__{name}__", new)
        setattr(sys, name, new)
    os.environ.clear()
    os.environ.update(job["environment"])
    time.tzset()
    os.chdir(job["folder"])
    kind, *arguments = job["arguments"]
    sys.argv = [kind, *arguments[1:]]
    if kind == "-c":
        sys.path[0] = ""
        exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})
    elif kind == "-m":
        sys.path[0] = job["folder"]
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = job["arguments"]
        sys.path[0] = str(Path(kind).resolve().parent)
        runpy.run_path(kind, run_name="__main__")


def _status_of(job) -> int:
    try:
        _become(job)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except BaseException as error:  # noqa: BLE001 - whatever it is, it ends the process
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _end(status: int) -> None:
    """End as an interpreter does, without freeing the libraries one object after the other."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = 120
    os._exit(status)


def main() -> None:
    """Import, then serve the listening socket whose number is given."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    # Whoever needs no fork does not wait for the libraries.
    select.select([0, listener], [], [])
    for name in _LIBRARIES:
        import_module(name)
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.stem not in ("__main__", "__init__"):
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    gc.collect()
    gc.freeze()
    job = Server(listener).serve()
    _end(_status_of(job) if job else 0)


if __name__ == "__main__":
    main()
