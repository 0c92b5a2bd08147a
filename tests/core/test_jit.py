"""Compiled loops: the compiler is loaded at the first call, and loops call each other."""

import fcntl
import multiprocessing
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from core.jit import _Numbers, compile_division, compile_loop, compile_sums

ROOT = Path(__file__).resolve().parents[2]


@compile_loop
def double(value):
    return 2 * value


@compile_sums
def add_doubles(values):
    total = 0.0
    for value in values:
        total += double(value)
    return total


@compile_division
def divide(above, below):
    return above / below


@compile_loop
def divide_checked(above, below):
    return above / below


def test_a_loop_calls_another():
    assert add_doubles(np.arange(4.0)) == 12.0


def test_division_by_zero_is_an_error_or_what_numpy_gives():
    assert divide(1.0, 0.0) == float("inf")
    with pytest.raises(ZeroDivisionError):
        divide_checked(1.0, 0.0)


def test_the_compiler_is_not_loaded_before_the_first_call():
    code = (
        "import sys; from core.jit import compile_loop; f = compile_loop(abs);"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


LIMIT = 3


@compile_loop
def limit_doubles(value):
    return min(double(value), LIMIT)


def test_what_is_kept_on_disk_depends_on_the_loops_and_constants_that_were_used():
    sources = {name.rpartition(":")[2]: value for name, value in limit_doubles._sources({})}
    assert sources["LIMIT"] == "3"
    assert {"limit_doubles", "double"} <= set(sources)


def test_code_without_bounds_checks_is_not_used_where_they_are_wanted(monkeypatch):
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    unchecked = limit_doubles._stamp()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert limit_doubles._stamp() != unchecked


SORTED = """
import numpy as np
from core.jit import compile_loop

@compile_loop
def find_middle(values):
    return np.sort(values)[values.size // 2]
"""
# As many functions are compiled before its loops of argsort as before those of sort.
RANKED = """
import numpy as np
from core.jit import compile_loop

@compile_loop
def find_first(values):
    return values[0]

@compile_loop
def find_last(values):
    return values[-1]

@compile_loop
def find_count(values):
    return values.size

@compile_loop
def rank(values):
    ends = find_first(values) + find_last(values) + find_count(values)
    return np.argsort(values)[1] + 0 * ends
"""
USED = """
import numpy as np, by_rank, by_value
found = dict(by_value=by_value.find_middle, by_rank=by_rank.rank)
for name in {names}:
    print(float(found[name](np.array([3.0, 1.0, 2.0]))))
"""


def use_kept(folder, *names):
    """What a process of its own computes with the loops of a folder."""
    done = subprocess.run(
        [sys.executable, "-c", USED.format(names=names)],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(line) for line in done.stdout.split()]


def test_code_that_two_processes_kept_on_disk_is_used_by_a_third(tmp_path):
    """The compiler's loops of sort and of argsort have the same names and types."""
    (tmp_path / "by_value.py").write_text(SORTED)
    (tmp_path / "by_rank.py").write_text(RANKED)
    assert use_kept(tmp_path, "by_value") == [2.0]
    assert use_kept(tmp_path, "by_rank") == [2.0]
    symbols = [
        set(re.findall(rb"quicksort\w+?B\d+v(\d+)", b"".join(f.read_bytes() for f in kept)))
        for kept in (tmp_path.rglob("by_value*.nbc"), tmp_path.rglob("by_rank*.nbc"))
    ]
    assert all(symbols)
    assert not symbols[0] & symbols[1]
    assert use_kept(tmp_path, "by_value", "by_rank") == [2.0, 2.0]
    assert use_kept(tmp_path, "by_rank", "by_value") == [2.0, 2.0]


@compile_loop
def halve(value):
    return value / 2


def test_code_on_disk_is_not_read_while_another_process_writes():
    folder = os.open(halve.compiled._cache._cache_file._cache_path, os.O_RDONLY)
    found = []
    reader = threading.Thread(target=lambda: found.append(halve(3.0)))
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        reader.start()
        reader.join(0.3)
        assert found == []
    finally:
        os.close(folder)
    reader.join()
    assert found == [1.5]


NUMBERS = _Numbers()


def test_forks_number_functions_differently():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        drawn = [*pool.map(_draw, range(8), chunksize=1), next(NUMBERS)]
    assert len(set(drawn)) == len(drawn)


def _draw(_):
    return next(NUMBERS)
