"""Small file systems of their own, which fill up and have room again."""

import os
import subprocess
from contextlib import contextmanager, suppress

import pytest


@contextmanager
def small_disk(folder, size="4m"):
    """A folder on a file system of so many octets; skips where none can be mounted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def filled(folder):
    """No room is left meanwhile."""
    path = folder / "fill"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while os.write(handle, b"x" * 4096):
            continue
    os.close(handle)
    try:
        yield
    finally:
        path.unlink()
