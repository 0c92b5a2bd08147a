"""Compiled loop: the first AS beyond the cloud's ASes of each path (docs/methods).

``table`` is an ``address_owners.AddressTable``; ``codes`` are address indices (n_hops,) int64."""

from enum import IntEnum
from typing import Any

from core.jit import compile_loop

# Values of ``address_owners.AddressKind``; compiled code needs plain integers.
_SILENT, _PRIVATE, _EXCHANGE, _UNANNOUNCED, _AS, _SEVERAL = 0, 1, 2, 3, 4, 5
# Further kinds of a hop: within the cloud, or replies from different networks.
_CLOUD, _DISAGREE = 6, 7


class Reason(IntEnum):
    """Return whether a path has a downstream ISP, or why not."""

    FOUND = 0
    NO_CLOUD_END = 1  # neither end lies in a known cloud
    CLOUD_NOT_REACHED = 2  # no hop of a path towards the cloud belongs to it
    NEVER_LEFT = 3  # the path ends within the cloud
    SILENT = 4  # no replies beyond the cloud
    PRIVATE = 5  # only private addresses beyond it
    UNANNOUNCED = 6  # only unannounced addresses beyond it
    EXCHANGE = 7  # an exchange and no AS after it
    SEVERAL_ORIGINS = 8  # multiple origin ASes, not resolved by the next hop
    DISAGREEING = 9  # replies of the hop belong to different networks


# Bits of the kinds of hops between the cloud's last hop and the ISP's first.
GAP_SILENT, GAP_UNANNOUNCED, GAP_PRIVATE, GAP_EXCHANGE, GAP_SEVERAL = 1, 2, 4, 8, 16
# An ISP behind these may not be the cloud's neighbour.
DOUBTFUL = GAP_SILENT | GAP_UNANNOUNCED
# The bit of each kind of hop that is neither the cloud's nor of one AS.
_GAP_OF_KIND = (GAP_SILENT, GAP_PRIVATE, GAP_EXCHANGE, GAP_UNANNOUNCED, 0, GAP_SEVERAL)
# (gap bit, reason) of a path without an AS beyond the cloud, by precedence.
_REASON_OF_GAP = (
    (GAP_SEVERAL, 8),
    (GAP_EXCHANGE, 7),
    (GAP_UNANNOUNCED, 6),
    (GAP_PRIVATE, 5),
    (GAP_SILENT, 4),
)
# Mark of a hop with replies from different ASes.
_BOTH = -2


@compile_loop
def merge_value(known: Any, new: Any) -> Any:
    """Return the common value of two replies, or the mark of a contradiction."""
    return new if known == -1 or known == new else _BOTH


@compile_loop
def classify_hop(in_cloud: Any, asn: Any, several: Any, weak: Any) -> Any:
    """Return (kind of a hop, its AS or the address index with several origins)."""
    if asn == _BOTH or several == _BOTH or in_cloud + (asn >= 0) + (several >= 0) > 1:
        return _DISAGREE, -1
    if in_cloud:
        return _CLOUD, -1
    if asn >= 0:
        return _AS, asn
    return (_SEVERAL, several) if several >= 0 else (weak, -1)


@compile_loop
def merge_replies(codes: Any, provider: Any, table: Any) -> Any:
    """Return the kind and AS of one hop from all its replies."""
    in_cloud, asn, several, weak = False, -1, -1, _SILENT
    for code in codes:
        kind = int(table.kinds[code])
        if kind != _SILENT and provider >= 0 and (table.owners[code] >> provider) & 1:
            in_cloud = True
        elif kind == _AS:
            asn = merge_value(asn, table.asns[code])
        elif kind == _SEVERAL:
            several = merge_value(several, code)
        else:
            weak = max(weak, kind)
    return classify_hop(in_cloud, asn, several, weak)


@compile_loop
def has_origin(code: Any, asn: Any, table: Any) -> Any:
    """Return whether an AS is an origin of an address; true without an address (code < 0)."""
    members = table.members[table.begins[code] : table.begins[code + 1]]
    return code < 0 or (members == asn).any()


@compile_loop
def reason_of_gap(gap: Any, started: Any) -> Any:
    """Return the ``Reason`` of a path that ended without an AS beyond the cloud."""
    if not started:
        return 2
    for bit, reason in _REASON_OF_GAP:
        if gap & bit:
            return reason
    return 3


@compile_loop
def walk_path(codes: Any, ttls: Any, provider: Any, started: Any, table: Any) -> Any:
    """Return (AS or -1, reason, gap bits) of one path, hops ordered from the cloud outwards.

    A path from the cloud starts in it (``started``); one towards it enters it at its first cloud
    hop.
    """
    gap, pending, i, last = 0, -1, 0, ttls[0] if len(ttls) else 0
    while i < len(codes):
        j = i + 1
        while j < len(codes) and ttls[j] == ttls[i]:
            j += 1
        kind, value = merge_replies(codes[i:j], provider, table)
        if abs(ttls[i] - last) > 1:
            gap |= GAP_SILENT
        last, i = ttls[i], j
        if kind == _CLOUD:
            started, gap, pending = True, 0, -1
        elif started and kind == _DISAGREE:
            return -1, 9, gap
        elif started and kind == _AS:
            return (value, 0, gap) if has_origin(pending, value, table) else (-1, 8, gap)
        elif started:
            pending = value if pending < 0 else pending
            gap |= _GAP_OF_KIND[kind]
    return -1, reason_of_gap(gap, started), gap


@compile_loop
def walk_paths(
    codes: Any, ttls: Any, ends: Any, provider_directions: Any, table: Any, out: Any
) -> None:
    """Walk all paths of a batch.

    ``codes``, ``ttls`` (n_hops,) int64; ``ends`` (n_paths,) int64, end offset of each path;
    ``provider_directions`` (n_paths, 2) int64, provider bit and direction; ``out`` (n_paths, 3)
    int64 receives AS or -1, reason and gap bits.
    """
    begin = 0
    for path in range(len(ends)):
        own = slice(begin, ends[path])
        begin = ends[path]
        if provider_directions[path, 1] < 0:
            found = -1, 1, 0
        elif provider_directions[path, 1] == 1:
            found = walk_path(
                codes[own][::-1], ttls[own][::-1], provider_directions[path, 0], False, table
            )
        else:
            found = walk_path(codes[own], ttls[own], provider_directions[path, 0], True, table)
        out[path, 0], out[path, 1], out[path, 2] = found
