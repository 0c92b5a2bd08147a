"""Views of memory at an address, for compiled loops, which are given one address alone.

A view has no length of its own: the loops keep within the regions of ``layout``.
"""

from typing import Any

import numpy as np

from core.jit import Imported, compile_inlined
from crawlers.compiled.layout import IDENTS

view_array: Any = Imported("core.native.memory_views", "view_array")
# More rows than any region has.
_MANY = 2**31


@compile_inlined
def view_words(address: Any) -> Any:
    """Return 64-bit words."""
    return view_array(address, (_MANY,), np.int64)


@compile_inlined
def view_rows(address: Any, columns: Any) -> Any:
    """Return rows of 64-bit words."""
    return view_array(address, (_MANY, columns), np.int64)


@compile_inlined
def view_octets(address: Any) -> Any:
    """Return octets."""
    return view_array(address, (_MANY,), np.uint8)


@compile_inlined
def view_cells(address: Any, octets: Any) -> Any:
    """Return cells of so many octets."""
    return view_array(address, (_MANY, octets), np.uint8)


@compile_inlined
def view_idents(address: Any) -> Any:
    """Return the table of slots by channel and id of a query, 32-bit numbers."""
    return view_array(address, (_MANY, IDENTS), np.int32)
