"""The agent's disk tests beside pairs of processes that read and write files without pause."""

import contextlib
import random
import statistics
import tempfile

from benchmarks.screening.neighbours import run_python
from screening.agent_parts.disk import Disk

# Reads or writes whole files in blocks of 1 MB, past the cache, until it is ended.
BUSY = """
import mmap, os, sys, tempfile
folder, writes, size = sys.argv[1], sys.argv[2] == "write", 64
block = mmap.mmap(-1, 2**20)
number, path = tempfile.mkstemp(dir=folder)
direct = os.open(path, os.O_RDWR | os.O_DIRECT)
os.unlink(path)
for at in range(size):
    os.pwritev(direct, [block], at * 2**20)
while True:
    for at in range(size):
        if writes:
            os.pwritev(direct, [block], at * 2**20)
        else:
            os.preadv(direct, [block], at * 2**20)
"""


def measure_disk(cpus: tuple[int, ...], pairs: int, rounds: int, seed: int) -> dict[str, float]:
    """Means of small reads and writes in ms, and of whole files in MB/s, beside so many pairs.

    Raises ``OSError`` where the folder of temporary files has no direct I/O or no space.
    """
    chance = random.Random(seed)
    with (
        tempfile.TemporaryDirectory(prefix="nephoscope-disk-") as folder,
        contextlib.ExitStack() as stack,
    ):
        for i in range(pairs):
            for kind in ("read", "write"):
                stack.enter_context(run_python(BUSY, cpus[i % len(cpus)], folder, kind))
        disk = Disk(folder, 6)
        stack.callback(disk.close)
        if not disk.direct:
            raise OSError("the folder of temporary files has no direct I/O")
        rows = [disk.measure(chance) for _ in range(rounds)]
    return {
        "small_read_ms": statistics.fmean(v for row in rows for v in row["disk_small_read_ms"]),
        "small_write_ms": statistics.fmean(v for row in rows for v in row["disk_small_write_ms"]),
        "read_mb_s": statistics.fmean(row["disk_read_mb_s"] for row in rows),
        "write_mb_s": statistics.fmean(row["disk_write_mb_s"] for row in rows),
    }
