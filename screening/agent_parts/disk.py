"""Four disk tests on own files: random 1 KB reads and writes, whole files read and written.

Files are opened, unlinked at once and used through their descriptors, so that nothing stays on the
disk however the agent ends. Direct I/O is used where the file system has it.
"""

from __future__ import annotations

import mmap
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

FILE_BYTES = 5 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024
SMALL_BYTES = 1024
# The sector of the commonest disks, taken where direct I/O refuses 1 KB.
SECTOR_BYTES = 4096
SMALL_OPERATIONS = 40
WHOLE_FILES = 3
# macOS has no fdatasync.
sync = getattr(os, "fdatasync", os.fsync)


class Disk:
    """Own files on one file system, already without a name."""

    def __init__(self, folder: str, files: int) -> None:
        free = shutil.disk_usage(folder).free
        self.count = max(WHOLE_FILES, min(files, free // 4 // FILE_BYTES))
        if free < 2 * self.count * FILE_BYTES:
            raise OSError(f"less than {2 * self.count * FILE_BYTES // 2**20} MB are free")
        self.block = mmap.mmap(-1, BLOCK_BYTES)
        self.block.write(os.urandom(BLOCK_BYTES))
        self.direct = hasattr(os, "O_DIRECT")
        self.files: list[int] = []
        self.small_bytes = SMALL_BYTES
        try:
            for _ in range(self.count):
                self.files.append(self._create(folder))
        except OSError:
            self.close()
            raise
        self._find_small()

    def _create(self, folder: str) -> int:
        descriptor, path = tempfile.mkstemp(prefix="nephoscope-disk-", dir=folder)
        try:
            if self.direct:
                descriptor = self._reopen(descriptor, path)
        finally:
            Path(path).unlink()
        self._write_whole(descriptor)
        return descriptor

    def _reopen(self, descriptor: int, path: str) -> int:
        try:
            direct = os.open(path, os.O_RDWR | os.O_DIRECT)
        except OSError:
            self.direct = False
            return descriptor
        os.close(descriptor)
        return direct

    def _find_small(self) -> None:
        try:
            self._read_small(self.files[0], 0)
        except OSError:
            self.small_bytes = SECTOR_BYTES

    def _drop(self, descriptor: int) -> None:
        if not self.direct and hasattr(os, "posix_fadvise"):
            sync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def _read_small(self, descriptor: int, at: int) -> None:
        with memoryview(self.block) as view:
            os.preadv(descriptor, [view[: self.small_bytes]], at)

    def _write_small(self, descriptor: int, at: int) -> None:
        with memoryview(self.block) as view:
            os.pwritev(descriptor, [view[: self.small_bytes]], at)
        sync(descriptor)

    def _read_whole(self, descriptor: int) -> None:
        for at in range(0, FILE_BYTES, BLOCK_BYTES):
            os.preadv(descriptor, [self.block], at)

    def _write_whole(self, descriptor: int) -> None:
        for at in range(0, FILE_BYTES, BLOCK_BYTES):
            os.pwritev(descriptor, [self.block], at)
        sync(descriptor)

    def measure(self, chance: random.Random) -> dict[str, Any]:
        """Milliseconds per small operation, megabytes per second for whole files."""
        for descriptor in self.files:
            self._drop(descriptor)
        places = FILE_BYTES // self.small_bytes
        spots = [
            (chance.choice(self.files), chance.randrange(places) * self.small_bytes)
            for _ in range(SMALL_OPERATIONS)
        ]
        whole = chance.sample(self.files, WHOLE_FILES)
        reads = [_time_ms(self._read_small, *spot) for spot in spots]
        writes = [_time_ms(self._write_small, *spot) for spot in spots]
        read_ms = sum(_time_ms(self._read_whole, file) for file in whole)
        write_ms = sum(_time_ms(self._write_whole, file) for file in whole)
        megabytes = WHOLE_FILES * FILE_BYTES / 1e6
        return {
            "disk_small_read_ms": reads,
            "disk_small_write_ms": writes,
            "disk_read_mb_s": round(megabytes / read_ms * 1000, 3),
            "disk_write_mb_s": round(megabytes / write_ms * 1000, 3),
            "disk_direct": self.direct,
            "disk_small_bytes": self.small_bytes,
        }

    def close(self) -> None:
        """Give the space back."""
        for descriptor in self.files:
            os.close(descriptor)
        self.files.clear()


def _time_ms(work: Any, *values: Any) -> float:
    start_ns = time.monotonic_ns()
    work(*values)
    return round(max(time.monotonic_ns() - start_ns, 1) / 1e6, 4)
