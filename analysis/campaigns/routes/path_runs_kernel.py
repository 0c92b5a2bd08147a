"""Compiled loop: whether successive traceroutes of one series differ, and an identity of each."""

from typing import Any

from core.jit import compile_loop

# The base of the polynomial that identifies a path, and its modulus, a prime: no product overflows.
_BASE, _MODULUS = 1_000_003, 1_000_000_000_039


@compile_loop
def has_address(codes: Any, ttls: Any, path: Any, ttl: Any, code: Any) -> Any:
    """Return whether a path, (begin, end), has this address at this hop."""
    count = 0
    for i in range(path[0], path[1]):
        count += ttls[i] == ttl and codes[i] == code
    return count > 0


@compile_loop
def is_hop_common(codes: Any, ttls: Any, path: Any, other: Any, ttl: Any) -> Any:
    """Return whether a hop has an address in common, or no answer, in one of the paths."""
    answers = 0
    for i in range(path[0], path[1]):
        if ttls[i] == ttl and codes[i] >= 0:
            answers += 1
            if has_address(codes, ttls, other, ttl, codes[i]):
                return True
    return answers == 0


@compile_loop
def paths_differ(codes: Any, ttls: Any, one: Any, two: Any) -> Any:
    """Return whether a hop that answered in both paths has no address in common."""
    for i in range(one[0], one[1]):
        if codes[i] >= 0 and not is_hop_common(codes, ttls, two, one, ttls[i]):
            return True
    return False


@compile_loop
def compare_paths(codes: Any, ttls: Any, bounds: Any, order: Any, series: Any, out: Any) -> None:
    """Compare each path with the one before it in its series.

    ``codes`` (n_hops,) int64, -1 without an answer; ``ttls`` (n_hops,) int64; ``bounds``
    (n_paths + 1,) int64, offsets of the paths; ``order`` (n_paths,) int64, paths by series and
    time; ``series`` (n_paths,) int64. ``out`` (n_paths, 2) int64 receives 1 where a path differs,
    0 where not, -1 for the first of a series; and a number that equal paths share.
    """
    for place in range(len(order)):
        path = order[place]
        number = 1
        for i in range(bounds[path], bounds[path + 1]):
            number = (number * _BASE + (codes[i] + 2) * 256 + ttls[i]) % _MODULUS
        out[path, 1] = number
        before = order[place - 1] if place else -1
        if before < 0 or series[before] != series[path]:
            out[path, 0] = -1
            continue
        one = (bounds[before], bounds[before + 1])
        two = (bounds[path], bounds[path + 1])
        out[path, 0] = 1 if paths_differ(codes, ttls, one, two) else 0
