"""Punycode (RFC 3492): labels of any script as letters, digits and hyphens.

The codec of the standard library gives the same and takes several times as long, which counts in
lists of a hundred thousand international names.
"""

from bisect import bisect_left, insort
from functools import cache, lru_cache

_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"
# Parameters of RFC 3492, section 5.
_BASE, _TMIN, _TMAX, _SKEW, _DAMP = 36, 1, 26, 38, 700
_INITIAL_BIAS, _INITIAL_N = 72, 128
_LARGEST_KEPT = (_BASE - _TMIN) * _TMAX // 2
# No delta of a label is longer: each digit divides the rest by ten at least.
_MOST_DIGITS = 16


def encode(label: str) -> str:
    """The encoded form of a label, without the prefix ``xn--``."""
    basic = label.encode("ascii", "ignore").decode("ascii")
    digits = [basic, "-"] if basic else []
    handled, n, expected, steps = len(basic), _INITIAL_N, 0, _steps(_INITIAL_BIAS)
    inserted: list[int] = []
    damp = _DAMP
    for code, place, before in _order(label):
        # Where a decoder inserts the character among those that it has.
        index = before + bisect_left(inserted, place)
        insort(inserted, place)
        handled += 1
        delta = rest = (code - n) * handled + index - expected
        for threshold, divisor in steps:
            if rest < threshold:
                break
            rest, digit = divmod(rest - threshold, divisor)
            digits.append(_DIGITS[threshold + digit])
        digits.append(_DIGITS[rest])
        delta //= damp
        steps = _steps_after(delta + delta // handled)
        n, expected, damp = code, index + 1, 2
    return "".join(digits)


def _order(label: str) -> list[tuple[int, int, int]]:
    """Characters that are not basic as a decoder inserts them.

    Each is its code, its place in the label, and how many basic ones are before it.
    """
    places = [place for place, character in enumerate(label) if character > "\x7f"]
    return sorted([(ord(label[p]), p, p - before) for before, p in enumerate(places)])


@cache
def _steps(bias: int) -> tuple[tuple[int, int], ...]:
    """The threshold of each digit (section 3.3), and what the rest is divided by."""
    every = (
        min(max(k - bias, _TMIN), _TMAX) for k in range(_BASE, (_MOST_DIGITS + 1) * _BASE, _BASE)
    )
    return tuple((threshold, _BASE - threshold) for threshold in every)


@lru_cache(2**14)
def _steps_after(delta: int) -> tuple[tuple[int, int], ...]:
    """The steps for the next integer (section 6.1), from the damped delta of the one before."""
    k = 0
    while delta > _LARGEST_KEPT:
        delta //= _BASE - _TMIN
        k += _BASE
    return _steps(k + (_BASE - _TMIN + 1) * delta // (delta + _SKEW))
