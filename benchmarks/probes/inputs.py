"""Inputs of a benchmark, made by another process where there are none, and what it used."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PEAK = "VmHWM"


def ask(about: str | None, sizes: dict[str, int]) -> argparse.ArgumentParser:
    """The options that all have: where inputs stand, how many, and to make them only."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--make", action="store_true")
    for name, usual in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    return parser


@contextmanager
def open_inputs(
    given: argparse.Namespace, module: str, pattern: str, make: Callable[[Path], None]
) -> Iterator[Path | None]:
    """The folder of the inputs; ``None`` where they had only to be made."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if given.make:
            make(folder)
            yield None
            return
        if not list(folder.glob(pattern)):
            # Memory that making takes must not count.
            arguments = [a for a in sys.argv[1:] if not a.startswith("--folder")]
            command = [sys.executable, "-m", module, *arguments, "--make", f"--folder={folder}"]
            subprocess.run(command, check=True)
        yield folder


class Used:
    """CPU seconds since it was made, and the most memory of the process."""

    def __init__(self) -> None:
        self._before = time.process_time()

    def __str__(self) -> str:
        cpu_s = time.process_time() - self._before
        return f"{cpu_s:.1f} CPU s, peak {peak_mb():,.0f} MB"


def peak_mb() -> float:
    """The most memory that this process ever held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(t.split()[1]) for t in lines if t.startswith(PEAK)) / 1024
