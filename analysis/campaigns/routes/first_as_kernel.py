"""Compiled: the first AS beyond the cloud's own of each path, by the rules of the method page."""

from enum import IntEnum
from typing import Any

from core.jit import compile_loop

# What an address can be, as in ``addresses.Kind``; compiled code wants plain numbers.
_SILENT, _PRIVATE, _EXCHANGE, _UNANNOUNCED, _AS, _SEVERAL = 0, 1, 2, 3, 4, 5
# What a hop can be beyond that.
_OWN, _DISAGREE = 6, 7


class Reason(IntEnum):
    """Why a path has an ISP, or none."""

    FOUND = 0
    NO_CLOUD_END = 1  # neither end lies in a known cloud
    CLOUD_NOT_REACHED = 2  # no hop of a path towards the cloud belongs to it
    NEVER_LEFT = 3  # the path ends within the cloud
    SILENT = 4  # beyond the cloud, nobody answered
    PRIVATE = 5  # beyond it, only private addresses answered
    UNANNOUNCED = 6  # beyond it, only addresses that nobody announces
    EXCHANGE = 7  # an exchange, and no AS behind it
    SEVERAL_ORIGINS = 8  # several ASes announce the address, and the next hop does not tell
    DISAGREEING = 9  # replies of the hop belong to different networks


# Bits of what lay between the cloud's last hop and the ISP's first.
GAP_SILENT, GAP_UNANNOUNCED, GAP_PRIVATE, GAP_EXCHANGE, GAP_SEVERAL = 1, 2, 4, 8, 16
# An ISP behind these may not be the cloud's neighbour.
DOUBTFUL = GAP_SILENT | GAP_UNANNOUNCED
# The bit of each kind of hop that is neither the cloud's nor of one AS.
_GAP_OF_KIND = (GAP_SILENT, GAP_PRIVATE, GAP_EXCHANGE, GAP_UNANNOUNCED, 0, GAP_SEVERAL)
# What a path without an AS beyond the cloud is put down to: the first of these that was met.
_GIVEN_UP = (
    (GAP_SEVERAL, 8),
    (GAP_EXCHANGE, 7),
    (GAP_UNANNOUNCED, 6),
    (GAP_PRIVATE, 5),
    (GAP_SILENT, 4),
)
# Two replies of a hop that name different ASes.
_BOTH = -2


@compile_loop
def agree(known: Any, new: Any) -> Any:
    """One of two values that are the same, or the mark of a contradiction."""
    return new if known == -1 or known == new else _BOTH


@compile_loop
def settle(own: Any, asn: Any, several: Any, weak: Any) -> Any:
    """The kind of a hop from what its replies were, and its AS or address of several."""
    if asn == _BOTH or several == _BOTH or own + (asn >= 0) + (several >= 0) > 1:
        return _DISAGREE, -1
    if own:
        return _OWN, -1
    if asn >= 0:
        return _AS, asn
    return (_SEVERAL, several) if several >= 0 else (weak, -1)


@compile_loop
def merge_replies(codes: Any, provider: Any, book: Any) -> Any:
    """What one hop is by all its replies."""
    own, asn, several, weak = False, -1, -1, _SILENT
    for code in codes:
        kind = int(book.kinds[code])
        if kind != _SILENT and provider >= 0 and (book.owners[code] >> provider) & 1:
            own = True
        elif kind == _AS:
            asn = agree(asn, book.asns[code])
        elif kind == _SEVERAL:
            several = agree(several, code)
        else:
            weak = max(weak, kind)
    return settle(own, asn, several, weak)


@compile_loop
def has_origin(code: Any, asn: Any, book: Any) -> Any:
    """Whether an AS is one of the several that announce an address; any is, of no address."""
    members = book.members[book.begins[code] : book.begins[code + 1]]
    return code < 0 or (members == asn).any()


@compile_loop
def give_up(gap: Any, started: Any) -> Any:
    """The reason of a path that ended without an AS beyond the cloud."""
    if not started:
        return 2
    for bit, reason in _GIVEN_UP:
        if gap & bit:
            return reason
    return 3


@compile_loop
def walk_path(codes: Any, ttls: Any, provider: Any, started: Any, book: Any) -> Any:
    """(AS or -1, reason, gap) of one path, whose hops stand in order from the cloud outwards.

    A path from the cloud begins in it; one towards it is in it from its first own hop on.
    """
    gap, pending, i, last = 0, -1, 0, ttls[0] if len(ttls) else 0
    while i < len(codes):
        j = i + 1
        while j < len(codes) and ttls[j] == ttls[i]:
            j += 1
        kind, value = merge_replies(codes[i:j], provider, book)
        if abs(ttls[i] - last) > 1:
            gap |= GAP_SILENT
        last, i = ttls[i], j
        if kind == _OWN:
            started, gap, pending = True, 0, -1
        elif started and kind == _DISAGREE:
            return -1, 9, gap
        elif started and kind == _AS:
            return (value, 0, gap) if has_origin(pending, value, book) else (-1, 8, gap)
        elif started:
            pending = value if pending < 0 else pending
            gap |= _GAP_OF_KIND[kind]
    return -1, give_up(gap, started), gap


@compile_loop
def walk_paths(codes: Any, ttls: Any, ends: Any, ways: Any, book: Any, out: Any) -> None:
    """All paths of a batch; ``ways`` has provider and direction of each, ``out`` the results."""
    begin = 0
    for path in range(len(ends)):
        own = slice(begin, ends[path])
        begin = ends[path]
        if ways[path, 1] < 0:
            found = -1, 1, 0
        elif ways[path, 1] == 1:
            found = walk_path(codes[own][::-1], ttls[own][::-1], ways[path, 0], False, book)
        else:
            found = walk_path(codes[own], ttls[own], ways[path, 0], True, book)
        out[path, 0], out[path, 1], out[path, 2] = found
