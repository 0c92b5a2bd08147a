"""Compiled loops: the compiler is loaded at the first call, and loops call each other."""

import subprocess
import sys

import numpy as np
import pytest

from core.jit import compile_division, compile_loop, compile_sums


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
