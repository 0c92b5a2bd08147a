"""Child processes of ``make run``: started in groups of their own, restarted, and all ended."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

GRACE_S = 8.0
KEPT_LOG_BYTES = 5_000_000


@dataclass
class Child:
    """One process; ``vital`` ones end the run when they end, others are started again."""

    name: str
    command: Sequence[str]
    vital: bool = False
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    started_at: float = 0.0
    next_start: float = 0.0


@dataclass
class Family:
    """All children of one run."""

    folder: Path
    env: Mapping[str, str]
    children: list[Child] = field(default_factory=list)

    def start(self, child: Child) -> Child:
        """Start a child with its own log and process group."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / f"{child.name}.log"
        if log.exists() and log.stat().st_size > KEPT_LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        with log.open("ab") as handle:
            child.process = subprocess.Popen(
                child.command,
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=subprocess.STDOUT,
                env=dict(self.env),
                start_new_session=True,
            )
        child.started_at = time.monotonic()
        if child not in self.children:
            self.children.append(child)
        return child

    def watch(self) -> Child | None:
        """Start fallen children again; returns a vital one that ended."""
        for child in self.children:
            if child.process is None or child.process.poll() is None:
                continue
            if child.vital:
                return child
            self._restart(child)
        return None

    def _restart(self, child: Child) -> None:
        now = time.monotonic()
        if not child.next_start:
            child.failures = 0 if now - child.started_at > 60 else child.failures + 1
            child.next_start = now + min(30, 2**child.failures)
        elif now >= child.next_start:
            child.next_start = 0.0
            self.start(child)

    def tail(self, child: Child, lines: int = 8) -> str:
        """The end of a child's log."""
        try:
            text = (self.folder / f"{child.name}.log").read_text(errors="replace")
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


def _signal(child: Child, number: int) -> None:
    assert child.process is not None
    try:
        os.killpg(child.process.pid, number)
    except ProcessLookupError:
        return
