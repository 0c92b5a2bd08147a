"""Child processes of ``make run``: started in separate process groups, restarted, and all ended."""

import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

GRACE_S = 8.0
KEPT_LOG_BYTES = 5_000_000
PR_SET_PDEATHSIG = 1  # prctl(2)
# Loaded before any fork: between fork and exec, a child may only call it.
_LIBC = ctypes.CDLL(None)
# A vital child that ended so often within a minute will not stay up by being started again.
MOST_DEATHS, DEATHS_WITHIN_S = 5, 60.0


@dataclass
class Child:
    """One process, started again when it ends; a ``vital`` one that ends too often ends the run.

    One that is needed ``once`` is started again only after a failure; its lines are shown.
    """

    name: str
    command: Sequence[str]
    vital: bool = False
    once: bool = False
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    started_at: float = 0.0
    next_start: float = 0.0
    deaths: list[float] = field(default_factory=list)

    @property
    def end(self) -> str:
        """How the process ended: a signal by number and name, or an exit code."""
        code = self.process.returncode if self.process else None
        if code is None:
            return "has not ended"
        if code >= 0:
            return f"ended with exit code {code}"
        with suppress(ValueError):
            return f"was ended by signal {-code} ({signal.Signals(-code).name})"
        return f"was ended by signal {-code}"


@dataclass
class Family:
    """All children of one run; ``report`` is called with a line for each that ends.

    One that ends again and again waits ``pause_s``, twice that, and so on up to 30 times it.
    """

    folder: Path
    env: Mapping[str, str]
    children: list[Child] = field(default_factory=list)
    report: Callable[[str], None] = print
    pause_s: float = 1.0

    def log_of(self, child: Child) -> Path:
        """Where a child's output goes."""
        return self.folder / f"{child.name}.log"

    def start(self, child: Child) -> Child:
        """Start a child with its own log and process group; it ends when the launcher is killed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        launcher = os.getpid()
        with self.log_of(child).open("ab") as handle:
            child.process = subprocess.Popen(
                child.command,
                stdin=subprocess.DEVNULL,
                stdout=None if child.once else handle,
                stderr=None if child.once else subprocess.STDOUT,
                env=dict(self.env),
                start_new_session=True,
                # Safe after fork, because the launcher has a single thread.
                preexec_fn=lambda: _end_with_parent(launcher),
            )
        child.started_at = time.monotonic()
        if child not in self.children:
            self.children.append(child)
        return child

    def watch(self) -> Child | None:
        """Start fallen children again, cut long logs; returns a vital one that ends too often."""
        for child in self.children:
            turn_over(self.log_of(child))
            if child.process is None or child.process.poll() is None:
                continue
            if child.once and child.process.returncode == 0:
                continue
            self._restart(child)
            if child.vital and len(child.deaths) >= MOST_DEATHS:
                return child
        return None

    def _restart(self, child: Child) -> None:
        now = time.monotonic()
        if not child.next_start:
            child.failures = 0 if now - child.started_at > DEATHS_WITHIN_S else child.failures + 1
            child.next_start = now + self.pause_s * min(30, 2**child.failures)
            child.deaths = [at for at in child.deaths if now - at < DEATHS_WITHIN_S] + [now]
            wait_s = child.next_start - now
            log = self.log_of(child)
            self.report(f"{child.name} {child.end}; it starts again in {wait_s:.0f} s (log: {log})")
        elif now >= child.next_start:
            child.next_start = 0.0
            self.start(child)

    def tail(self, child: Child, lines: int = 8) -> str:
        """The end of a child's log."""
        try:
            text = self.log_of(child).read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def stop(self) -> None:
        """End every child that was started, last first: TERM, then KILL."""
        alive = [c for c in reversed(self.children) if c.process and c.process.poll() is None]
        for child in alive:
            _signal(child, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        for child in alive:
            assert child.process is not None
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)
                child.process.wait()


def turn_over(log: Path) -> None:
    """Set a long log aside as ``.log.1``, over the one before, while its process writes on.

    The process has the file open for appending, so it is copied and cut rather than renamed. What
    is written in between is lost; on a full disk, the whole piece.
    """
    with suppress(FileNotFoundError):
        if log.stat().st_size <= KEPT_LOG_BYTES:
            return
        aside = log.with_suffix(".log.1")
        try:
            shutil.copyfile(log, aside)
        except OSError:
            aside.unlink(missing_ok=True)
        os.truncate(log, 0)


def _end_with_parent(parent: int) -> None:
    """Have Linux send this process SIGTERM when its parent ends, however that ends."""
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # The parent ended before the request was made.


def _signal(child: Child, number: int) -> None:
    assert child.process is not None
    try:
        os.killpg(child.process.pid, number)
    except ProcessLookupError:
        return
