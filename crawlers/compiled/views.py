"""Views of regions of memory, for compiled loops, which are given one address alone.

Each has the length of its region, so that a loop compiled with ``NUMBA_BOUNDSCHECK=1`` stops at the
first access outside of it; otherwise lengths are not used, and cost nothing.
"""

from typing import Any

import numpy as np

from core.jit import Imported, compile_inlined
from crawlers.compiled.layout import LENGTHS, N_WORDS

view_array: Any = Imported("core.native.memory_views", "view_array")
_WORD, _NUMBER = 8, 4


@compile_inlined
def view_head(address: Any) -> Any:
    """Return the words of ``layout`` at an address."""
    return view_array(address, (N_WORDS,), np.int64)


@compile_inlined
def view_octet(address: Any) -> Any:
    """Return one octet at an address."""
    return view_array(address, (1,), np.uint8)


@compile_inlined
def view_words(words: Any, region: Any) -> Any:
    """Return a region as 64-bit words."""
    return view_array(words[region], (words[LENGTHS + region] // _WORD,), np.int64)


@compile_inlined
def view_rows(words: Any, region: Any, columns: Any) -> Any:
    """Return a region as rows of 64-bit words."""
    rows = words[LENGTHS + region] // (_WORD * columns)
    return view_array(words[region], (rows, columns), np.int64)


@compile_inlined
def view_octets(words: Any, region: Any) -> Any:
    """Return a region as octets."""
    return view_array(words[region], (words[LENGTHS + region],), np.uint8)


@compile_inlined
def view_cells(words: Any, region: Any, octets: Any) -> Any:
    """Return a region as cells of so many octets."""
    return view_array(words[region], (words[LENGTHS + region] // octets, octets), np.uint8)


@compile_inlined
def view_numbers(words: Any, region: Any) -> Any:
    """Return a region as 32-bit numbers."""
    return view_array(words[region], (words[LENGTHS + region] // _NUMBER,), np.int32)
