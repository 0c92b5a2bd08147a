"""Loops that are compiled at their first call; what was compiled is kept on disk.

The compiler, too, is loaded then: that takes a third of a second, which no page shall pay.
"""

import fcntl
import itertools
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


# Options of functions that need nothing of Python: no checked division, no wrappers.
BARE = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


# Part of what code on disk has to agree with: a change of how its functions are numbered.
_NUMBERING = ("numbering of functions", "random")


def _load_compiler() -> Any:
    """Return numba, with numbers of functions that no other process uses.

    The compiler counts the functions of a process from 1, and only that number distinguishes those
    with the same name and types, such as its own loops of ``sort`` and ``argsort``. Code that two
    processes kept on disk then has one symbol for two functions, and a process that loads both
    calls the wrong one.
    """
    numba = import_module("numba")
    identity = import_module("numba.core.bytecode").FunctionIdentity
    if not isinstance(identity._unique_ids, _Numbers):
        identity._unique_ids = _Numbers()
    return numba


class _Numbers:
    """Consecutive numbers from a random one on; a fork draws another."""

    def __init__(self) -> None:
        self._draw()
        os.register_at_fork(after_in_child=self._draw)

    def _draw(self) -> None:
        self._count = itertools.count(secrets.randbits(62))

    def __next__(self) -> int:
        return next(self._count)


def _run_locked(
    folder: str, lock: int, function: Callable[P, R], *args: P.args, **named: P.kwargs
) -> R:
    """Call a function while this process has the lock of a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Where a file system has no locks, it is as without.
        with suppress(OSError):
            fcntl.flock(handle, lock)
        return function(*args, **named)
    finally:
        # Closing alone does not release it where a process was forked meanwhile.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


class Loop(Generic[P, R]):
    """A function, compiled for the types that it is called with."""

    def __init__(self, function: Callable[P, R], **how: Any) -> None:
        self._function = function
        self._how = how

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        found: R = self.compiled(*args, **named)
        return found

    @property
    def function(self) -> Callable[P, R]:
        """The function as it was written."""
        return self._function

    @cached_property
    def compiled(self) -> Any:
        """What the compiler made of it."""
        made = _load_compiler().njit(cache=True, nogil=True, **self._how)(self._function)
        # The compiler compares only the file of the function with what is kept on disk; a change
        # of a loop or constant that is imported from another file has to count, too.
        kept = made._cache._cache_file
        kept._source_stamp = self._stamp()
        # Of two processes that write at once, one would give its name in the list to the code of
        # the other; and the list is written before the code.
        kept.save = partial(_run_locked, kept._cache_path, fcntl.LOCK_EX, kept.save)
        kept.load = partial(_run_locked, kept._cache_path, fcntl.LOCK_SH, kept.load)
        return made

    def _stamp(self) -> tuple[tuple[str, str], ...]:
        """What code on disk has to agree with."""
        stamp = [*sorted(self._sources({})), _NUMBERING]
        if checks := os.environ.get("NUMBA_BOUNDSCHECK"):
            # The compiler does not distinguish code with checks from code without.
            stamp.append(("NUMBA_BOUNDSCHECK", checks))
        return tuple(stamp)

    def _sources(self, found: dict[str, str]) -> list[tuple[str, str]]:
        """Collect what the compiled code is made of: files with their dates, constants, types."""
        file = self._function.__code__.co_filename
        found[f"{file}:{self._function.__name__}"] = str(Path(file).stat().st_mtime)
        for name in self._function.__code__.co_names:
            value = self._function.__globals__.get(name)
            if isinstance(value, Loop):
                used = value._function.__code__
                if f"{used.co_filename}:{used.co_name}" not in found:
                    value._sources(found)
            elif isinstance(value, int | float) or hasattr(value, "descr"):
                found[f"{file}:{name}"] = repr(value)
        return list(found.items())

    @property
    def _numba_type_(self) -> Any:
        # What the compiler asks of a value that it meets inside of another loop.
        return self.compiled._numba_type_


class Imported:
    """A function of the compiler, which is loaded when a loop that calls it is compiled."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    @property
    def _numba_type_(self) -> Any:
        context = import_module("numba.core.registry").cpu_target.typing_context
        found = getattr(import_module(self._module), self._name)
        context.refresh()
        return context.resolve_value_type(found)


def compile_loop(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call."""
    return Loop(function)


def compile_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; its sums may be added up in any order."""
    return Loop(function, fastmath=True)


def compile_division(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; division by zero gives what numpy gives, unchecked."""
    return Loop(function, error_model="numpy")


def compile_bare(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call, for ``core.native``: no errors, no new arrays.

    Only other loops call it; Python does not.
    """
    return Loop(function, **BARE)


def compile_inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call, and copy it into the loops that call it."""
    return Loop(function, forceinline=True)
