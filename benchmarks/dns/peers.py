"""The engines that are compared: how each is called, at its best settings that we know.

A peer turns (names file, servers, output file) into a command line. Peers that are not part of the
project's environment are found on PATH or given by path, and left out with a line when absent.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.dns.accounting import Cost, measure

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
Command = Callable[[Path, Sequence[str], Path], list[str]]


@dataclass(frozen=True)
class Peer:
    """One engine with one setting; ``names`` limits slow ones to the first so many."""

    label: str
    command: Command
    suffix: str = ".jsonl"
    names: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, names: Sequence[str], servers: Sequence[str], pids: Sequence[int], folder: Path
    ) -> tuple[Cost, Path]:
        """One run on the first names; the cost and the file of answers; raises ``Failed``."""
        chosen = names[: self.names]
        source = folder / f"names-{len(chosen)}"
        if not source.exists():
            source.write_text("\n".join(chosen) + "\n")
        out = folder / ("answers-" + "".join(c for c in self.label if c.isalnum()) + self.suffix)
        out.unlink(missing_ok=True)
        command = self.command(source, servers, out)
        return measure(command, len(chosen), pids, self.environment), out


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where peers are."""
    parser.add_argument("--zdns", metavar="PATH", help="a built zdns (else: from PATH)")
    parser.add_argument("--massdns", metavar="PATH", help="a built massdns (else: from PATH)")
    parser.add_argument("--aiodns", metavar="PYTHON", help="a Python that has aiodns")


def locate(given: str | None, name: str) -> str | None:
    """A peer's binary; prints a line when there is none."""
    found = shutil.which(given or name)
    if found is None:
        print(f"{name}: not found, left out (give it with --{name} PATH)", file=sys.stderr)
    return found


def ours(
    label: str, data: Path, *options: str, suffix: str = ".jsonl", names: int | None = None
) -> Peer:
    """The project's ``resolve``, with a separate data folder."""

    def command(names: Path, servers: Sequence[str], out: Path) -> list[str]:
        asked = [part for server in servers for part in ("--name-server", server)]
        manage = [sys.executable, str(ROOT / "manage.py"), "resolve", str(names)]
        return [*manage, *asked, "--output", str(out), *options]

    return Peer(label, command, suffix, names, {"NEPHOSCOPE_DATA": str(data)})


def zdns(binary: str, threads: int, names: int | None = None) -> Peer:
    """zdns without its own retries (they would ask NXDOMAIN again) and with rare collections."""
    tuned = "--local-addr 127.0.0.1 --result-verbosity short --no-follow-cnames --udp-only"

    def command(source: Path, servers: Sequence[str], out: Path) -> list[str]:
        asked = ["--name-servers", ",".join(servers), "--threads", str(threads)]
        files = ["-q", "-f", str(source), "-o", str(out)]
        return [binary, "A", *asked, *tuned.split(), "--retries", "0", *files]

    return Peer(f"zdns -t {threads}", command, names=names, environment={"GOGC": "800"})


def massdns(binary: str, window: int, *options: str) -> Peer:
    """massdns with JSON output and as large a receive buffer as ours."""

    def command(source: Path, servers: Sequence[str], out: Path) -> list[str]:
        resolvers = out.with_suffix(".resolvers")
        resolvers.write_text("\n".join(servers) + "\n")
        fixed = ["--root", "-q", "-r", str(resolvers), "-t", "A", "-s", str(window)]
        fixed += ["-o", "J", "--rcvbuf", str(RECEIVE_BUFFER_BYTES)]
        return [binary, *fixed, *options, "-w", str(out), str(source)]

    return Peer(" ".join(["massdns -s", str(window), *options]), command)


def python_client(python: str, library: str, names: int) -> Peer:
    """A short client on a Python library."""

    def command(source: Path, servers: Sequence[str], out: Path) -> list[str]:
        return [python, str(HERE / f"client_{library}.py"), str(source), str(out), *servers]

    return Peer(library, command, names=names)
