"""Loops that are compiled at their first call; what was compiled is kept on disk.

The compiler, too, is loaded then: that takes a third of a second, which no page shall pay.
"""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Loop(Generic[P, R]):
    """A function, compiled for the types that it is called with."""

    def __init__(self, function: Callable[P, R], **how: Any) -> None:
        self._function = function
        self._how = how

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        found: R = self.compiled(*args, **named)
        return found

    @cached_property
    def compiled(self) -> Any:
        """What the compiler made of it."""
        return import_module("numba").njit(cache=True, nogil=True, **self._how)(self._function)

    @property
    def _numba_type_(self) -> Any:
        # What the compiler asks of a value that it meets inside of another loop.
        return self.compiled._numba_type_


def compile_loop(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call."""
    return Loop(function)


def compile_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; its sums may be added up in any order."""
    return Loop(function, fastmath=True)


def compile_division(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; division by zero gives what numpy gives, unchecked."""
    return Loop(function, error_model="numpy")
